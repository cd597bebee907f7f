// A call loops over workers. The balancer chooses the next worker; this file decides whether there
// may be a next one, from how far the last attempt has come.

#include "router/upstream/backends.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/log.h"
#include "router/upstream/echo_backend.h"
#include "router/upstream/http_backend.h"
#include "router/upstream/lease.h"
#include "router/upstream/outgoing.h"
#include "router/workers/back_off.h"

namespace signalbox::upstream {
namespace {

using workers::Balancer;
using workers::Ended;
using workers::Missing;
using namespace std::chrono_literals;

void add_notices(const config::Model& model, const config::BackendRef& ref,
                 std::vector<std::string>& notices) {
  const auto add = [&](std::string what) {
    notices.push_back(fmt::format("model \"{}\": backend \"{}\": {}", model.name, ref.name, what));
  };
  if (ref.type == "echo") return;
  if (ref.tls_skip_verify)
    add("tls_skip_verify: the server's certificate is not checked, so any server may receive keys "
        "and prompts");
  // If it is not set, reading the file gave a notice.
  const char* const key = ref.api_key_env.empty() ? nullptr : std::getenv(ref.api_key_env.c_str());
  if (key != nullptr && *key != '\0' && !key_of(ref))
    add(
        fmt::format("the environment variable {} holds blanks or control characters; requests are "
                    "sent without a key",
                    ref.api_key_env));
  if (!ref.chat_path.empty() && model.api_format == config::Model::ApiFormat::kAnthropic)
    add("chat_path has no effect: requests go to /v1/messages");
}

/// Stands for the servers of a model that only Envoy reaches. Every call fails, because the router
/// has no address.
class EnvoysServers final : public Backend {
 public:
  explicit EnvoysServers(std::string model) : model_(std::move(model)) {}
  http::Task<Result<std::unique_ptr<UpstreamReply>>> call(const Call&) const override {
    co_return fail(Code::kUpstream,
                   "the model \"{}\" has no backend_refs, so that only Envoy reaches it", model_);
  }

 private:
  std::string model_;
};

/// A place in the balancer's queue, and the worker that it leads to.
class QueuePlace {
 public:
  QueuePlace(Balancer& balancer, Balancer::Ticket ticket, size_t blocks)
      : balancer_(balancer), ticket_(ticket), blocks_(blocks) {}
  QueuePlace(const QueuePlace&) = delete;
  QueuePlace& operator=(const QueuePlace&) = delete;
  ~QueuePlace() {
    if (const auto worker = leave())
      balancer_.end(*worker, blocks_, Ended::kDropped, http::Clock::now());
  }
  std::optional<size_t> leave() {
    if (left_) return std::nullopt;
    left_ = true;
    return balancer_.leave(ticket_);
  }

 private:
  Balancer& balancer_;
  const Balancer::Ticket ticket_;
  const size_t blocks_;
  bool left_ = false;
};

/// Reserves a worker for the request and waits for one if necessary, for `most` at most. Errors:
/// kNotFound if every worker has been tried, kOverloaded if none was free in time or too many
/// requests wait, kCancelled.
http::Task<Result<size_t>> acquire(Balancer& balancer, std::string_view model,
                                   const workers::Affinity& affinity,
                                   const std::vector<size_t>& tried, http::Interrupt& interrupt,
                                   std::chrono::milliseconds most) {
  const auto now = http::Clock::now();
  const auto begun = balancer.begin(affinity, tried, now);
  if (begun) co_return *begun;
  if (begun.error() == Missing::kOther)
    co_return fail(Code::kNotFound, "model \"{}\": every backend has been tried", model);
  if (most.count() == 0)
    co_return fail(Code::kOverloaded, "model \"{}\": its backends are busy", model);
  const http::Executor executor = co_await http::asio::this_coro::executor;
  const auto timer = std::make_shared<http::Timer>(executor);
  timer->expires_after(most);
  const auto ticket = balancer.wait(
      affinity, tried,
      [executor, timer] { http::asio::post(executor, [timer] { timer->cancel(); }); }, now);
  if (!ticket) {
    co_return fail(Code::kOverloaded,
                   "model \"{}\": its backends are busy and {} requests are waiting", model,
                   balancer.settings().queue_max);
  }
  QueuePlace place(balancer, *ticket, affinity.blocks.size());
  {
    http::Interrupt::Scope scope(interrupt, [timer] { timer->cancel(); });
    if (!interrupt.raised()) co_await timer->async_wait(http::kAwait);
  }
  const bool gone = interrupt.raised() && interrupt.why() == Code::kCancelled;
  if (gone) co_return tl::unexpected<Error>(interrupt.error());
  const auto worker = interrupt.raised() ? std::nullopt : place.leave();
  if (worker) co_return *worker;
  co_return fail(Code::kOverloaded, "model \"{}\": its backends were busy for {} ms", model,
                 most.count());
}

/// True if retry_on allows discarding a reply with this status in favour of another backend's.
bool is_refusal(const http::Response& head, const config::RetryOn& on) {
  if (std::ranges::find(on.statuses, head.status) != on.statuses.end()) return true;
  if (head.status < 500) return false;
  const bool gateway = head.status >= 502 && head.status <= 504;
  const bool not_started = head.status == 503 && head.headers.find("retry-after").has_value();
  return on.any_5xx || (on.gateway_error && gateway) || (on.refused && not_started);
}

/// True if retry_on allows repeating a call that failed at this stage.
bool may_repeat(Stage stage, bool timed_out, const config::RetryOn& on) {
  if (stage == Stage::kConnecting) return on.connect;
  if (stage == Stage::kAnswered) return on.any_5xx;
  return timed_out ? on.timeout : on.refused;
}

/// Replaces a redirect by an error, because a client that follows it repeats its request past the
/// router. The redirect of a GET passes, because it can lead to the place where a file is stored.
void refuse_redirect(const Call& call, std::string_view backend,
                     Result<std::unique_ptr<UpstreamReply>>& answer) {
  if (!answer || call.method == "GET") return;
  const int status = (*answer)->head().status;
  if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308) return;
  answer = fail(Code::kUpstream,
                "backend \"{}\": it redirects to another address (HTTP {}); the router follows no "
                "redirects, so its file must give the backend that address",
                backend, status);
}

}  // namespace

/// The backends of one model.
struct Backends::Pool {
  std::string model;
  std::vector<std::unique_ptr<const Backend>> backends;
  std::shared_ptr<Balancer> balancer;

  /// Returns the blocks of the prompt, or nothing if the policy does not use them.
  std::vector<uint64_t> blocks(const Call& call) const {
    const config::Reliability& settings = balancer->settings();
    if (settings.lb_policy != config::Reliability::Policy::kPrefix || backends.size() < 2)
      return {};
    return workers::prefix_blocks(call.prompt, settings.prefix_block_bytes);
  }
  /// Returns the ends of the prompt's messages, or nothing if the policy does not use them.
  std::vector<uint64_t> ends(const Call& call) const {
    const config::Reliability& settings = balancer->settings();
    const bool is_by_blocks = settings.lb_policy == config::Reliability::Policy::kPrefix;
    if (is_by_blocks || backends.size() < 2 || settings.shared_prefix_bytes == 0) return {};
    return workers::prefix_ends(call.prompt, settings.shared_prefix_bytes);
  }
  std::string_view session(const Call& call) const {
    const config::Reliability& settings = balancer->settings();
    if (settings.lb_policy != config::Reliability::Policy::kSession) return {};
    return call.headers.find(settings.session_header).value_or(std::string_view());
  }
};

Backends::Backends(const config::Config& config, Fleet& fleet) {
  std::vector<const config::Model*> models = config::image_servers_of(config);
  for (const config::Model& model : config.providers.models) models.push_back(&model);
  for (const config::Model* each : models) {
    const config::Model& model = *each;
    const auto make = [&](const config::BackendRef& ref) -> std::unique_ptr<const Backend> {
      if (ref.type == "echo") return std::make_unique<EchoBackend>(model.name);
      if (ref.is_envoys) return std::make_unique<EnvoysServers>(model.name);
      config::HttpLimits limits = config.http;
      const auto connect = model.reliability ? model.reliability->connect_timeout : 0ms;
      if (connect.count() > 0) limits.connect_timeout = connect;
      auto made = std::make_unique<HttpBackend>(ref, limits, key_of(ref), config.authz.identity);
      if (made->trouble() != nullptr) {
        notices_.push_back(fmt::format("model \"{}\": backend \"{}\": {}; requests to it will fail",
                                       model.name, ref.name, made->trouble()->message));
      }
      return made;
    };
    auto pool = std::make_unique<Pool>();
    pool->model = model.name;
    for (const config::BackendRef& ref : model.backend_refs) {
      add_notices(model, ref, notices_);
      pool->backends.push_back(make(ref));
    }
    pool->balancer = fleet.balancer(model, make);
    pools_.emplace(model.name, std::move(pool));
  }
}

Backends::~Backends() = default;

namespace {

/// The seconds of a Retry-After; nullopt for a date, which no server of models is known to send.
std::optional<std::chrono::seconds> demanded_wait(const http::Response& head) {
  const std::string_view text = head.headers.find("retry-after").value_or("");
  uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return std::nullopt;
  if (error != std::errc()) seconds = std::numeric_limits<uint32_t>::max();
  return std::chrono::seconds(seconds);
}

std::chrono::milliseconds wait_before(const config::Reliability& settings, uint32_t retry,
                                      std::optional<std::chrono::seconds> demanded) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const double draw = std::uniform_real_distribution<double>(0, 1)(random);
  return workers::back_off(settings, retry, draw, demanded);
}

/// Returns early if the interrupt is raised. It polls, because the interrupt's only scope may
/// belong to a reply that is kept meanwhile.
http::Task<> pause(std::chrono::milliseconds time, const http::Interrupt& interrupt) {
  const http::Executor executor = co_await http::asio::this_coro::executor;
  http::Timer timer(executor);
  const auto end = http::Clock::now() + time;
  while (!interrupt.raised() && http::Clock::now() < end) {
    timer.expires_at(std::min(end, http::Clock::now() + http::kDeadlinePeriod));
    co_await timer.async_wait(http::kAwait);
  }
}

/// The time that a call may take with all its attempts and waits.
class TotalTime {
 public:
  explicit TotalTime(std::chrono::milliseconds total) : total_(total) {}
  AttemptTimes times_of(const config::Reliability& settings) const {
    return {settings.reply_timeout, total_.count() == 0 ? total_ : left(), total_,
            settings.idle_timeout};
  }
  bool is_over() const { return total_.count() > 0 && Clock::now() - began_ >= total_; }
  /// Returns what there may be of a wait. It is never 0.
  std::chrono::milliseconds bound(std::chrono::milliseconds wait) const {
    return total_.count() == 0 ? std::max(wait, 1ms) : std::min(std::max(wait, 1ms), left());
  }
  /// True if time is left after a wait.
  bool allows(std::chrono::milliseconds wait) const { return total_.count() == 0 || wait < left(); }
  std::string limit() const { return fmt::format("{} ms, the total_timeout", total_.count()); }

 private:
  using Clock = http::Clock;
  std::chrono::milliseconds left() const {
    const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
    return std::max(total_ - taken, 1ms);
  }

  const std::chrono::milliseconds total_;
  const Clock::time_point began_ = Clock::now();
};

/// The call of one attempt. Backends ignore needs_reply, which is for proxies.
Call attempt_of(const Call& call, http::Interrupt& interrupt, Stage& stage) {
  return {.target = call.target,
          .headers = call.headers,
          .added = call.added,
          .request_id = call.request_id,
          .body = call.body,
          .interrupt = interrupt,
          .prompt = call.prompt,
          .decided = call.decided,
          .method = call.method,
          .stage = &stage,
          .traceparent = call.traceparent,
          .drops_tracestate = call.drops_tracestate,
          .repeatable = call.repeatable};
}

/// One call with its attempts. Between two of them the request is at no worker: it waits first, and
/// then takes a worker that is free by then. All arguments outlive it.
class Attempts {
 public:
  Attempts(std::string_view model, std::span<const std::unique_ptr<const Backend>> backends,
           Balancer& balancer, const workers::Affinity& affinity, const Call& call)
      : model_(model),
        backends_(backends),
        balancer_(balancer),
        settings_(balancer.settings()),
        affinity_(affinity),
        call_(call),
        total_(settings_.total_timeout) {}

  http::Task<CallOutcome> run() {
    for (bool again = true; again;) {
      if (wait_.count() > 0) co_await pause(wait_, call_.interrupt);
      const Result<size_t> worker = co_await acquire_next();
      if (!worker) {
        end_without_worker(worker.error());
        break;
      }
      refusal_.reset();
      again = co_await attempt(*worker);
    }
    co_return std::move(out_);
  }

 private:
  /// Errors: those of acquire(), and the interrupt's.
  http::Task<Result<size_t>> acquire_next() {
    if (call_.interrupt.raised()) co_return tl::unexpected<Error>(call_.interrupt.error());
    // Do not keep a refusal from the client for the sake of a busy worker.
    const bool waits = !call_.gives_way && refusal_ == nullptr;
    Result<size_t> worker = co_await acquire(balancer_, model_, affinity_, tried_, call_.interrupt,
                                             waits ? total_.bound(settings_.queue_timeout) : 0ms);
    if (worker && total_.is_over()) {
      balancer_.end(*worker, affinity_.blocks.size(), Ended::kDropped, http::Clock::now());
      worker = fail(Code::kOverloaded, "model \"{}\": no backend was free within {}", model_,
                    total_.limit());
    }
    co_return worker;
  }

  // The end of the last attempt is more useful than the fact that no worker is left.
  void end_without_worker(const Error& error) {
    permit_.reset();
    const bool is_interrupt = error.code == Code::kCancelled || error.code == Code::kDeadline;
    if (out_.attempts == 0 || is_interrupt) {
      out_.elsewhere = error.code == Code::kOverloaded;
      out_.answer = tl::unexpected<Error>(error);
    } else if (refusal_ != nullptr) {
      out_.answer = std::move(refusal_);
      out_.backend = balancer_.name(tried_.back());
    }
    // The time limit covers the whole request, so none is left for another model.
    if (call_.interrupt.raised()) out_.elsewhere = false;
  }

  /// Returns true if another attempt follows.
  http::Task<bool> attempt(size_t worker) {
    Lease lease(balancer_, model_, worker, affinity_.blocks.size());
    if (call_.gives_way) lease.ignore_health();
    lease.hold(std::move(permit_));
    ++out_.attempts;
    const http::Executor executor = co_await http::asio::this_coro::executor;
    std::unique_ptr<ReplyLimit> limit;
    if (const AttemptTimes times = total_.times_of(settings_); times.any())
      limit = std::make_unique<ReplyLimit>(http::loop_of(executor), call_.interrupt, times);
    Stage own_stage;
    Stage& stage = call_.stage != nullptr ? *call_.stage : own_stage;
    stage = Stage::kConnecting;
    const Call one = attempt_of(call_, limit ? limit->interrupt() : call_.interrupt, stage);
    out_.answer = co_await backends_[worker]->call(one);
    refuse_redirect(call_, balancer_.name(worker), out_.answer);
    if (limit && !call_.limits_whole) limit->lift();
    tried_.push_back(worker);
    co_return out_.answer ? take_reply(std::move(lease), std::move(limit))
                          : take_failure(lease, stage, limit.get());
  }

  /// Also sets the wait before the next attempt.
  bool may_try_again(std::optional<std::chrono::seconds> demanded) {
    if (call_.gives_way || out_.attempts > settings_.retry_count ||
        tried_.size() >= backends_.size() || total_.is_over())
      return false;
    wait_ = wait_before(settings_, out_.attempts, demanded);
    return total_.allows(wait_);
  }

  /// The lease of the last attempt must not have ended: its request counts for the budget, but it
  /// is no longer a retry itself.
  bool take_permit(Lease& lease) {
    lease.hold(nullptr);
    permit_ = balancer_.take_retry();
    return permit_ != nullptr;
  }

  bool take_reply(Lease lease, std::unique_ptr<ReplyLimit> limit) {
    const http::Response& head = (*out_.answer)->head();
    out_.elsewhere = is_refusal(head, settings_.retry_on);
    const bool again = out_.elsewhere && call_.repeatable && may_try_again(demanded_wait(head)) &&
                       take_permit(lease);
    if (again) {
      log::debug("workers",
                 "{}: model \"{}\": backend \"{}\" answered {}; another attempt may follow",
                 call_.request_id, model_, balancer_.name(tried_.back()), head.status);
      lease.end(head.status >= 500 ? Ended::kFailed : Ended::kDropped);
    }
    auto leased =
        std::make_unique<LeasedReply>(std::move(*out_.answer), std::move(lease), std::move(limit));
    out_.answer = nullptr;
    // Give up this reply only if another worker is available: an error reply is better than none.
    if (again) {
      refusal_ = std::move(leased);
    } else {
      out_.answer = std::move(leased);
      out_.backend = balancer_.name(tried_.back());
    }
    return again;
  }

  bool take_failure(Lease& lease, Stage stage, const ReplyLimit* limit) {
    out_.elsewhere = false;
    const Error& error = out_.answer.error();
    if (error.code == Code::kCancelled || error.code == Code::kUnsupported) return false;
    const bool again = may_follow(lease, stage, limit != nullptr && limit->is_late());
    const bool was_cut_short = limit != nullptr && limit->was_cut_short();
    lease.end(was_cut_short ? Ended::kDropped : Ended::kFailed);
    if (again)
      log::debug("workers", "{}: model \"{}\": {}; another attempt may follow", call_.request_id,
                 model_, error.message);
    return again;
  }

  /// Decides whether another attempt follows a failure, and another model.
  bool may_follow(Lease& lease, Stage stage, bool is_late) {
    // The time limit covers the whole request, so none is left for another attempt.
    if (call_.interrupt.raised()) return false;
    out_.elsewhere = may_repeat(stage, is_late || total_.is_over(), settings_.retry_on);
    const bool nothing_sent = stage == Stage::kConnecting;
    if (!out_.elsewhere || (!nothing_sent && !call_.repeatable) || !may_try_again(std::nullopt))
      return false;
    return (nothing_sent && balancer_.is_free_without_connection()) || take_permit(lease);
  }

  const std::string_view model_;
  const std::span<const std::unique_ptr<const Backend>> backends_;
  Balancer& balancer_;
  const config::Reliability& settings_;
  const workers::Affinity& affinity_;
  const Call& call_;
  const TotalTime total_;
  std::vector<size_t> tried_;
  Balancer::RetryPermit permit_;          // of the next attempt
  std::chrono::milliseconds wait_{0};     // before the next attempt
  std::unique_ptr<LeasedReply> refusal_;  // the last reply, until a worker is free; null: none
  CallOutcome out_;
};

}  // namespace

http::Task<CallOutcome> Backends::call(const config::Model& model, const Call& call) const {
  const auto found = pools_.find(model.name);
  SIGNALBOX_CHECK(found != pools_.end());
  const Pool& pool = *found->second;
  const std::vector<uint64_t> blocks = pool.blocks(call);
  const std::vector<uint64_t> ends = pool.ends(call);
  const workers::Affinity affinity{blocks, pool.session(call), ends};
  Attempts attempts(pool.model, pool.backends, *pool.balancer, affinity, call);
  CallOutcome out = co_await attempts.run();
  co_return out;
}

}  // namespace signalbox::upstream
