// One coroutine a worker and kind of question. It knows the balancer weakly, so that it ends with
// the last configuration that uses it.

#include "router/upstream/fleet.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <thread>

#include "base/log.h"
#include "router/http/deadline.h"

namespace signalbox::upstream {
namespace {

constexpr size_t kHealthBytesMax = 64 << 10;
constexpr size_t kMetricsBytesMax = 4 << 20;

/// Whom to ask, what and how often.
struct Question {
  std::string model;
  size_t worker = 0;
  std::string name;  // of the worker
  std::unique_ptr<const Backend> backend = nullptr;
  std::string path;
  std::chrono::milliseconds interval{0};
  std::chrono::milliseconds timeout{0};
};

struct Said {
  int status = 0;
  std::string body;
};

http::Task<Result<Said>> ask(const Question& question, size_t bytes_max) {
  const http::Executor executor = co_await http::asio::this_coro::executor;
  http::Interrupt interrupt;
  http::Deadline limit(http::loop_of(executor), [&interrupt] { interrupt.raise(Code::kDeadline); });
  limit.set(question.timeout);
  const http::Headers none;
  const Call call{.target = question.path,
                  .headers = none,
                  .added = none,
                  .request_id = "check",
                  .body = {},
                  .interrupt = interrupt,
                  .method = "GET"};
  auto answer = co_await question.backend->call(call);
  if (!answer) co_return tl::unexpected<Error>(std::move(answer).error());
  Said said{(*answer)->head().status, {}};
  for (bool last = false; !last;) {
    auto piece = co_await (*answer)->next();
    if (!piece) co_return tl::unexpected<Error>(std::move(piece).error());
    said.body.append(piece->bytes);
    last = piece->last;
    if (said.body.size() > bytes_max)
      co_return fail(Code::kTooLarge, "its reply has more than {} bytes", bytes_max);
  }
  co_return said;
}

http::Task<> rest(std::chrono::milliseconds interval) {
  const http::Executor executor = co_await http::asio::this_coro::executor;
  http::Timer timer(executor);
  timer.expires_after(interval);
  co_await timer.async_wait(http::kAwait);
}

http::Task<> check(Question question, std::weak_ptr<workers::Balancer> of) {
  while (!of.expired()) {
    const Result<Said> said = co_await ask(question, kHealthBytesMax);
    const bool passed = said && said->status / 100 == 2;
    if (const auto balancer = of.lock()) {
      if (balancer->checked(question.worker, passed, http::Clock::now())) {
        const std::string why =
            said ? fmt::format("status {}", said->status) : said.error().message;
        log::warn("workers", "model \"{}\": backend \"{}\" is {}: {}", question.model,
                  question.name, passed ? "back" : "left out", why);
      }
    }
    co_await rest(question.interval);
  }
}

http::Task<> read_load(Question question, std::weak_ptr<workers::Balancer> of) {
  bool told = false;
  while (!of.expired()) {
    const Result<Said> said = co_await ask(question, kMetricsBytesMax);
    Result<workers::Load> load = fail(Code::kUpstream, "no metrics");
    if (!said) {
      load = tl::unexpected<Error>(said.error());
    } else if (said->status != 200) {
      load = fail(Code::kUpstream, "status {}", said->status);
    } else {
      load = workers::parse_load(said->body);
    }
    if (const auto balancer = of.lock())
      balancer->loaded(question.worker, load ? std::optional(*load) : std::nullopt);
    if (!load && !told) {
      log::warn("workers", "model \"{}\": backend \"{}\": its load is not known: {}",
                question.model, question.name, load.error().message);
    }
    told = !load;
    co_await rest(question.interval);
  }
}

bool has_metrics(const config::BackendRef& ref) {
  return ref.metrics_port != 0 || !ref.metrics_path.empty();
}

std::string path_of(std::string path) {
  return path.starts_with('/') ? path : "/" + path;
}

}  // namespace

/// The thread that asks.
class Fleet::Watch {
 public:
  Watch() : first_(loop_), thread_([this] { loop_.run(); }) {}
  ~Watch() {
    loop_.stop();
    thread_.join();
  }

  void check_health(Question question, std::weak_ptr<workers::Balancer> of) {
    http::asio::co_spawn(loop_.get_executor(), check(std::move(question), std::move(of)),
                         http::asio::detached);
  }
  void read_metrics(Question question, std::weak_ptr<workers::Balancer> of) {
    http::asio::co_spawn(loop_.get_executor(), read_load(std::move(question), std::move(of)),
                         http::asio::detached);
  }

 private:
  http::asio::io_context loop_;
  http::Socket
      first_;  // what sockets need of the loop is then older than the pool, and outlives it
  http::asio::executor_work_guard<http::Executor> busy_{loop_.get_executor()};
  std::thread thread_;
};

Fleet::Fleet() = default;

Fleet::~Fleet() {
  stop();
}

void Fleet::stop() {
  std::unique_ptr<Watch> watch;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    watch = std::move(watch_);
  }
}

std::vector<std::pair<std::string, std::shared_ptr<const workers::Balancer>>> Fleet::balancers()
    const {
  std::vector<std::pair<std::string, std::shared_ptr<const workers::Balancer>>> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [model, known] : known_) {
    if (auto held = known.balancer.lock()) out.emplace_back(model, std::move(held));
  }
  return out;
}

std::shared_ptr<workers::Balancer> Fleet::balancer(const config::Model& model, const Make& make) {
  const config::Reliability settings = model.reliability.value_or(config::Reliability{});
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& each) { return each.second.balancer.expired(); });
  Known& known = known_[model.name];
  auto balancer = known.balancer.lock();
  if (balancer && known.backends == model.backend_refs && known.settings == settings)
    return balancer;
  std::vector<workers::Balancer::Named> named;
  for (const config::BackendRef& ref : model.backend_refs) named.push_back({ref.name, ref.weight});
  balancer = std::make_shared<workers::Balancer>(settings, named);
  known = {model.backend_refs, settings, balancer};
  for (size_t i = 0; i < model.backend_refs.size() && !stopped_; ++i) {
    config::BackendRef ref = model.backend_refs[i];
    if (ref.type == "echo") continue;
    const bool checks = !settings.health_check_path.empty();
    if (!watch_ && (checks || has_metrics(ref))) watch_ = std::make_unique<Watch>();
    ref.path_prefix.clear();
    ref.api_version.clear();
    if (checks) {
      watch_->check_health({model.name, i, ref.name, make(ref), path_of(settings.health_check_path),
                            settings.health_check_interval, settings.health_check_timeout},
                           balancer);
    }
    if (!has_metrics(ref)) continue;
    if (ref.metrics_port != 0 && ref.metrics_port != ref.port) {
      // Whoever listens there is not who the key is for.
      ref.port = ref.metrics_port;
      ref.api_key.clear();
      ref.api_key_env.clear();
      ref.extra_headers.clear();
    }
    const std::string path = ref.metrics_path.empty() ? "/metrics" : path_of(ref.metrics_path);
    watch_->read_metrics({model.name, i, ref.name, make(ref), path, settings.metrics_interval,
                          settings.health_check_timeout},
                         balancer);
  }
  return balancer;
}

}  // namespace signalbox::upstream
