// The loop's thread only waits for servers. Texts are read on one thread beside it and compared on
// two others, because a judge on a server may let them wait.

#include "router/shadow/shadows.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/log.h"
#include "router/http/deadline.h"
#include "router/http/thread_pool.h"
#include "router/replies/reply_meter.h"
#include "router/spending/prices.h"
#include "router/upstream/outgoing.h"
#include "router/upstream/whole.h"

namespace signalbox::shadow {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr uint32_t kReaders = 1, kComparers = 2;
constexpr uint32_t kQueueMax = 1U << 14;  // more than the limits of a configuration allow
constexpr int kOk = 200;
constexpr size_t kEnvelopeBytes = 64 << 10;  // of a completion around its text

constexpr std::string_view kFailed = "failed", kTimeout = "timeout", kCancelled = "cancelled",
                           kTooLarge = "too_large", kNotCompared = "not_compared",
                           kUnreadable = "unreadable", kBusy = "busy",
                           kContradicted = "contradicted", kAgreed = "agreed",
                           kDiffered = "differed";

std::string_view outcome_of(const Error& error) {
  switch (error.code) {
    case Code::kDeadline:
      return kTimeout;
    case Code::kCancelled:
      return kCancelled;
    case Code::kTooLarge:
      return kTooLarge;
    default:
      return kFailed;
  }
}

std::string_view outcome_of(const Comparison& found) {
  if (found.contradicts) return kContradicted;
  if (!found.agrees) return kNotCompared;
  return *found.agrees ? kAgreed : kDiffered;
}

/// The servers count the tokens and name the model.
void read_usage(std::string_view body, const config::Model& model, observe::Shadow& out) {
  const auto now = SteadyClock::now();
  replies::ReplyMeter meter(now, false);
  meter.feed(body, now);
  const auto times = meter.times();
  out.origin = {times.origin.model, times.origin.id, times.origin.finish_reasons, {}};
  if (!times.prompt_tokens && !times.completion_tokens) return;
  out.tokens =
      observe::Tokens{times.prompt_tokens.value_or(0), times.cached_tokens.value_or(0),
                      times.completion_tokens.value_or(0), times.written_tokens.value_or(0),
                      times.reasoning_tokens.value_or(0)};
  out.cost = spending::cost_of(model, *out.tokens);
}

/// The client's side is estimated as well if its server does not count.
void estimate_tokens(const Call& call, size_t text_bytes, observe::Shadow& out) {
  constexpr uint64_t kBytes = 4;  // of an English token, roughly
  if (out.tokens) return;
  out.estimated.prompt = call.body.size() / kBytes;
  out.estimated.completion = text_bytes / kBytes;
  out.cost = spending::cost_of(*call.model, out.estimated);
}

/// A call that has begun, and what it refers to.
struct Running {
  std::shared_ptr<const Dispatch> dispatch;
  Call call;
  std::shared_ptr<const std::string> answer;  // the client's
  http::Interrupt interrupt;
  std::string text;  // the shadow's answer
};

}  // namespace

size_t reply_bytes_max(const config::ShadowDispatchPlugin& plugin) {
  constexpr size_t kOfEvents = 16;
  return kOfEvents * plugin.limits.max_response_bytes + kEnvelopeBytes;
}

struct Shadows::Impl : std::enable_shared_from_this<Shadows::Impl> {
  http::asio::io_context loop{1};
  std::optional<http::asio::executor_work_guard<http::Executor>> work;
  std::optional<http::ThreadPool> readers, comparers;
  std::thread thread;
  std::set<http::Interrupt*> interrupts;  // of the loop's thread

  std::mutex mutex;
  std::condition_variable changed;
  bool stopped = false;
  size_t places = 0;
  size_t under_way = 0;
  SteadyClock::time_point minute{};  // when the current one began
  size_t calls_in_minute = 0;

  void begin(const std::shared_ptr<Dispatch>& dispatch);
  http::Task<> open(std::shared_ptr<Dispatch> dispatch);
  http::Task<> run(std::shared_ptr<Running> running);
  http::Task<Result<std::string>> call(Running& running);
  http::Task<> compare(Running& running);
  void ended();
};

Shadows::Shadows() : impl_(std::make_shared<Impl>()) {}

Shadows::~Shadows() {
  stop();
}

std::shared_ptr<const void> Shadows::admit(const config::ShadowDispatchPlugin& plugin) {
  constexpr std::chrono::minutes kMinute{1};
  Impl& impl = *impl_;
  const std::lock_guard lock(impl.mutex);
  const auto now = SteadyClock::now();
  if (now - impl.minute >= kMinute) {
    impl.minute = now;
    impl.calls_in_minute = 0;
  }
  const size_t calls = impl.calls_in_minute + plugin.arms.size();
  const size_t most = plugin.limits.max_calls_per_minute;
  if (impl.stopped || impl.places >= plugin.limits.max_concurrent_shadow ||
      (most > 0 && calls > most))
    return nullptr;
  impl.calls_in_minute = calls;
  ++impl.places;
  return {&impl, [held = impl_](const void*) {
            const std::lock_guard released(held->mutex);
            --held->places;
          }};
}

void Shadows::start(Dispatch dispatch) {
  Impl& impl = *impl_;
  const auto shared = std::make_shared<Dispatch>(std::move(dispatch));
  const std::lock_guard lock(impl.mutex);
  if (impl.stopped) return;
  if (!impl.thread.joinable()) {
    impl.readers.emplace(kReaders, kQueueMax, http::ThreadPool::Priority::kBackground);
    impl.comparers.emplace(kComparers, kQueueMax, http::ThreadPool::Priority::kBackground);
    impl.work.emplace(impl.loop.get_executor());
    impl.thread = std::thread([&impl] { impl.loop.run(); });
  }
  ++impl.under_way;
  http::asio::post(impl.loop, [&impl, shared] { impl.begin(shared); });
}

void Shadows::Impl::begin(const std::shared_ptr<Dispatch>& dispatch) {
  http::asio::co_spawn(loop, open(dispatch), [this](const std::exception_ptr& thrown) {
    if (thrown) log::error("shadow", "a shadow was not sent: an exception was thrown");
    ended();
  });
}

// Reads the client's answer before anything is sent for it.
http::Task<> Shadows::Impl::open(std::shared_ptr<Dispatch> dispatch) {
  Result<std::string> answer = fail(Code::kOverloaded, "too many shadows wait");
  std::function<void()> read = [&] {
    answer = read_answer(std::move(dispatch->reply), dispatch->plugin->limits.max_response_bytes);
  };
  co_await readers->run(std::move(read));
  std::vector<Call> calls = std::move(dispatch->calls);
  if (!answer) {
    const bool is_long = answer.error().code == Code::kTooLarge;
    for (const Call& each : calls)
      dispatch->leave_out(each.figures, is_long ? kTooLarge : kUnreadable);
    co_return;
  }
  const auto shared = std::make_shared<const std::string>(*std::move(answer));
  for (Call& each : calls) {
    const auto running = std::make_shared<Running>();
    running->dispatch = dispatch;
    running->call = std::move(each);
    running->answer = shared;
    {
      const std::lock_guard lock(mutex);
      ++under_way;
      if (stopped) running->interrupt.raise(Code::kCancelled);
    }
    http::asio::co_spawn(loop, run(running), [this](const std::exception_ptr& thrown) {
      if (thrown) log::error("shadow", "a shadow was given up: an exception was thrown");
      ended();
    });
  }
}

http::Task<> Shadows::Impl::run(std::shared_ptr<Running> running) {
  Call& of = running->call;
  observe::Shadow& figures = of.figures;
  interrupts.insert(&running->interrupt);
  figures.began = SteadyClock::now();
  Result<std::string> text = fail(Code::kInternal, "the shadow was not called");
  {
    http::Interrupt& interrupt = running->interrupt;
    http::Deadline limit(loop, [&interrupt] { interrupt.raise(Code::kDeadline); });
    limit.set(of.arm->timeout);
    text = co_await call(*running);
  }
  if (figures.ended < figures.began) figures.ended = SteadyClock::now();
  if (text) {
    running->text = *std::move(text);
    figures.has_answer = true;
    co_await compare(*running);
  } else if (text.error().code == Code::kOverloaded && figures.status == 0) {
    interrupts.erase(&running->interrupt);
    running->dispatch->leave_out(figures, kBusy);
    co_return;
  } else {
    figures.outcome = outcome_of(text.error());
    figures.error = code_name(text.error().code);
  }
  interrupts.erase(&running->interrupt);
  if (of.recorded_bytes > 0) figures.response = beginning_of(running->text, of.recorded_bytes);
  running->dispatch->publish(std::move(figures));
}

// Returns the text of the answer.
http::Task<Result<std::string>> Shadows::Impl::call(Running& running) {
  Call& of = running.call;
  const upstream::Call out{.target = of.target,
                           .headers = of.headers,
                           .added = of.added,
                           .request_id = of.request_id,
                           .body = of.body,
                           .interrupt = running.interrupt,
                           .traceparent = of.traceparent,
                           .drops_tracestate = of.drops_tracestate,
                           .needs_reply = true,
                           .gives_way = true};
  upstream::CallOutcome outcome = co_await running.dispatch->servers->call(*of.model, out);
  if (!outcome.answer) co_return tl::unexpected<Error>(std::move(outcome.answer).error());
  const std::unique_ptr<upstream::UpstreamReply> reply = *std::move(outcome.answer);
  of.figures.status = reply->head().status;
  const std::string refused = upstream::refused_key(*of.model, outcome.backend, of.figures.status);
  if (!refused.empty()) log::warn("shadow", "{}: {}", of.request_id, refused);
  const size_t bytes_max = reply_bytes_max(*running.dispatch->plugin);
  Result<std::string> body = co_await upstream::read_whole(*reply, bytes_max);
  of.figures.ended = SteadyClock::now();
  if (!body) co_return tl::unexpected<Error>(std::move(body).error());
  if (of.figures.status != kOk)
    co_return fail(Code::kUpstream, "its server answered {}", of.figures.status);
  Result<std::string> text = fail(Code::kOverloaded, "too many shadows wait");
  std::function<void()> read = [&] {
    read_usage(*body, *of.model, of.figures);
    if (of.from_server) body = of.from_server->whole(*std::move(body));
    text = body ? read_answer({*std::move(body), false, of.api},
                              running.dispatch->plugin->limits.max_response_bytes)
                : tl::unexpected<Error>(body.error());
    if (text) estimate_tokens(of, text->size(), of.figures);
  };
  co_await readers->run(std::move(read));
  co_return text;
}

http::Task<> Shadows::Impl::compare(Running& running) {
  Comparison found;
  std::stop_source given_up;
  const Dispatch& dispatch = *running.dispatch;
  const engine::Patience patience{SteadyClock::now() + running.call.arm->timeout,
                                  given_up.get_token()};
  std::function<void()> run_models = [&] {
    found = dispatch.comparer->compare(dispatch.plugin->comparison, *running.answer, running.text,
                                       patience);
  };
  co_await http::run_within(*comparers, running.interrupt, given_up, std::move(run_models));
  observe::Shadow& figures = running.call.figures;
  figures.similarity = found.similarity;
  figures.agrees = found.agrees;
  figures.contradicts = found.contradicts;
  figures.outcome = outcome_of(found);
  figures.error = found.error;
}

void Shadows::Impl::ended() {
  const std::lock_guard lock(mutex);
  --under_way;
  changed.notify_all();
}

void Shadows::drain(std::chrono::milliseconds limit) {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, limit, [this] { return impl_->under_way == 0; });
}

void Shadows::stop() {
  Impl& impl = *impl_;
  {
    std::unique_lock lock(impl.mutex);
    if (std::exchange(impl.stopped, true) || !impl.thread.joinable()) return;
    http::asio::post(impl.loop, [&impl] {
      for (http::Interrupt* each : impl.interrupts) each->raise(Code::kCancelled);
    });
    impl.changed.wait(lock, [&impl] { return impl.under_way == 0; });
  }
  impl.work.reset();
  impl.loop.stop();
  impl.thread.join();
  impl.readers.reset();
  impl.comparers.reset();
}

}  // namespace signalbox::shadow
