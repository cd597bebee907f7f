#pragma once
// A chat completion, whole or as chunks, as far as other APIs can say it: its first choice.

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "router/dialects/dialect.h"
#include "router/dialects/events.h"

namespace signalbox::dialects {

/// Tokens. Absent ones count as none.
struct ChatUsage {
  int64_t prompt = 0;  // the cached ones among them
  int64_t completion = 0;
  int64_t cached = 0;
  int64_t reasoning = 0;  // among those of the completion
};

/// What a reply or a chunk says. Views into its document; "" is nothing.
struct ChatPiece {
  struct Call {
    int64_t index = 0;
    std::string_view id, name, arguments;
  };
  std::string_view id, model;
  int64_t created = 0;
  std::string_view text, reasoning, refusal;
  std::vector<Call> calls;
  std::string_view finish_reason;
  std::string_view stop_sequence;  // that was hit, from servers that say so
  std::optional<ChatUsage> usage;
};

/// `member` is "message" of a whole reply, "delta" of a chunk, which may have no choice. kUpstream
/// with the path of what is wrong; the message holds nothing that a model has said.
Result<ChatPiece> read_chat(const json::Value& root, std::string_view member);

/// The whole of a reply. kUpstream, too, when it is no JSON.
Result<json::Document> parse_chat(std::string body);

/// The message of an error's body: of `error`, `message` or `detail`, else "HTTP 503".
struct Refused {
  std::string message;
  std::string code;  // "": none
};
Refused read_refusal(int status, std::string_view body);

/// Chunks of a chat completion, read event by event. A server's own error in the stream is passed
/// on by broken(), and nothing after it.
class ChatStream : public ReplyTranslator {
 public:
  Result<void> push(std::string_view bytes, std::string& out) final;
  Result<void> finish(std::string& out) final;

 protected:
  virtual Result<void> chunk(const ChatPiece& piece, std::string& out) = 0;
  /// The reply is whole: a reason was given why it ends.
  virtual Result<void> end(std::string& out) = 0;

 private:
  Result<void> event(std::string_view data, std::string& out);
  Result<void> conclude(std::string& out);

  EventReader reader_;
  bool has_reason_ = false;
  bool done_ = false;
};

}  // namespace signalbox::dialects
