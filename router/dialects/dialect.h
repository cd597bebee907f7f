#pragma once
// An API that stands in front of chat completions: its request becomes the body of one, which is
// what decisions, plugins, masking and measuring know, and the reply to that becomes its own. Pure
// translation at the edge; no socket, no clock.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::dialects {

inline constexpr std::string_view kChatPath = "/v1/chat/completions";

/// Replies of one request, in one form and given on in another. One reply a translator: either
/// whole(), or push() as it comes and finish() at its end.
class ReplyTranslator {
 public:
  virtual ~ReplyTranslator() = default;

  /// The body of a reply with status 200. kUpstream for one that is not what it should be.
  virtual Result<std::string> whole(std::string body) = 0;
  /// The body of any other reply: an error that somebody else, or we, have written.
  virtual std::string refusal(int status, std::string_view body) const = 0;

  /// Server-sent events; appends what they make to `out`, as far as it is sure. Also before an
  /// error that is returned, kUpstream or kTooLarge, after which there is no more of the stream.
  virtual Result<void> push(std::string_view bytes, std::string& out) = 0;
  /// The stream has ended, properly as far as HTTP says. kUpstream where the reply is not whole.
  virtual Result<void> finish(std::string& out) = 0;
  /// What tells a client in the middle of a stream that there will be no more, as events: the error
  /// as a body in OpenAI's shape.
  virtual std::string broken(std::string_view error_body) = 0;
};

/// Who asks, and when: what a surface cannot make itself.
struct Asking {
  std::string_view id;     // of the request, printable ASCII; a client may have chosen it
  std::string_view token;  // letters and digits that nobody can guess, another one a request
  std::string_view owner;  // of what is stored for it; nobody else gets at that
  int64_t now = 0;         // seconds since 1970
};

/// A request read.
struct Incoming {
  std::string chat;  // the body of a chat completion request
  std::unique_ptr<ReplyTranslator> replies;
};

/// Immutable and thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// Errors: kInvalid with the path of what is wrong or cannot be said in a chat completion
  /// ("tools[1].type: ..."). Nothing is left out in silence.
  virtual Result<Incoming> read(std::string body, const Asking& asking) const = 0;
  /// The body for the server from the chat completion request with its edits.
  virtual Result<std::string> outgoing(std::string chat) const { return chat; }
  /// The path at the server.
  virtual std::string_view target() const { return kChatPath; }
  /// Its name in x-vsr-client-protocol; "": OpenAI's own.
  virtual std::string_view protocol() const { return {}; }
  /// Whether a server's replies are in this form already, so that only our own are translated.
  virtual bool passes_replies() const { return false; }
  /// An error's body as clients of this surface read it, from one in OpenAI's shape.
  virtual std::string refusal(int status, std::string_view body) const = 0;
};

}  // namespace signalbox::dialects
