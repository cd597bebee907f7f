#pragma once
// Where a plan's request goes: a server behind us, or the built-in one. The reply is pulled piece
// by piece, so that the pace of the client is the pace of the upstream.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "router/http/interrupt.h"
#include "router/http/io.h"
#include "router/http/message.h"

namespace signalbox::upstream {

/// How far a call has come that then failed: what tells whether it may be made again elsewhere.
enum class Stage : uint8_t {
  kConnecting,  // nothing of it was sent
  kSent,        // it may have been worked on; no byte of a reply came
  kAnswered,    // a reply had begun
};

/// One POST, or a GET without a body. Everything it refers to lives until the UpstreamReply is
/// gone.
struct Call {
  std::string_view target;       // "/v1/chat/completions", with the client's query
  const http::Headers& headers;  // the client's; the backend passes on what is meant for it
  const http::Headers& added;    // the configuration's; names that are not the router's own
  std::string_view request_id;
  std::string_view body;  // JSON
  http::Interrupt& interrupt;
  std::span<const std::string_view> prompt = {};  // what a server reads first, message by message
  const http::Headers* decided =
      nullptr;  // x-vsr-selected-*, for a router behind us; none: nothing
  std::string_view method = "POST";
  Stage* stage = nullptr;  // where it is written, if somewhere
  // Takes the place of the client's; "": the client's passes.
  std::string_view traceparent = {};
  bool drops_tracestate = false;  // the client's belongs to no trace
  bool needs_reply = false;       // it is looked at or changed: none may reach the client beside us
};

struct Piece {
  std::string_view bytes;  // of the body, as they came; may be empty only when last or nudged
  bool last = false;
};

/// A reply whose header has arrived. Destroying it early ends the call: the upstream sees its
/// connection close.
class UpstreamReply {
 public:
  virtual ~UpstreamReply() = default;
  virtual const http::Response& head() const = 0;
  /// Whether next() will answer without waiting.
  virtual bool ready() const = 0;
  /// The next bytes of the body; the view lives until the next call. Not to be called after the
  /// last. Errors: kUpstream (it died), kDeadline and kCancelled (the interrupt).
  virtual http::Task<Result<Piece>> next() = 0;
  /// While next() waits: it comes back soon, with an empty piece if there is nothing, and nothing
  /// is lost by it. One that cannot break its wait goes on waiting.
  virtual void nudge() {}
};

/// Immutable and thread-safe; a call stays on its caller's loop.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Sends the request and waits for the header of the reply. Errors: kUpstream (refused, died),
  /// kDeadline (connecting took too long, or the interrupt), kCancelled, kUnsupported; the message
  /// names the backend, not its address.
  virtual http::Task<Result<std::unique_ptr<UpstreamReply>>> call(const Call& call) const = 0;
};

}  // namespace signalbox::upstream
