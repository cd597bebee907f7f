#pragma once
// One request as it is seen from outside, from its first line to its last byte: whoever handles it
// says what happens, and at the end everybody is told.

#include <optional>
#include <string>
#include <string_view>

#include "router/gateway/observer.h"
#include "router/http/headers.h"
#include "router/http/reply.h"
#include "router/replies/reply_guard.h"
#include "router/replies/reply_meter.h"

namespace signalbox::gateway {

/// Belongs to one request on its loop's thread. What it refers to outlives it. Tells when it is
/// destroyed.
class RequestRecord {
 public:
  /// `path` of the API, static.
  RequestRecord(const Observer& observer, const http::Headers& headers, const http::Reply& reply,
                std::string_view path);
  ~RequestRecord();
  RequestRecord(const RequestRecord&) = delete;
  RequestRecord& operator=(const RequestRecord&) = delete;

  const std::string& id() const { return account_.id; }

  /// The signals have been read, as far as they were; `why` not further is logged.
  void understood(const routing::Evaluation& evaluation, observe::Degraded degraded,
                  std::string_view why);
  /// Takes a plan's names, and decides whether the request is recorded.
  void planned(const routing::Plan& plan, const config::Decision* decision, bool stream);
  /// The request ends in an error of ours. `detail` is logged: never what a client wrote.
  void failed(const Error& error, std::string_view detail = {});

  /// x-vsr-replay-id; "": it is not recorded.
  const std::string& replay_id() const { return account_.replay_id; }
  /// Tokens that a model has read and written: as its reply says, else about as many, by bytes and
  /// events, also of a reply that was left. 0: no model has answered.
  uint64_t tokens_taken() const;
  observe::Degraded degraded() const { return account_.degraded; }

  /// It is refused, since nobody is named who asks.
  void nameless();
  /// It is refused, since its user has asked too often.
  void limited();

  /// The response cache has been looked at since `began`.
  void cached(observe::CacheUse use, std::chrono::steady_clock::time_point began);
  /// The answer is one that was given before, which says this of its tokens.
  void repeated(const replies::ReplyMeter::Times& times);
  /// It goes to a model now.
  void sent(std::string_view body);
  /// What the server is told of the trace, once sent().
  std::string traceparent() const;
  /// Whether the client's tracestate goes with it.
  bool keeps_tracestate() const { return account_.trace.state_holds; }
  /// Bytes of the reply, as they come from upstream.
  void passes(std::string_view bytes);
  /// A model has answered so far with as many events; 0: its reply is none of events.
  void answers(size_t events);
  /// The reply was watched, as far as it came. May be told again.
  void guarded(const replies::ReplyOutcome& outcome);
  /// The client gets a refusal in its place.
  bool withheld() const { return withheld_; }
  /// The reply has come whole.
  void measured(const replies::ReplyMeter::Times& times);

 private:
  void set_error();
  double cost_on_default(const observe::Tokens& tokens) const;

  const Observer& observer_;
  const http::Reply& reply_;
  observe::Account account_;
  bool sampled_ = false;
  bool withheld_ = false;
  const config::Model* model_ = nullptr;
  Observer::Capture capture_;
  bool answered_ = false;  // by a model
  uint64_t sent_bytes_ = 0, reply_bytes_ = 0, events_ = 0;
};

}  // namespace signalbox::gateway
