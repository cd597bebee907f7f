#pragma once
// The interface to a model's server: a real one, or the built-in echo server. The caller pulls the
// reply piece by piece, so the upstream sends no faster than the client reads.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "router/http/interrupt.h"
#include "router/http/io.h"
#include "router/http/message.h"

namespace signalbox::upstream {

/// How far a failed call had come. It decides whether the call may be repeated at another backend.
enum class Stage : uint8_t {
  kConnecting,  // no byte of the request was sent
  kSent,        // the server may have started on it, but sent no byte of a reply
  kAnswered,    // the reply had begun
};

/// One request; a GET has no body. Everything that it refers to must outlive the UpstreamReply.
struct Call {
  std::string_view target;       // "/v1/chat/completions", with the client's query
  const http::Headers& headers;  // the client's; the backend forwards the end-to-end fields
  const http::Headers& added;    // the configuration's; never fields that the router sets itself
  std::string_view request_id;
  std::string_view body;
  http::Interrupt& interrupt;
  // In the order in which the server reads it, one item per message
  std::span<const std::string_view> prompt = {};
  // The fields x-vsr-selected-* for an upstream that is itself a router; null: none
  const http::Headers* decided = nullptr;
  std::string_view method = "POST";
  Stage* stage = nullptr;  // set to the stage of the latest attempt; null: not recorded
  // Replaces the client's traceparent; "": the client's is forwarded.
  std::string_view traceparent = {};
  bool drops_tracestate = false;  // the client's tracestate belongs to another trace
  bool needs_reply = false;       // the reply must pass through us, because we inspect or change it
  bool repeatable = true;         // false: never sent again once the server may have it
  // It takes a worker only if one is free, makes one attempt, and does not count for the worker's
  // health.
  bool gives_way = false;
  bool limits_whole = false;  // reply_timeout limits the whole reply, not only until it begins
};

struct Piece {
  std::string_view bytes;  // bytes of the body as they came; empty only if last or nudged
  bool last = false;
};

/// A reply whose header has arrived. Destroying it early ends the call: the upstream sees its
/// connection close.
class UpstreamReply {
 public:
  virtual ~UpstreamReply() = default;
  virtual const http::Response& head() const = 0;
  /// True if next() will return without waiting.
  virtual bool ready() const = 0;
  /// Returns the next bytes of the body; the view is valid until the next call. Do not call it
  /// after the last piece. Errors: kUpstream (the upstream failed), kDeadline and kCancelled (the
  /// interrupt).
  virtual http::Task<Result<Piece>> next() = 0;
  /// Makes a waiting next() return soon, with an empty piece if no bytes have arrived. No byte is
  /// lost. A reply that cannot break its wait goes on waiting.
  virtual void nudge() {}
};

/// Immutable and thread-safe. A call stays on its caller's loop.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Sends the request and waits for the header of the reply. Errors: kUpstream (the server refused
  /// the connection or failed), kDeadline (connecting took too long, or the interrupt), kCancelled,
  /// kUnsupported. The message contains the backend's name, not its address.
  virtual http::Task<Result<std::unique_ptr<UpstreamReply>>> call(const Call& call) const = 0;
};

}  // namespace signalbox::upstream
