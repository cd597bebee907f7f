#pragma once
// One HTTP request and its response as Envoy tells of them, handled as if they had come over HTTP:
// the same handlers answer, on an http::Reply whose writes become mutations of what Envoy holds,
// and where they call a model's server, Envoy does, and what it brings back is the server's answer.
// So decisions, plugins, masks, metrics, logs and traces are those of the HTTP listeners.
//
// Knows nothing of gRPC: bytes of messages come and go.

#include <atomic>
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

/// Of a response, ours or as Envoy brings it, that is one message: what is read whole may be so
/// long.
inline constexpr size_t kReplyBytesMax = size_t{1} << 26;

/// What answers a request.
struct SessionHost {
  http::Handler handler;
  const upstream::Destinations* destinations = nullptr;
  bool clears_route = false;              // global.router.clear_route_cache
  std::shared_ptr<const void> held = {};  // that the others refer to
};
/// Where a request with this method and target is answered; calls of models go to `caller`, which
/// outlives the handler.
using FindDesk =
    std::function<SessionHost(const http::Request& request, const upstream::ModelCaller& caller)>;

/// What sessions share; outlives them.
struct Site {
  config::HttpLimits limits;
  std::chrono::milliseconds timeout{};  // of a whole request, reply included
  http::ErrorBody error_body;
  FindDesk find;
  std::atomic<uint64_t> body_bytes{0};  // of requests that are read or answered
};

/// How a stream ends, as gRPC has it.
enum class Ending : uint8_t {
  kDone,
  kInvalid,     // what came was no message, or came out of turn
  kUnprepared,  // Envoy is configured in a way that cannot work
  kLate,
  kAborted,  // the response stays without its end
};

/// The other end. Called on the session's loop, from inside receive() too.
class Channel {
 public:
  virtual ~Channel() = default;
  /// One more message is wanted: receive() or closed() is called once for it.
  virtual void read() = 0;
  virtual void send(std::string message) = 0;
  /// What was sent goes out first. Nothing is called afterwards. `why` holds nothing of a client's.
  virtual void finish(Ending ending, std::string why) = 0;
};

/// Belongs to its loop's thread. Kept by its coroutine until that has ended, which calls
/// Channel::finish(), and by whoever tells it of messages.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `channel` lives until its finish().
  Session(Site& site, http::asio::io_context& loop, Channel& channel);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Once, first.
  static void start(const std::shared_ptr<Session>& self);
  void receive(std::string_view message);
  /// No more messages: Envoy is done, or has gone (`cancelled`). May come more than once.
  void closed(bool cancelled);

 private:
  class Gate;
  class Reply;
  class EnvoyReply;
  enum class Phase : uint8_t { kReading, kHandling, kGrace };

  static http::Task<> run(std::shared_ptr<Session> self);
  http::Task<bool> receive_request();
  http::Task<> handle();
  http::Task<> see_off();
  http::Task<std::optional<Message>> take();
  http::Task<> hear_of_cancel();
  http::Task<upstream::CallOutcome> forward(const config::Model& model, const upstream::Call& call);

  bool begin(Message& head);
  bool add(Message& message);
  bool hold(size_t bytes);
  void let_go();
  void answer(Verdict verdict);
  void reply(int status, const http::Headers& fields, std::string_view body);
  void refuse(int status, std::string_view message);
  http::Headers passing() const;
  Mutation stripping() const;
  Mutation request_mutation(const config::Model& model, const upstream::Call& call) const;
  void settle(bool last);
  void settle_duplex(bool last);
  void stream(Part part, std::string_view body, bool ends);
  Verdict told_header(Part part, bool last) const;
  bool awaits_body() const;
  Error unseen();
  Error gone() const;
  void end(Ending ending, std::string why);
  void enter(Phase phase, std::chrono::milliseconds limit);
  void on_deadline();
  void wake();

  Site& site_;
  Channel& channel_;
  http::asio::io_context& loop_;
  http::Timer signal_;  // cancelled when something has come
  http::Deadline deadline_;
  Phase phase_ = Phase::kReading;
  http::Interrupt interrupt_;

  // What has come.
  std::optional<Message> inbox_;
  bool over_ = false;       // nothing more will come
  bool cancelled_ = false;  // and Envoy did not say so
  Ending ending_ = Ending::kDone;
  std::string why_;

  // The request.
  bool duplex_request_ = false;  // its body is FULL_DUPLEX_STREAMED
  bool duplex_response_ = false;
  bool raw_ = true;  // Mutation::raw, as Envoy's first message has it
  // As Envoy has announced them. BUFFERED: the body is one message, which says `last` only where no
  // trailers follow.
  std::optional<BodyMode> request_mode_, response_mode_;
  bool one_response_body_ = false;  // BUFFERED, and we have asked for nothing else
  bool has_request_body_ = false;
  bool has_request_trailers_ = false;
  http::Request request_;
  uint64_t held_ = 0;  // of Site::body_bytes
  SessionHost desk_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Reply> reply_;
  std::optional<Part> owed_;  // what Envoy waits for an answer to
  bool answered_ = false;     // in a server's stead: Envoy asks nothing more
  bool is_refused_ = false;   // by Envoy, whose response passes

  // The response, once the request has gone on.
  bool forwarded_ = false;
  bool needs_reply_ = false;  // upstream::Call
  http::Response head_;       // as Envoy has it
  std::string piece_;         // of the body, that is owed
  bool whole_ = false;        // all of the body has come
  bool has_body_ = false;
  bool told_ = false;  // what the header becomes
  std::string out_;    // in place of the piece
};

}  // namespace signalbox::extproc
