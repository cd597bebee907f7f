#pragma once
// The last stage: the record of one request, from its first line to its last byte. The other stages
// write down what happens; at the end the record is published as metrics, trace, log line and
// replay.

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "router/gateway/observer.h"
#include "router/http/headers.h"
#include "router/http/reply.h"
#include "router/replies/reply_guard.h"
#include "router/replies/reply_meter.h"

namespace signalbox::gateway {

/// Belongs to one request and is used on its loop's thread. All references outlive it. Publishes
/// the record in its destructor.
class RequestRecord {
 public:
  /// `path` names the API and is static.
  RequestRecord(const Observer& observer, const http::Request& request, const http::Reply& reply,
                std::string_view path);
  ~RequestRecord();
  RequestRecord(const RequestRecord&) = delete;
  RequestRecord& operator=(const RequestRecord&) = delete;

  const std::string& id() const { return account_.id; }

  /// Records the model that a request names which is refused before it has a plan.
  void named(std::string_view model);
  /// Records the signals that were evaluated. `why` is the reason if some were not; it is logged.
  void understood(const routing::Evaluation& evaluation, observe::Degraded degraded,
                  std::string_view why);
  /// Records the names of a plan, and decides whether the request is kept for replay.
  void planned(const routing::Plan& plan, const config::Decision* decision, bool stream);
  /// Records that the request ends in an error of ours. `detail` is logged, so it must not contain
  /// text of the client.
  void failed(const Error& error, std::string_view detail = {});

  /// The value of x-vsr-replay-id; "" if the request is not kept for replay.
  const std::string& replay_id() const { return account_.replay_id; }
  /// Adds tokens of a call whose reply reports none.
  void estimated(uint64_t tokens) { estimated_ += tokens; }
  /// Tokens that a model has read and written: from the usage in its reply, or estimated from bytes
  /// and events, also for a reply that was cut. 0 if no model has answered.
  uint64_t tokens_taken() const;
  observe::Degraded degraded() const { return account_.degraded; }

  /// Records who spends.
  void set_spender(std::string_view key, std::string_view user, std::string_view groups);
  /// Records that one of the router's own models answers.
  void answered_here();
  /// Records that the request is refused because it has no user.
  void refuse_nameless();
  /// Records that the client's key does not allow the request.
  void forbidden();
  /// Records that the request is refused, although its plan has a model for it.
  void refused();
  /// Records that a budget of the client is spent.
  void over_budget();
  /// Records that the request is refused by a rate limit.
  void limited();

  /// Records a look-up in the response cache that began at `began`.
  void cached(observe::CacheUse use, std::chrono::steady_clock::time_point began);
  /// Records a cached answer with the tokens that it once cost.
  void repeated(const replies::ReplyMeter::Times& times);
  /// Records that a stream that began early ended without an answer, and the status that its reply
  /// would have had otherwise; 0: the client has gone.
  void unanswered(int status) { status_ = status; }
  /// Records that the request goes to a model now.
  void sent(std::string_view body);
  /// Records which of the model's servers has answered; "": none, or only a proxy knows it.
  void answered_by(std::string backend) { account_.backend = std::move(backend); }
  /// Records why the reply of one of the server's backends is the operator's concern: it refuses
  /// the router's own key or its absence, which no client can repair.
  void received(const config::Model& server, std::string_view backend, int status);
  /// Records that one of several calls begins, for which sent() was just called. Returns its
  /// number.
  size_t call_began(const config::Model& model, std::string_view purpose);
  /// Records the end of that call. `error` is the name of an error code; "": none. Returns its
  /// cost.
  double call_ended(size_t call, int status, std::string_view error,
                    const std::optional<observe::Tokens>& tokens, replies::ReplyOrigin origin);
  /// Records the call whose reply the client gets, and the bound that ended the calls early, if
  /// any. For a reply that streams, measured() ends the call. nullopt: an earlier request has made
  /// the call.
  void looped(const config::Model& model, std::optional<size_t> call, bool streams,
              std::string_view used_up);
  /// The traceparent for the server. Precondition: sent() was called.
  std::string traceparent() const { return traceparent(account_.upstream_span); }
  /// The traceparent of another call, by its span.
  std::string traceparent(const std::array<uint8_t, 8>& span) const;
  /// True if the client's tracestate belongs to this trace.
  bool keeps_tracestate() const { return account_.trace.state_holds; }
  /// Records bytes of the reply as they come from the upstream.
  void passes(std::string_view bytes);
  /// Records the number of SSE events so far; 0 if the reply is not a stream.
  void answers(size_t events);
  /// Records the result of checking the reply so far. A later call replaces it. `whole`: the reply
  /// was checked before the client got any of it, even if its stream had begun.
  void guarded(const replies::ReplyOutcome& outcome, bool whole);
  /// The beginning of a shadow's figures: its names, and what the client's answer has cost.
  observe::Shadow begin_shadow(const std::string& arm, const config::Model& model) const;
  /// The account of a shadow alone, without its figures.
  observe::Account shadow_account() const;
  bool is_sampled() const { return sampled_; }
  /// The part of a reply that the replay record contains.
  size_t recorded_reply_bytes() const { return capture_.response_bytes; }
  /// True if the client did not get a good answer.
  bool has_failed() const { return withheld_ || !account_.error.empty() || reply_.broken(); }

  /// True if a check of the reply has found something, or could not look for attacks in all of it.
  bool is_doubtful() const;

  /// True if the client gets a refusal instead of the reply.
  bool withheld() const { return withheld_; }
  /// Records that the reply has arrived whole.
  void measured(const replies::ReplyMeter::Times& times);
  /// Records that the turn was stored as a memory.
  void remembered() { account_.remembered = true; }
  /// The client has its answer, and what follows takes none of the request's time.
  void ended() { account_.ended = std::chrono::steady_clock::now(); }

 private:
  void set_error();
  void set_spending();
  observe::Tokens estimate() const;
  void add_up_calls();
  double cost_on_default(const observe::Tokens& tokens) const;

  const Observer& observer_;
  const http::Request& request_;
  const http::Reply& reply_;
  observe::Account account_;
  bool sampled_ = false;
  bool withheld_ = false;
  std::optional<int> status_;  // nullopt: that of the reply
  bool draws_ = false;         // the answer is an image, whose bytes are not tokens
  const config::Model* model_ = nullptr;
  Observer::Capture capture_;
  bool answered_ = false;         // a model has answered
  std::optional<size_t> answer_;  // of several calls, the one that the client gets
  bool answer_streams_ = false;
  observe::TimePoint whole_at_{};  // when the reply had arrived whole
  uint64_t estimated_ = 0;         // tokens of calls whose replies report none
  uint64_t sent_bytes_ = 0, reply_bytes_ = 0, events_ = 0;
};

}  // namespace signalbox::gateway
