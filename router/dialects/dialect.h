#pragma once
// An API that is translated to chat completions. Its request becomes a chat completion request, the
// only form that decisions, plugins, masking and metrics know. The reply is translated back. Pure
// translation: no socket, no clock.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "router/dialects/losses.h"

namespace signalbox::dialects {

inline constexpr std::string_view kChatPath = "/v1/chat/completions";

/// Translates the replies to one request. Use one translator for each reply, with either whole(),
/// or push() for each piece and finish() at the end.
class ReplyTranslator {
 public:
  virtual ~ReplyTranslator() = default;

  /// Translates the body of a reply with status 200. kUpstream for a malformed reply.
  virtual Result<std::string> whole(std::string body) = 0;
  /// Translates the body of any other reply: an error from the server or from the router.
  virtual std::string refusal(int status, std::string_view body) const = 0;

  /// Translates server-sent events and appends the final part of the result to `out`, even if it
  /// returns an error (kUpstream or kTooLarge). An error ends the stream.
  virtual Result<void> push(std::string_view bytes, std::string& out) = 0;
  /// Call it at the end of the stream as HTTP defines it. kUpstream if the reply is incomplete.
  virtual Result<void> finish(std::string& out) = 0;
  /// Returns the events that report an error in the middle of a stream and end it. `error_body` has
  /// OpenAI's format.
  virtual std::string broken(std::string_view error_body) = 0;
  /// The memory of the parts of the request that it keeps.
  virtual size_t memory_bytes() const { return 0; }
  /// Call it before the reply if nothing of the request and the reply may be stored.
  virtual void keep_nothing() {}
  /// True if publish() has something to give.
  virtual bool has_unpublished() const { return false; }
  /// Call it before the client gets the result of whole(), push() or finish(). It sends the stored
  /// response to the other routers, and calls `done` on any thread once they can read it. Returns
  /// how long to wait for `done`; nullopt if there is nothing to wait for.
  virtual std::optional<std::chrono::milliseconds> publish(std::function<void()> /*done*/) {
    return std::nullopt;
  }
};

/// The identity and time of a request, which a dialect needs but cannot create itself.
struct RequestContext {
  std::string_view id;        // of the request, printable ASCII; a client may have chosen it
  std::string_view token;     // unguessable letters and digits, unique for each request
  std::string_view owner;     // owner of stored state; no other owner can access it
  int64_t now = 0;            // seconds since 1970
  std::stop_token stop = {};  // requested when nobody waits for the answer any more
  /// Reserves `bytes` of memory for a part of stored state, which becomes a part of the request.
  /// Null: nothing is reserved. After an error the caller reads the request again later. So if
  /// make_room fails, read() must leave the body in place or return it as the source.
  std::function<Result<void>(size_t bytes)> make_room = nullptr;
};

/// A request and its reading as a chat completion. A server of the client's own API gets the
/// request itself, so whatever the reading leaves out is a loss only for other servers.
struct Incoming {
  std::string chat;  // the body of a chat completion request
  std::unique_ptr<ReplyTranslator> replies;
  Losses losses = {};
  /// The client's body; nullopt if `chat` has all of it, or also stored state that servers lack.
  std::optional<json::Document> source = std::nullopt;
  /// The client's wish for the model's reasoning, if it is more than a reasoning_effort.
  std::optional<bool> reasoning = std::nullopt;
};

/// The most memory that a translation takes at any moment, in times of the body: Dialect::read(),
/// the body included, and the two translations for servers, without it. Each part of the result is
/// there twice while it grows.
inline constexpr size_t kReadCopies = 7, kOutgoingCopies = 10;

/// Immutable and thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// Errors: kInvalid with the path of a member that is malformed ("tools[1].type: ..."). A member
  /// without an equivalent in a chat completion is one of the losses. Nothing is dropped silently.
  /// After an error, `body` is the client's body again.
  virtual Result<Incoming> read(std::string&& body, const RequestContext& context) const = 0;
  /// True if read() may wait for a server, so that it must not run on an event loop.
  virtual bool reads_slowly() const { return false; }
  /// The body for the server, from the chat completion request with its edits; "" if it is the
  /// same.
  virtual Result<std::string> outgoing(std::string_view /*chat*/) const { return std::string(); }
  /// The body for a server of chats, from the same request; "" if it is the same. It differs from
  /// outgoing() if servers of this dialect get another body. kInvalid if a parameter has no
  /// equivalent in a chat.
  virtual Result<std::string> as_chat(std::string_view /*chat*/) const { return std::string(); }
  /// The path at the server.
  virtual std::string_view target() const { return kChatPath; }
  /// The name in x-vsr-client-protocol; "" for OpenAI's own API.
  virtual std::string_view protocol() const { return {}; }
  /// True if the server's replies already have this format, so that only the router's own replies
  /// are translated.
  virtual bool passes_replies() const { return false; }
  /// Translates the body of an error in OpenAI's format to the format of this dialect.
  virtual std::string refusal(int status, std::string_view body) const = 0;
};

}  // namespace signalbox::dialects
