// Only one coroutine reads the upstream and writes to the client. A check that ends while it waits
// interrupts the wait (UpstreamReply::nudge), so that events are never written from two places.

#include "router/gateway/guarded_reply.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/ascii.h"
#include "router/gateway/relay.h"
#include "router/http/error_reply.h"
#include "router/upstream/decoded_reply.h"
#include "router/upstream/whole.h"

namespace signalbox::gateway {
namespace {

constexpr int kWithheldStatus = 403;  // clients do not repeat the request
constexpr std::string_view kWithheldCode = "response_blocked";

// A stream that pauses after an apparent end of a sentence for twice the usual gap between tokens
// has ended a sentence: the digit after "3." would have come by then.
constexpr double kPauseGaps = 2;
constexpr std::chrono::milliseconds kPauseMin{40};
constexpr std::chrono::milliseconds kPauseMax{1'000};
constexpr std::chrono::milliseconds kLookAgain{200};  // whether the client waits for the end
constexpr double kNewest = 0.2;                       // weight of the newest gap in the mean

bool is_compressed(const http::Headers& headers) {
  const auto encoding = headers.find("content-encoding");
  return encoding && !ascii::iequals(*encoding, "identity");
}

void add_if(http::Headers& headers, std::string_view name, std::string_view value) {
  if (!value.empty()) headers.add(name, value);
}

}  // namespace

GuardedReply::GuardedReply(std::unique_ptr<upstream::UpstreamReply> reply,
                           replies::WatchedReply watched, const GuardContext& context,
                           http::Executor executor)
    : reply_(std::move(reply)),
      rules_(watched.rules),
      check_(std::move(watched.check)),
      context_(context),
      executor_(executor),
      self_(std::make_shared<Self>(Self{this})),
      sends_trailers_(accepts_trailers(context.exchange.request.headers)),
      end_timer_(executor),
      pause_timer_(executor) {}

GuardedReply::~GuardedReply() {
  self_->reply = nullptr;
  gone_.request_stop();
  if (!stream_) return;
  std::string nobody;
  stream_->give_up(nobody);
  context_.record.guarded(stream_->outcome(), false);
}

http::Task<Result<std::unique_ptr<upstream::UpstreamReply>>> GuardedReply::wrap(
    std::unique_ptr<upstream::UpstreamReply> reply, replies::WatchedReply watched,
    const GuardContext& context) {
  using Wrapped = std::unique_ptr<upstream::UpstreamReply>;
  if (reply->head().status != 200) co_return Wrapped(std::move(reply));
  const replies::ReplyRules& rules = watched.rules;
  if (rules.jailbreak && rules.on_jailbreak == replies::ReplyAction::kEnd && rules.fails_closed) {
    auto read = upstream::check_encoding(reply->head().headers, "it cannot be checked");
    if (!read) co_return tl::unexpected<Error>(std::move(read).error());
  }
  const http::Executor executor = co_await http::asio::this_coro::executor;
  std::unique_ptr<GuardedReply> out(
      new GuardedReply(std::move(reply), std::move(watched), context, executor));
  const http::Response& head = out->reply_->head();
  out->head_.status = head.status;
  out->head_.headers = head.headers;
  if (is_event_stream(head.headers)) {
    out->stream_.emplace(out->rules_, context.api);
    add_if(context.headers, kWarnings, replies::early_warnings(out->rules_));
    if (out->sends_trailers_)
      context.headers.add("Trailer", fmt::format("{}, {}", kWarnings, kUnchecked));
    co_return Wrapped(std::move(out));
  }
  Result<void> read = co_await out->read_whole();
  if (!read) co_return tl::unexpected<Error>(std::move(read).error());
  co_return Wrapped(std::move(out));
}

http::Task<Result<void>> GuardedReply::read_whole() {
  Result<std::string> read = co_await upstream::read_whole(*reply_, kBodyBytesMax);
  if (!read) co_return tl::unexpected<Error>(std::move(read).error());
  std::string body = *std::move(read);
  reply_.reset();
  auto reply =
      is_compressed(head_.headers) ? std::nullopt : replies::WholeReply::read(body, context_.api);
  if (!reply) {
    answer_with(replies::unread(rules_, std::move(body)));
    co_return Result<void>{};
  }
  std::vector<replies::ReplyWindow> windows = reply->windows();
  std::optional<replies::ReplyVerdict> verdict = replies::ReplyVerdict{};
  if ((rules_.grounding || rules_.jailbreak) && !windows.empty()) {
    auto found = co_await checked(std::move(windows));
    verdict = std::move(found);
  }
  if (context_.exchange.interrupt.raised())
    co_return tl::unexpected<Error>(context_.exchange.interrupt.error());
  answer_with(reply->judged(rules_, verdict ? &*verdict : nullptr));
  co_return Result<void>{};
}

// Returns nullopt if the check took too long or the pool had no room.
http::Task<std::optional<replies::ReplyVerdict>> GuardedReply::checked(
    std::vector<replies::ReplyWindow> windows) {
  struct Pending {
    explicit Pending(const http::Executor& executor) : timer(executor) {}
    http::Timer timer;
    std::optional<replies::ReplyVerdict> verdict;
  };
  const auto pending = std::make_shared<Pending>(executor_);
  const engine::Patience patience{http::Clock::now() + context_.whole_wait, gone_.get_token()};
  pending->timer.expires_at(patience.deadline);
  auto work = [check = check_, windows = std::move(windows), patience, pending,
               executor = executor_] {
    auto verdict = check->check(windows, patience);
    http::asio::post(executor, [pending, verdict = std::move(verdict)]() mutable {
      pending->verdict = std::move(verdict);
      pending->timer.cancel();
    });
  };
  if (!context_.pool.submit(std::move(work), context_.share)) co_return std::nullopt;
  std::function<void()> leave = [pending] { pending->timer.cancel(); };
  const http::Interrupt::Scope scope(context_.exchange.interrupt, std::move(leave));
  if (!context_.exchange.interrupt.raised()) co_await pending->timer.async_wait(http::kAwait);
  co_return std::move(pending->verdict);
}

void GuardedReply::answer_with(replies::GuardedBody body) {
  out_ = std::move(body.body);
  if (!body.refusal.empty()) {
    out_ = http::error_body(kWithheldStatus, body.refusal, kWithheldCode);
    if (context_.refusals != nullptr) out_ = context_.refusals->refusal(kWithheldStatus, out_);
    head_ = {};
    head_.status = kWithheldStatus;
    head_.headers.add("Content-Type", "application/json");
  }
  report(kWarnings, body.warnings);
  report(kUnchecked, body.unchecked);
  head_.content_length = out_.size();
  context_.record.guarded(body.outcome, true);
}

// The header of a stream that began before its answer is gone.
void GuardedReply::report(std::string_view name, const std::string& names) {
  if (names.empty()) return;
  http::Reply& client = context_.exchange.reply;
  if (!client.started())
    context_.headers.add(name, names);
  else if (sends_trailers_)
    client.add_trailer(name, names);
}

void GuardedReply::start_check() {
  std::vector<replies::ReplyWindow> windows = stream_->take_work();
  if (windows.empty()) return;
  if (running_) return stream_->failed(ready_);
  auto work = [check = check_, windows = std::move(windows), stop = gone_.get_token(), self = self_,
               number = ++checks_, executor = executor_] {
    auto verdict = check->check(windows, {http::Clock::time_point::max(), stop});
    http::asio::post(executor, [self, number, verdict = std::move(verdict)] {
      if (self->reply != nullptr) self->reply->take(verdict, number);
    });
  };
  running_ = context_.pool.submit(std::move(work), context_.share);
  if (!running_) stream_->failed(ready_);
}

// A check that was given up is ignored when it ends.
void GuardedReply::take(const replies::ReplyVerdict& verdict, uint64_t check) {
  running_ = false;
  if (check != checks_) return;
  stream_->done(verdict, ready_);
  start_check();
  if (!stream_->is_busy()) end_by_.reset();
  wake();
}

void GuardedReply::give_up() {
  ++checks_;
  end_by_.reset();
  stream_->give_up(ready_);
}

// A stream carries in trailers what a whole reply carries in its header.
void GuardedReply::add_trailers() {
  if (!sends_trailers_) return;
  const replies::ReplyOutcome outcome = stream_->outcome();
  const auto names_of = [&](replies::ReplyState state) {
    const bool grounding =
        outcome.grounding == state && rules_.on_hallucination != replies::ReplyAction::kNone;
    const bool jailbreak =
        outcome.jailbreak == state && rules_.on_jailbreak != replies::ReplyAction::kNone;
    return fmt::format("{}{}{}", grounding ? replies::kHallucination : "",
                       grounding && jailbreak ? "," : "",
                       jailbreak ? replies::kResponseJailbreak : "");
  };
  const auto add = [&](std::string_view name, const std::string& names) {
    if (!names.empty()) context_.exchange.reply.add_trailer(name, names);
  };
  add(kWarnings, names_of(replies::ReplyState::kFound));
  add(kUnchecked, names_of(replies::ReplyState::kUnchecked));
}

void GuardedReply::wake() {
  if (upstream_over_) end_timer_.cancel();
  if (waits_ && !ready_.empty()) reply_->nudge();
}

// Runs after each piece: sets when the end stops waiting for checks, and when silence counts as the
// end of a sentence.
void GuardedReply::check_deadlines() {
  const auto now = http::Clock::now();
  if (came_) gap_ = (1 - kNewest) * gap_ + kNewest * (now - *came_);
  came_ = now;
  if (std::exchange(pause_set_, false)) pause_timer_.cancel();
  if (!end_by_ && stream_->is_busy() && (stream_->holds() || upstream_over_)) {
    end_by_ = now + context_.end_wait;
    end_timer_.expires_at(*end_by_);
    end_timer_.async_wait([self = self_](const http::ErrorCode& error) {
      if (error || self->reply == nullptr || !self->reply->end_by_) return;
      self->reply->give_up();
      self->reply->wake();
    });
  }
  if (upstream_over_ || !stream_->pauses()) return;
  const auto pause =
      std::clamp<std::chrono::duration<double>>(kPauseGaps * gap_, kPauseMin, kPauseMax);
  pause_set_ = true;
  pause_timer_.expires_after(std::chrono::duration_cast<http::Clock::duration>(pause));
  pause_timer_.async_wait([self = self_](const http::ErrorCode& error) {
    if (error || self->reply == nullptr) return;
    self->reply->stream_->pause();
    self->reply->start_check();
    self->reply->wake();
  });
}

// Wakes up from time to time to look at the interrupt, which another part of the request may be
// using.
http::Task<> GuardedReply::sleep() {
  const auto now = http::Clock::now();
  if (!end_by_) end_by_ = now + context_.end_wait;
  if (now >= *end_by_ || context_.exchange.interrupt.raised()) {
    give_up();
    co_return;
  }
  end_timer_.expires_at(std::min(*end_by_, now + kLookAgain));
  co_await end_timer_.async_wait(http::kAwait);
}

void GuardedReply::nudge() {
  nudged_ = true;
  if (waits_)
    reply_->nudge();
  else if (upstream_over_)
    end_timer_.cancel();
}

http::Task<Result<upstream::Piece>> GuardedReply::next() {
  nudged_ = false;
  if (!stream_) co_return upstream::Piece{out_, true};
  for (;;) {
    const bool last = stream_->ended() || (upstream_over_ && !stream_->is_busy());
    if (last || !ready_.empty()) {
      out_ = std::exchange(ready_, {});
      if (last) {
        reply_.reset();
        add_trailers();
      }
      co_return upstream::Piece{out_, last};
    }
    if (error_) co_return tl::unexpected<Error>(*std::move(error_));
    if (upstream_over_) {
      co_await sleep();
      if (nudged_ && ready_.empty() && stream_->is_busy()) co_return upstream::Piece{};
      continue;
    }
    waits_ = true;
    Result<upstream::Piece> piece = co_await reply_->next();
    waits_ = false;
    if (!piece) {
      give_up();
      if (ready_.empty()) co_return piece;
      error_ = std::move(piece).error();
      continue;
    }
    if (piece->bytes.empty() && !piece->last) {
      if (nudged_ && ready_.empty()) co_return piece;
      continue;
    }
    stream_->push(piece->bytes, ready_);
    if (piece->last) {
      upstream_over_ = true;
      stream_->finish(ready_);
    }
    start_check();
    check_deadlines();
  }
}

}  // namespace signalbox::gateway
