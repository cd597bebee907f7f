// One loop on one thread: each kind of resource has a coroutine that lists and watches, and a timer
// collects their changes. Applying the changes may take seconds, during which the loop stands still
// and events wait in their sockets.

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
/// Longer than the timeout of a watch that the query sets for the server (reflector.cc).
constexpr seconds kWatchLimit{270};
constexpr milliseconds kLookPeriod{500};  // between two looks at the files
constexpr size_t kAccountBytesMax = 64 << 10;

/// Reads a file of the service account; returns "" if there is none.
std::string read_account_file(const config::Kubernetes& config, std::string_view name) {
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
      return fail(
          Code::kInvalid,
          "global.services.kubernetes.server: missing, and this process does not run in a pod "
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
  if (out.empty()) out = read_account_file(config, "namespace");
  if (out.empty())
    return fail(
        Code::kInvalid,
        "global.services.kubernetes.namespace: missing, and the service account has no namespace");
  if (out.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") != std::string::npos)
    return fail(Code::kInvalid, "global.services.kubernetes.namespace: \"{}\" is not a valid name",
                out);
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
  struct Watched {
    Watched(Kind of, http::asio::io_context& loop) : kind(of), pause(loop) {}
    const Kind kind;
    Reflector reflector;
    http::Timer pause;
    http::Interrupt* waiting = nullptr;  // interrupts the pending exchange; null: none
    uint64_t seen = 0;                   // the changes that were applied
    std::string logged_trouble;          // the trouble that was logged
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

  void begin(const config::BackendRef& server, const std::string& namespace_name);
  void run();
  std::string apply_texts(const std::vector<std::pair<std::string, std::string>>& texts);
  void run_files();
  void stop();
  http::Task<> follow(Watched& watched);
  http::Task<> list(Watched& watched, const Reflector::Step& step);
  http::Task<> watch(Watched& watched, const Reflector::Step& step);
  http::Task<> report();
  http::Task<> patch(const Patch& patch);
  std::string path_of(Kind kind) const;
  http::Headers credentials() const;
  void note(Watched& watched);
  void apply_resources();
  Acceptance judge(const std::vector<const Resource*>& pools,
                   const std::vector<const Resource*>& routes);
  void queue_status(Kind kind, const std::vector<const Resource*>& all,
                    const Acceptance& acceptance);
  void mark_settled();

  const config::Kubernetes config;
  const Apply apply;
  std::string namespace_name;  // the namespace
  std::string last_message;    // the last message about the resources

  http::asio::io_context loop{1};
  std::unique_ptr<upstream::HttpBackend> backend;
  std::deque<Watched> kinds;
  http::Timer gathering;
  std::deque<Patch> patches;
  http::Interrupt* patching = nullptr;
  bool is_reporting = false;
  int running = 0;  // number of coroutines
  bool stopping = false;

  std::mutex mutex;
  std::condition_variable changed;
  bool is_settled = false, is_over = false;
  std::thread thread;
};

// --- applying resources ---

/// Applies the resources and reports whether they were accepted. Callers wait until both resources
/// exist.
Acceptance Controller::Impl::judge(const std::vector<const Resource*>& pools,
                                   const std::vector<const Resource*>& routes) {
  const auto are_many = [](Kind kind, size_t count) {
    return Acceptance{
        "Conflict", fmt::format("there are {} resources of kind {}; at most one is allowed", count,
                                name_of(kind))};
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

void Controller::Impl::mark_settled() {
  {
    const std::lock_guard lock(mutex);
    is_settled = true;
  }
  changed.notify_all();
}

// --- files ---

/// Applies the resources in the texts of files. Returns why they do not serve; "" if they do.
std::string Controller::Impl::apply_texts(
    const std::vector<std::pair<std::string, std::string>>& texts) {
  const auto found = read_resources(texts);
  if (!found) return found.error().message;
  if (found->pools.empty() || found->routes.empty())
    return fmt::format("{}: an IntelligentPool and an IntelligentRoute are required", config.files);
  std::vector<const Resource*> pools, routes;
  for (const Resource& each : found->pools) pools.push_back(&each);
  for (const Resource& each : found->routes) routes.push_back(&each);
  return judge(pools, routes).why;
}

void Controller::Impl::run_files() {
  std::vector<std::pair<std::string, std::string>> before, tried;
  bool is_first = true;
  for (;; is_first = false) {
    auto texts = read_texts(config.files);
    std::string message = last_message;
    if (!texts) {
      message = texts.error().message;
    } else if (is_first || (*texts == before && *texts != tried)) {
      tried = *texts;
      message = apply_texts(tried);
      mark_settled();
    }
    if (texts) before = *std::move(texts);
    if (message != last_message && !message.empty()) log::error("kubernetes", "{}", message);
    last_message = message;
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, kLookPeriod, [this] { return is_over; })) return;
  }
}

// --- an API server ---

std::string Controller::Impl::path_of(Kind kind) const {
  return fmt::format("/apis/vllm.ai/v1alpha1/namespaces/{}/{}", namespace_name, plural_of(kind));
}

/// Reads the token each time, because kubelet renews it.
http::Headers Controller::Impl::credentials() const {
  http::Headers out;
  const std::string token = read_account_file(config, "token");
  if (!token.empty()) out.add("Authorization", fmt::format("Bearer {}", token));
  return out;
}

/// One request to the server with everything that it refers to; it must outlive the reply. stop()
/// interrupts it through `hook`.
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

http::Task<> Controller::Impl::list(Watched& watched, const Reflector::Step& step) {
  Exchange exchange(*this, watched.waiting, kListLimit, path_of(watched.kind) + step.query);
  exchange.headers.add("Accept", "application/json");
  auto reply = co_await backend->call(exchange.call);
  if (!reply) {
    watched.reflector.failed(reply.error().message);
    co_return;
  }
  auto body = co_await upstream::read_whole(**reply, kPageBytesMax);
  if (body) {
    watched.reflector.listed((*reply)->head().status, *std::move(body));
  } else {
    watched.reflector.failed(body.error().message);
  }
}

http::Task<> Controller::Impl::watch(Watched& watched, const Reflector::Step& step) {
  Exchange exchange(*this, watched.waiting, kWatchLimit, path_of(watched.kind) + step.query);
  exchange.headers.add("Accept", "application/json");
  auto reply = co_await backend->call(exchange.call);
  if (!reply) {
    watched.reflector.failed(reply.error().message);
    co_return;
  }
  bool is_open = watched.reflector.watching((*reply)->head().status, "");
  std::string line;
  while (is_open) {
    const Result<upstream::Piece> piece = co_await (*reply)->next();
    if (!piece) {
      watched.reflector.failed(piece.error().message);
      break;
    }
    std::string_view rest = piece->bytes;
    for (size_t end = rest.find('\n'); is_open && end != std::string_view::npos;
         end = rest.find('\n')) {
      line.append(rest.substr(0, end));
      rest.remove_prefix(end + 1);
      if (!line.empty()) is_open = watched.reflector.received(std::exchange(line, {}));
      note(watched);
    }
    line.append(rest);
    if (is_open && line.size() > kEventBytesMax) {
      watched.reflector.failed("an event is too long");
      break;
    }
    if (is_open && piece->last) {
      watched.reflector.ended();
      break;
    }
  }
}

http::Task<> Controller::Impl::follow(Watched& watched) {
  std::mt19937 generator{std::random_device{}()};
  while (!stopping) {
    const Reflector::Step step =
        watched.reflector.next(std::uniform_real_distribution<double>(0, 1)(generator));
    if (step.pause.count() > 0) {
      watched.pause.expires_after(step.pause);
      const auto [cancelled] = co_await watched.pause.async_wait(http::kAwait);
      if (cancelled || stopping) break;
    }
    if (step.is_watch) {
      co_await watch(watched, step);
    } else {
      co_await list(watched, step);
    }
    note(watched);
  }
}

/// Logs and schedules the changes that a step has made.
void Controller::Impl::note(Watched& watched) {
  if (stopping) return;
  const std::string& trouble = watched.reflector.trouble();
  if (trouble != watched.logged_trouble) {
    if (trouble.empty()) {
      log::info("kubernetes", "{}: the connection works again", plural_of(watched.kind));
    } else {
      log::warn("kubernetes", "{}: {}; the current configuration stays active",
                plural_of(watched.kind), trouble);
    }
    watched.logged_trouble = trouble;
  }
  if (watched.reflector.changes() == watched.seen) return;
  watched.seen = watched.reflector.changes();
  gathering.expires_after(config.debounce);
  gathering.async_wait([this](http::ErrorCode error) {
    if (!error && !stopping) apply_resources();
  });
}

void Controller::Impl::apply_resources() {
  std::vector<const Resource*> pools, routes;
  for (const Watched& each : kinds) {
    if (!each.reflector.is_complete()) return;
    for (const auto& [name, resource] : each.reflector.resources())
      (each.kind == Kind::kPool ? pools : routes).push_back(&resource);
  }
  std::string message;
  if (pools.empty() || routes.empty()) {
    message = fmt::format("namespace {} has no {}; the current configuration stays active",
                          namespace_name, name_of(pools.empty() ? Kind::kPool : Kind::kRoute));
  } else {
    const Acceptance acceptance = judge(pools, routes);
    message = acceptance.why;
    if (config.write_status) {
      queue_status(Kind::kPool, pools, acceptance);
      queue_status(Kind::kRoute, routes, acceptance);
    }
  }
  if (message != last_message && !message.empty()) log::warn("kubernetes", "{}", message);
  last_message = message;
  mark_settled();
}

void Controller::Impl::queue_status(Kind kind, const std::vector<const Resource*>& all,
                                    const Acceptance& acceptance) {
  for (const Resource* each : all) {
    auto body = status_patch(kind, *each, acceptance, rfc3339());
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
  auto reply = co_await backend->call(exchange.call);
  std::string trouble;
  if (reply) {
    const auto body = co_await upstream::read_whole(**reply, kPageBytesMax);
    const int status = (*reply)->head().status;
    if (status / 100 != 2) trouble = fmt::format("the server returned status {}", status);
  } else {
    trouble = reply.error().message;
  }
  // A failed status update changes nothing else, so log it and go on.
  if (!trouble.empty() && !stopping) log::warn("kubernetes", "{}: {}", wanted.target, trouble);
}

// --- the thread ---

void Controller::Impl::begin(const config::BackendRef& server, const std::string& in) {
  namespace_name = in;
  config::HttpLimits limits;
  backend = std::make_unique<upstream::HttpBackend>(server, limits, std::nullopt);
  for (const Kind kind : {Kind::kPool, Kind::kRoute}) {
    kinds.emplace_back(kind, loop);
    ++running;
    auto ended = [this](const std::exception_ptr& failure) {
      if (failure) log::error("kubernetes", "watching the API server has ended");
      if (--running == 0 && stopping) loop.stop();
    };
    http::asio::co_spawn(loop, follow(kinds.back()), ended);
  }
}

void Controller::Impl::run() {
  auto work = http::asio::make_work_guard(loop);
  loop.run();
}

void Controller::Impl::stop() {
  stopping = true;
  gathering.cancel();
  for (Watched& each : kinds) {
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
    SIGNALBOX_TRY(const std::string namespace_name, namespace_of(config));
    impl->begin(server, namespace_name);
    if (const Error* trouble = impl->backend->trouble())
      return fail(Code::kInvalid, "global.services.kubernetes: {}", trouble->message);
    log::info("kubernetes", "watching namespace {} of {}:{}", namespace_name, server.host,
              server.port);
    impl->thread = std::thread([at] { at->run(); });
  }
  return std::unique_ptr<Controller>(new Controller(std::move(impl)));
}

bool Controller::wait(milliseconds limit) {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, limit, [this] { return impl_->is_settled; });
}

}  // namespace signalbox::kubernetes
