#pragma once
// One HTTP request and its response, received from Envoy and handled as if they had come over HTTP.
// The same handlers run. They write to an http::Reply that turns their writes into changes of
// the message that Envoy holds. They call a model's server through Envoy, which makes the call and
// brings back the server's response. So decisions, plugins, masks, metrics, logs and traces are the
// same as for the HTTP listeners. If an answer takes several calls, or an image server, the router
// makes the calls itself, and the answer takes the place of a server's response.
//
// It does not depend on gRPC: messages are byte strings.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "router/config/config.h"
#include "router/extproc/messages.h"
#include "router/http/deadline.h"
#include "router/http/server.h"
#include "router/upstream/destinations.h"
#include "router/upstream/model_caller.h"

namespace signalbox::extproc {

/// The longest response that fits into one message, whether it is ours or Envoy's, and therefore
/// the longest one that is read whole.
inline constexpr size_t kReplyBytesMax = size_t{1} << 26;

/// The handler of a request, and what it needs.
struct SessionHost {
  http::Handler handler;
  const upstream::Destinations* destinations = nullptr;
  const upstream::ModelCaller* direct = nullptr;  // makes calls without Envoy
  bool clears_route = false;                      // global.router.clear_route_cache
  std::shared_ptr<const void> held = {};  // keeps the objects that the other members refer to alive
};
/// Finds the host for a request's method and target. The handler's calls of models go to `caller`,
/// which must outlive the handler.
using FindHost =
    std::function<SessionHost(const http::Request& request, const upstream::ModelCaller& caller)>;

/// State that all sessions share. It outlives them.
struct Site {
  config::HttpLimits limits;
  std::chrono::milliseconds timeout{};  // for a whole request, including its reply
  http::ErrorBody error_body;
  FindHost find;
  http::MemoryBound memory{limits.bodies_bytes_max};  // of the sessions' requests and replies
};

/// How a stream ends; the server maps this to a gRPC status.
enum class Ending : uint8_t {
  kDone,
  kInvalid,     // Envoy sent no valid message, or one out of order
  kUnprepared,  // Envoy's configuration cannot work
  kLate,
  kAborted,  // the response has no end
};

/// The stream to Envoy. Its functions are called on the session's loop, sometimes from inside
/// receive().
class Channel {
 public:
  virtual ~Channel() = default;
  /// Requests one more message: receive() or closed() is then called once.
  virtual void read() = 0;
  virtual void send(std::string message) = 0;
  /// Sends everything that is queued and ends the stream. No call follows. `why` contains no text
  /// of a client.
  virtual void finish(Ending ending, std::string why) = 0;
};

/// Belongs to its loop's thread. Its coroutine keeps it alive until it has ended and called
/// Channel::finish(). The caller that delivers messages keeps it alive, too.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `channel` must live until its finish().
  Session(Site& site, http::asio::io_context& loop, Channel& channel);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Call it once, before anything else.
  static void start(const std::shared_ptr<Session>& self);
  void receive(std::string_view message);
  /// Reports that no more messages will come: Envoy has finished, or has gone (`cancelled`). It may
  /// be called more than once.
  void closed(bool cancelled);

 private:
  class EnvoyCaller;
  class DirectCaller;
  class Reply;
  class EnvoyReply;
  enum class Phase : uint8_t { kReading, kHandling, kGrace };

  static http::Task<> run(std::shared_ptr<Session> self);
  http::Task<bool> receive_request();
  http::Task<> handle();
  http::Task<> finish_stream();
  http::Task<std::optional<Message>> take();
  http::Task<> wait_for_cancel();
  http::Task<upstream::CallOutcome> forward(const config::Model& model, const upstream::Call& call);
  void request_time();

  bool begin(Message& head);
  http::Task<bool> add(Message& message);
  http::Task<bool> reserve(size_t piece);
  void release_body();
  void answer(Continuation continuation);
  void reply(int status, const http::Headers& fields, std::string_view body);
  void refuse(int status, std::string_view message);
  http::Headers client_fields() const;
  Mutation strip_request() const;
  Mutation request_mutation(const config::Model& model, const upstream::Call& call) const;
  void answer_pending(bool last);
  void answer_duplex(bool last);
  void stream(Part part, std::string_view body, bool ends);
  Continuation reply_header(Part part, bool last) const;
  bool awaits_body() const;
  Error report_missing_body();
  Error cancellation() const;
  void end(Ending ending, std::string why);
  void enter(Phase phase, std::chrono::milliseconds limit);
  void on_deadline();
  void wake();

  Site& site_;
  Channel& channel_;
  http::asio::io_context& loop_;
  http::Timer signal_;  // cancelled when a message or the end has come
  http::Deadline deadline_;
  Phase phase_ = Phase::kReading;
  http::Interrupt interrupt_;

  // Messages from Envoy.
  std::optional<Message> inbox_;
  bool over_ = false;       // no more messages will come
  bool cancelled_ = false;  // the stream was cancelled
  Ending ending_ = Ending::kDone;
  std::string why_;

  // The request.
  bool duplex_request_ = false;  // its body is FULL_DUPLEX_STREAMED
  bool duplex_response_ = false;
  bool sends_raw_ = true;  // Mutation::raw, as in Envoy's first message
  // The modes that Envoy announced. With BUFFERED the body is one message, which sets `last` only
  // if no trailers follow.
  std::optional<BodyMode> request_mode_, response_mode_;
  bool one_response_body_ = false;  // BUFFERED, and we did not override it
  bool has_request_body_ = false;
  bool has_request_trailers_ = false;
  http::Request request_;
  http::Headers held_;  // the client's header as Envoy holds it; handlers may change the request's
  std::shared_ptr<http::Timer> room_;  // while the body waits for memory
  http::MemoryShare reply_memory_;     // of a reply that is made here
  SessionHost host_;
  std::unique_ptr<EnvoyCaller> caller_;
  std::unique_ptr<Reply> reply_;
  std::optional<Part> pending_;  // the part to which Envoy waits for an answer
  bool has_time_ = false;        // Envoy was requested to wait longer for that answer
  bool answered_ = false;        // a reply took a server's place: Envoy expects nothing more
  bool is_refused_ = false;      // refused by Envoy, whose response passes unchanged

  // The response, after the request was forwarded.
  bool forwarded_ = false;
  bool needs_reply_ = false;  // copied from upstream::Call
  http::Response head_;       // the header that Envoy has
  std::string piece_;         // the pending piece of the body
  bool whole_ = false;        // the whole body has come
  bool has_body_ = false;
  bool header_sent_ = false;  // the new header was sent
  std::string out_;           // replaces the piece
};

}  // namespace signalbox::extproc
