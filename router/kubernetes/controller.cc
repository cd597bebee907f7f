// One loop on one thread: a coroutine a kind that lists and watches, and a timer that gathers what
// they find. Taking it up may take seconds, in which the loop stands still and events wait in their
// sockets.

#include "router/kubernetes/controller.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <exception>
#include <mutex>
#include <random>
#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "router/config/endpoint.h"
#include "router/http/deadline.h"
#include "router/kubernetes/folder.h"
#include "router/kubernetes/overlay.h"
#include "router/kubernetes/reflector.h"
#include "router/kubernetes/status.h"
#include "router/upstream/http_backend.h"
#include "router/upstream/whole.h"

namespace signalbox::kubernetes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kListLimit{30}, kPatchLimit{10};
/// The server is asked to end a watch before.
constexpr seconds kWatchLimit{270};
constexpr milliseconds kLookPeriod{500};  // at files
constexpr size_t kAccountBytesMax = 64 << 10;

/// A file of the service account; "" where there is none.
std::string account_file(const config::Kubernetes& config, std::string_view name) {
  auto text = read_file(std::filesystem::path(config.service_account) / name, kAccountBytesMax);
  if (!text) return {};
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  return *std::move(text);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<config::BackendRef> server_of(const config::Kubernetes& config) {
  std::string url = config.server;
  if (url.empty()) {
    const std::string host = environment("KUBERNETES_SERVICE_HOST");
    const std::string port = environment("KUBERNETES_SERVICE_PORT");
    if (host.empty())
      return fail(Code::kInvalid,
                  "global.services.kubernetes.server: missing, and this is no pod "
                  "(KUBERNETES_SERVICE_HOST is not set)");
    const bool is_v6 = host.find(':') != std::string::npos;
    url = fmt::format("https://{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                      port.empty() ? "443" : port);
  }
  auto endpoint = config::parse_base_url(url);
  if (!endpoint) return fail_in("global.services.kubernetes.server", std::move(endpoint).error());
  config::BackendRef out;
  out.name = "kubernetes";
  out.host = endpoint->host;
  out.port = endpoint->port;
  out.tls = endpoint->tls;
  out.path_prefix = endpoint->path;
  const std::filesystem::path authority = std::filesystem::path(config.service_account) / "ca.crt";
  if (out.tls && std::filesystem::exists(authority)) out.tls_ca_path = authority.string();
  return out;
}

Result<std::string> namespace_of(const config::Kubernetes& config) {
  std::string out = config.namespace_name;
  if (out.empty()) out = account_file(config, "namespace");
  if (out.empty())
    return fail(
        Code::kInvalid,
        "global.services.kubernetes.namespace: missing, and the service account names none");
  if (out.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") != std::string::npos)
    return fail(Code::kInvalid, "global.services.kubernetes.namespace: \"{}\" is no name", out);
  return out;
}

std::string rfc3339() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char out[32];
  return {out, std::strftime(out, sizeof out, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

struct Controller::Impl {
  /// One kind of resource on an API server.
  struct Followed {
    Followed(Kind of, http::asio::io_context& loop) : kind(of), pause(loop) {}
    const Kind kind;
    Reflector reflector;
    http::Timer pause;
    http::Interrupt* waiting = nullptr;  // what ends an exchange
    uint64_t seen = 0;                   // changes that were told
    std::string told;                    // trouble that was logged
  };
  struct Patch {
    std::string target, body;
  };
  struct Exchange;

  Impl(const config::Kubernetes& of, Apply to)
      : config(of), apply(std::move(to)), gathering(loop) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  void begin(const config::BackendRef& server, const std::string& space);
  void run();
  void run_files();
  void stop();
  http::Task<> follow(Followed& followed);
  http::Task<> list(Followed& followed, const Reflector::Step& step);
  http::Task<> watch(Followed& followed, const Reflector::Step& step);
  http::Task<> report();
  http::Task<> patch(const Patch& patch);
  std::string path_of(Kind kind) const;
  http::Headers credentials() const;
  void note(Followed& followed);
  void take_up();
  Verdict judge(const std::vector<const Resource*>& pools,
                const std::vector<const Resource*>& routes);
  void answer(Kind kind, const std::vector<const Resource*>& all, const Verdict& verdict);
  void settled();

  const config::Kubernetes config;
  const Apply apply;
  std::string space;  // the namespace
  std::string last;   // what was said of the resources

  http::asio::io_context loop{1};
  std::unique_ptr<upstream::HttpBackend> backend;
  std::deque<Followed> followed;
  http::Timer gathering;
  std::deque<Patch> patches;
  http::Interrupt* patching = nullptr;
  bool is_reporting = false;
  int running = 0;  // coroutines
  bool stopping = false;

  std::mutex mutex;
  std::condition_variable changed;
  bool is_settled = false, is_over = false;
  std::thread thread;
};

// --- the resources, wherever they come from ---

/// Errors become the verdict; what is missing is waited for, and none.
Verdict Controller::Impl::judge(const std::vector<const Resource*>& pools,
                                const std::vector<const Resource*>& routes) {
  const auto are_many = [](Kind kind, size_t count) {
    return Verdict{"Conflict", fmt::format("there are {} of kind {}, of which there may be one",
                                           count, name_of(kind))};
  };
  if (pools.size() > 1) return are_many(Kind::kPool, pools.size());
  if (routes.size() > 1) return are_many(Kind::kRoute, routes.size());
  Overlay overlay = [pool = pools.front()->spec, route = routes.front()->spec](
                        std::string_view file, std::string_view name) {
    return lay_over(file, name, pool, route);
  };
  const Result<void> applied = apply(std::move(overlay));
  if (applied) return {"Ready", ""};
  return {"ValidationFailed", applied.error().message};
}

void Controller::Impl::settled() {
  {
    const std::lock_guard lock(mutex);
    is_settled = true;
  }
  changed.notify_all();
}

// --- files ---

void Controller::Impl::run_files() {
  std::vector<std::pair<std::string, std::string>> before, tried;
  bool is_first = true;
  for (;; is_first = false) {
    auto texts = read_texts(config.files);
    std::string said;
    if (!texts) {
      said = texts.error().message;
    } else if (is_first || (*texts == before && *texts != tried)) {
      tried = *texts;
      const auto found = read_resources(tried);
      std::vector<const Resource*> pools, routes;
      if (found) {
        for (const Resource& each : found->pools) pools.push_back(&each);
        for (const Resource& each : found->routes) routes.push_back(&each);
      }
      if (!found) {
        said = found.error().message;
      } else if (pools.empty() || routes.empty()) {
        said = fmt::format("{}: it needs an IntelligentPool and an IntelligentRoute", config.files);
      } else {
        said = judge(pools, routes).why;
      }
      settled();
    } else {
      said = last;
    }
    if (texts) before = *std::move(texts);
    if (said != last && !said.empty()) log::error("kubernetes", "{}", said);
    last = said;
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, kLookPeriod, [this] { return is_over; })) return;
  }
}

// --- an API server ---

std::string Controller::Impl::path_of(Kind kind) const {
  return fmt::format("/apis/vllm.ai/v1alpha1/namespaces/{}/{}", space, plural_of(kind));
}

/// Read each time: kubelet renews the token.
http::Headers Controller::Impl::credentials() const {
  http::Headers out;
  const std::string token = account_file(config, "token");
  if (!token.empty()) out.add("Authorization", fmt::format("Bearer {}", token));
  return out;
}

/// One request to the server, and all that it refers to: it has to outlive its answer. stop() ends
/// it through `hook`.
struct Controller::Impl::Exchange {
  Exchange(Impl& of, http::Interrupt*& ended_by, seconds limit, std::string to)
      : hook(ended_by),
        deadline(of.loop, [this] { interrupt.raise(Code::kDeadline); }),
        target(std::move(to)),
        added(of.credentials()) {
    hook = &interrupt;
    deadline.set(limit);
    call.method = "GET";
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { hook = nullptr; }

  http::Interrupt*& hook;
  http::Interrupt interrupt;
  http::Deadline deadline;
  const std::string target;
  const http::Headers added;
  http::Headers headers;
  upstream::Call call{target, headers, added, "kubernetes", "", interrupt};
};

http::Task<> Controller::Impl::list(Followed& of, const Reflector::Step& step) {
  Exchange exchange(*this, of.waiting, kListLimit, path_of(of.kind) + step.query);
  exchange.headers.add("Accept", "application/json");
  auto answer = co_await backend->call(exchange.call);
  if (!answer) {
    of.reflector.failed(answer.error().message);
    co_return;
  }
  auto body = co_await upstream::read_whole(**answer, kPageBytesMax);
  if (body) {
    of.reflector.listed((*answer)->head().status, *std::move(body));
  } else {
    of.reflector.failed(body.error().message);
  }
}

http::Task<> Controller::Impl::watch(Followed& of, const Reflector::Step& step) {
  Exchange exchange(*this, of.waiting, kWatchLimit, path_of(of.kind) + step.query);
  exchange.headers.add("Accept", "application/json");
  auto answer = co_await backend->call(exchange.call);
  if (!answer) {
    of.reflector.failed(answer.error().message);
    co_return;
  }
  bool goes_on = of.reflector.watching((*answer)->head().status, "");
  std::string line;
  while (goes_on) {
    const Result<upstream::Piece> piece = co_await (*answer)->next();
    if (!piece) {
      of.reflector.failed(piece.error().message);
      break;
    }
    std::string_view rest = piece->bytes;
    for (size_t end = rest.find('\n'); goes_on && end != std::string_view::npos;
         end = rest.find('\n')) {
      line.append(rest.substr(0, end));
      rest.remove_prefix(end + 1);
      if (!line.empty()) goes_on = of.reflector.told(std::exchange(line, {}));
      note(of);
    }
    line.append(rest);
    if (goes_on && line.size() > kEventBytesMax) {
      of.reflector.failed("an event is longer than may be");
      break;
    }
    if (goes_on && piece->last) {
      of.reflector.ended();
      break;
    }
  }
}

http::Task<> Controller::Impl::follow(Followed& of) {
  std::mt19937 generator{std::random_device{}()};
  while (!stopping) {
    const Reflector::Step step =
        of.reflector.next(std::uniform_real_distribution<double>(0, 1)(generator));
    if (step.pause.count() > 0) {
      of.pause.expires_after(step.pause);
      const auto [cancelled] = co_await of.pause.async_wait(http::kAwait);
      if (cancelled || stopping) break;
    }
    if (step.is_watch) {
      co_await watch(of, step);
    } else {
      co_await list(of, step);
    }
    note(of);
  }
}

/// What a step has changed.
void Controller::Impl::note(Followed& of) {
  if (stopping) return;
  const std::string& trouble = of.reflector.trouble();
  if (trouble != of.told) {
    if (trouble.empty()) {
      log::info("kubernetes", "{}: followed again", plural_of(of.kind));
    } else {
      log::warn("kubernetes", "{}: {}; what serves goes on serving", plural_of(of.kind), trouble);
    }
    of.told = trouble;
  }
  if (of.reflector.changes() == of.seen) return;
  of.seen = of.reflector.changes();
  gathering.expires_after(config.debounce);
  gathering.async_wait([this](http::ErrorCode error) {
    if (!error && !stopping) take_up();
  });
}

void Controller::Impl::take_up() {
  std::vector<const Resource*> pools, routes;
  for (const Followed& each : followed) {
    if (!each.reflector.is_complete()) return;
    for (const auto& [name, resource] : each.reflector.resources())
      (each.kind == Kind::kPool ? pools : routes).push_back(&resource);
  }
  std::string said;
  if (pools.empty() || routes.empty()) {
    said = fmt::format("namespace {} has no {}; what serves goes on serving", space,
                       name_of(pools.empty() ? Kind::kPool : Kind::kRoute));
  } else {
    const Verdict verdict = judge(pools, routes);
    said = verdict.why;
    if (config.write_status) {
      answer(Kind::kPool, pools, verdict);
      answer(Kind::kRoute, routes, verdict);
    }
  }
  if (said != last && !said.empty()) log::warn("kubernetes", "{}", said);
  last = said;
  settled();
}

void Controller::Impl::answer(Kind kind, const std::vector<const Resource*>& all,
                              const Verdict& verdict) {
  for (const Resource* each : all) {
    auto body = status_patch(kind, *each, verdict, rfc3339());
    if (body)
      patches.push_back({fmt::format("{}/{}/status", path_of(kind), each->name), *std::move(body)});
  }
  if (is_reporting || patches.empty()) return;
  is_reporting = true;
  ++running;
  auto ended = [this](const std::exception_ptr&) {
    is_reporting = false;
    if (--running == 0 && stopping) loop.stop();
  };
  http::asio::co_spawn(loop, report(), ended);
}

http::Task<> Controller::Impl::report() {
  while (!patches.empty() && !stopping) {
    const Patch next = std::move(patches.front());
    patches.pop_front();
    co_await patch(next);
  }
}

http::Task<> Controller::Impl::patch(const Patch& wanted) {
  Exchange exchange(*this, patching, kPatchLimit, wanted.target);
  exchange.headers.add("Content-Type", "application/merge-patch+json");
  exchange.call.method = "PATCH";
  exchange.call.body = wanted.body;
  auto answer = co_await backend->call(exchange.call);
  std::string trouble;
  if (answer) {
    const auto body = co_await upstream::read_whole(**answer, kPageBytesMax);
    const int status = (*answer)->head().status;
    if (status / 100 != 2) trouble = fmt::format("it was answered {}", status);
  } else {
    trouble = answer.error().message;
  }
  // It says how things are; they are so without it.
  if (!trouble.empty() && !stopping) log::warn("kubernetes", "{}: {}", wanted.target, trouble);
}

// --- the thread ---

void Controller::Impl::begin(const config::BackendRef& server, const std::string& in) {
  space = in;
  config::HttpLimits limits;
  backend = std::make_unique<upstream::HttpBackend>(server, limits, std::nullopt);
  for (const Kind kind : {Kind::kPool, Kind::kRoute}) {
    followed.emplace_back(kind, loop);
    ++running;
    auto ended = [this](const std::exception_ptr& failure) {
      if (failure) log::error("kubernetes", "following has ended");
      if (--running == 0 && stopping) loop.stop();
    };
    http::asio::co_spawn(loop, follow(followed.back()), ended);
  }
}

void Controller::Impl::run() {
  auto work = http::asio::make_work_guard(loop);
  loop.run();
}

void Controller::Impl::stop() {
  stopping = true;
  gathering.cancel();
  for (Followed& each : followed) {
    each.pause.cancel();
    if (each.waiting != nullptr) each.waiting->raise(Code::kCancelled);
  }
  if (patching != nullptr) patching->raise(Code::kCancelled);
  if (running == 0) loop.stop();
}

Controller::Impl::~Impl() {
  if (!thread.joinable()) return;
  {
    const std::lock_guard lock(mutex);
    is_over = true;
  }
  changed.notify_all();
  http::asio::post(loop, [this] { stop(); });
  thread.join();
}

Controller::Controller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Controller::~Controller() = default;

Result<std::unique_ptr<Controller>> Controller::start(const config::Kubernetes& config,
                                                      Apply apply) {
  auto impl = std::make_unique<Impl>(config, std::move(apply));
  Impl* const at = impl.get();
  if (!config.files.empty()) {
    impl->thread = std::thread([at] { at->run_files(); });
  } else {
    SIGNALBOX_TRY(const config::BackendRef server, server_of(config));
    SIGNALBOX_TRY(const std::string space, namespace_of(config));
    impl->begin(server, space);
    if (const Error* trouble = impl->backend->trouble())
      return fail(Code::kInvalid, "global.services.kubernetes: {}", trouble->message);
    log::info("kubernetes", "following namespace {} of {}:{}", space, server.host, server.port);
    impl->thread = std::thread([at] { at->run(); });
  }
  return std::unique_ptr<Controller>(new Controller(std::move(impl)));
}

bool Controller::wait(milliseconds limit) {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, limit, [this] { return impl_->is_settled; });
}

}  // namespace signalbox::kubernetes
