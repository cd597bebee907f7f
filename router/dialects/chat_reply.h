#pragma once
// Reads the part of a chat completion, whole or in chunks, that other APIs can express: its first
// choice.

#include <forward_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "router/dialects/call_numbers.h"
#include "router/dialects/dialect.h"
#include "router/dialects/events.h"

namespace signalbox::dialects {

/// OpenAI's code for a request that is longer than the model can read. Agents shorten such a
/// conversation.
inline constexpr std::string_view kTooLongCode = "context_length_exceeded";

/// Numbers of tokens; absent ones are 0.
struct ChatUsage {
  int64_t prompt = 0;  // includes the cached ones
  int64_t completion = 0;
  int64_t cached = 0;
  int64_t reasoning = 0;  // part of `completion`
};

/// The content of a reply or a chunk. Views refer to its document or to `joined`; "" means absent.
struct ChatPiece {
  struct Call {
    int64_t index = 0;  // its number in the reply; from read_chat() of a chunk, the server's index
    std::string_view id, name, arguments;
    std::string_view signature = {};  // of Gemini's models
  };
  std::string_view id, model;
  int64_t created = 0;
  std::string_view text, reasoning, refusal;
  std::vector<Call> calls;
  std::string_view finish_reason;
  std::string_view stop_sequence;  // the matched stop sequence, if the server reports it
  std::optional<ChatUsage> usage;
  /// Texts that came in parts, or were held. Views refer to them, so they do not move.
  std::forward_list<std::string> joined;

  /// True for a chunk about the request alone: Azure reports first what its filter found in the
  /// prompt.
  bool is_blank() const {
    return model.empty() && text.empty() && reasoning.empty() && refusal.empty() && calls.empty() &&
           finish_reason.empty() && !usage;
  }
};

/// `member` is "message" for a whole reply and "delta" for a chunk, which may have no choice.
/// kUpstream with the path of the error; the message never contains the model's text.
Result<ChatPiece> read_chat(const json::Value& root, std::string_view member);

/// Parses a whole reply. kUpstream also if it is not JSON.
Result<json::Document> parse_chat(std::string body);

/// An error of a server. Servers have many forms of one, and some answer with a plain text.
struct Refused {
  int status = 500;
  std::string message;
  std::string code = {};  // "": none

  /// True if the request is longer than the model can read. Agents shorten it if they learn that.
  bool is_too_long() const;
  /// The same by the code alone, for the router's own errors, whose messages may have the words of
  /// servers for another reason.
  bool has_code_of_too_long() const;
  /// The code for OpenAI's clients; "": none.
  std::string_view openai_code() const;
};
/// The message names the status if the body has none. A status in the body, which errors within a
/// stream have, replaces `status`.
Refused read_refusal(int status, std::string_view body);

/// The error in OpenAI's form. A body that has this form stays as it is.
std::string openai_error(int status, std::string_view body);

/// kUpstream if a reply with status 200 is an error.
Result<void> refuse_error(const json::Value& root);

/// Reads the chunks of a chat completion event by event. A server's error inside the stream is
/// translated by broken(), and nothing follows it. The pieces of a call follow each other without
/// pieces of another call and without texts: those of a later call, and a text, wait until the
/// arguments of the earlier calls are complete, or the reply is.
class ChatStream : public ReplyTranslator {
 public:
  Result<void> push(std::string_view bytes, std::string& out) final;
  Result<void> finish(std::string& out) final;

 protected:
  virtual Result<void> chunk(const ChatPiece& piece, std::string& out) = 0;
  /// Called when the reply is complete, after a finish reason.
  virtual Result<void> end(std::string& out) = 0;

 private:
  Result<void> event(std::string_view data, std::string& out);
  Result<void> number(ChatPiece& piece);
  Result<void> hold(const ChatPiece::Call& call);
  void release(ChatPiece& piece, bool is_last);
  bool is_within_call() const;
  Result<void> hold_texts(ChatPiece& piece);
  Result<void> release_texts(std::string& out);
  Result<void> count_held(size_t bytes);
  Result<void> conclude(std::string& out);

  EventReader reader_;
  struct HeldCall {
    std::string id, name, arguments, signature;
    size_t bytes() const { return id.size() + name.size() + arguments.size() + signature.size(); }
  };

  CallNumbers numbers_;
  int64_t open_call_ = -1;            // the number of the call whose pieces pass
  std::map<int64_t, HeldCall> held_;  // by number
  struct HeldTexts {
    std::string reasoning, text, refusal;
    size_t bytes() const { return reasoning.size() + text.size() + refusal.size(); }
  };
  HeldTexts held_texts_;
  size_t held_bytes_ = 0;
  bool has_reason_ = false;
  bool done_ = false;
};

}  // namespace signalbox::dialects
