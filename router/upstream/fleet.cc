// Each worker has one coroutine for its health and one for its metrics. They hold the balancer
// weakly, so that they end with the last configuration that uses it.

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

/// One repeated request to a worker.
struct Probe {
  std::string model;
  size_t worker = 0;
  std::string name;  // the worker's name
  std::unique_ptr<const Backend> backend = nullptr;
  std::string path;
  std::chrono::milliseconds interval{0};
  std::chrono::milliseconds timeout{0};
};

struct ProbeReply {
  int status = 0;
  std::string body;
};

http::Task<Result<ProbeReply>> send_probe(const Probe& probe, size_t bytes_max) {
  const http::Executor executor = co_await http::asio::this_coro::executor;
  http::Interrupt interrupt;
  http::Deadline limit(http::loop_of(executor), [&interrupt] { interrupt.raise(Code::kDeadline); });
  limit.set(probe.timeout);
  const http::Headers none;
  const Call call{.target = probe.path,
                  .headers = none,
                  .added = none,
                  .request_id = "check",
                  .body = {},
                  .interrupt = interrupt,
                  .method = "GET"};
  auto reply = co_await probe.backend->call(call);
  if (!reply) co_return tl::unexpected<Error>(std::move(reply).error());
  ProbeReply result{(*reply)->head().status, {}};
  for (bool last = false; !last;) {
    auto piece = co_await (*reply)->next();
    if (!piece) co_return tl::unexpected<Error>(std::move(piece).error());
    result.body.append(piece->bytes);
    last = piece->last;
    if (result.body.size() > bytes_max)
      co_return fail(Code::kTooLarge, "its reply has more than {} bytes", bytes_max);
  }
  co_return result;
}

http::Task<> sleep_for(std::chrono::milliseconds interval) {
  const http::Executor executor = co_await http::asio::this_coro::executor;
  http::Timer timer(executor);
  timer.expires_after(interval);
  co_await timer.async_wait(http::kAwait);
}

http::Task<> watch_health(Probe probe, std::weak_ptr<workers::Balancer> weak_balancer) {
  while (!weak_balancer.expired()) {
    const Result<ProbeReply> result = co_await send_probe(probe, kHealthBytesMax);
    const bool passed = result && result->status / 100 == 2;
    if (const auto balancer = weak_balancer.lock()) {
      if (balancer->checked(probe.worker, passed, http::Clock::now())) {
        const std::string why =
            result ? fmt::format("status {}", result->status) : result.error().message;
        log::warn("workers", "model \"{}\": backend \"{}\" is {}: {}", probe.model, probe.name,
                  passed ? "back" : "out of rotation", why);
      }
    }
    co_await sleep_for(probe.interval);
  }
}

http::Task<> watch_load(Probe probe, std::weak_ptr<workers::Balancer> weak_balancer) {
  bool reported = false;
  while (!weak_balancer.expired()) {
    const Result<ProbeReply> result = co_await send_probe(probe, kMetricsBytesMax);
    Result<workers::Load> load = fail(Code::kUpstream, "no metrics");
    if (!result) {
      load = tl::unexpected<Error>(result.error());
    } else if (result->status != 200) {
      load = fail(Code::kUpstream, "status {}", result->status);
    } else {
      load = workers::parse_load(result->body);
    }
    if (const auto balancer = weak_balancer.lock())
      balancer->loaded(probe.worker, load ? std::optional(*load) : std::nullopt);
    if (!load && !reported) {
      log::warn("workers", "model \"{}\": backend \"{}\": cannot read its load: {}", probe.model,
                probe.name, load.error().message);
    }
    reported = !load;
    co_await sleep_for(probe.interval);
  }
}

bool has_metrics(const config::BackendRef& ref) {
  return ref.metrics_port != 0 || !ref.metrics_path.empty();
}

std::string path_of(std::string path) {
  return path.starts_with('/') ? path : "/" + path;
}

}  // namespace

/// Runs the probes on a thread of its own.
class Fleet::Prober {
 public:
  Prober() : first_(loop_), thread_([this] { loop_.run(); }) {}
  ~Prober() {
    loop_.stop();
    thread_.join();
  }

  void check_health(Probe probe, std::weak_ptr<workers::Balancer> weak_balancer) {
    http::asio::co_spawn(loop_.get_executor(),
                         watch_health(std::move(probe), std::move(weak_balancer)),
                         http::asio::detached);
  }
  void read_metrics(Probe probe, std::weak_ptr<workers::Balancer> weak_balancer) {
    http::asio::co_spawn(loop_.get_executor(),
                         watch_load(std::move(probe), std::move(weak_balancer)),
                         http::asio::detached);
  }

 private:
  http::asio::io_context loop_;
  http::Socket first_;  // creates the socket service of the loop before the pool, so that it
                        // outlives the pool
  http::asio::executor_work_guard<http::Executor> busy_{loop_.get_executor()};
  std::thread thread_;
};

Fleet::Fleet() = default;

Fleet::~Fleet() {
  stop();
}

void Fleet::stop() {
  std::unique_ptr<Prober> prober;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    prober = std::move(prober_);
  }
}

std::vector<std::pair<std::string, std::shared_ptr<const workers::Balancer>>> Fleet::balancers()
    const {
  std::vector<std::pair<std::string, std::shared_ptr<const workers::Balancer>>> out;
  const std::lock_guard lock(mutex_);
  for (const auto& [model, entry] : entries_) {
    if (auto held = entry.balancer.lock()) out.emplace_back(model, std::move(held));
  }
  return out;
}

std::shared_ptr<workers::Balancer> Fleet::balancer(const config::Model& model, const Make& make) {
  const config::Reliability settings = model.reliability.value_or(config::Reliability{});
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& each) { return each.second.balancer.expired(); });
  ModelEntry& entry = entries_[model.name];
  auto balancer = entry.balancer.lock();
  if (balancer && entry.backends == model.backend_refs && entry.settings == settings)
    return balancer;
  std::vector<workers::Balancer::Named> named;
  for (const config::BackendRef& ref : model.backend_refs) named.push_back({ref.name, ref.weight});
  balancer = std::make_shared<workers::Balancer>(settings, named);
  entry = {model.backend_refs, settings, balancer};
  for (size_t i = 0; i < model.backend_refs.size() && !stopped_; ++i) {
    config::BackendRef ref = model.backend_refs[i];
    if (ref.type == "echo" || ref.is_envoys) continue;
    const bool checks = !settings.health_check_path.empty();
    if (!prober_ && (checks || has_metrics(ref))) prober_ = std::make_unique<Prober>();
    ref.path_prefix.clear();
    ref.api_version.clear();
    if (checks) {
      prober_->check_health(
          {model.name, i, ref.name, make(ref), path_of(settings.health_check_path),
           settings.health_check_interval, settings.health_check_timeout},
          balancer);
    }
    if (!has_metrics(ref)) continue;
    if (ref.metrics_port != 0 && ref.metrics_port != ref.port) {
      // Another server may listen on that port, and the key is not meant for it.
      ref.port = ref.metrics_port;
      ref.api_key.clear();
      ref.api_key_env.clear();
      ref.extra_headers.clear();
    }
    const std::string path = ref.metrics_path.empty() ? "/metrics" : path_of(ref.metrics_path);
    prober_->read_metrics({model.name, i, ref.name, make(ref), path, settings.metrics_interval,
                           settings.health_check_timeout},
                          balancer);
  }
  return balancer;
}

}  // namespace signalbox::upstream
