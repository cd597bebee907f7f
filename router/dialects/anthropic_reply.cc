// The blocks of a message follow each other, so a stream opens one at a time. Content for a block
// that is already closed cannot be sent; no known server produces it.

#include <algorithm>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/dialects/anthropic.h"
#include "router/dialects/call_signature.h"
#include "router/dialects/chat_messages.h"
#include "router/dialects/chat_reply.h"

namespace signalbox::dialects {
namespace {

std::string_view stop_reason(std::string_view finish, bool calls, bool hit_sequence) {
  if (finish == "length") return "max_tokens";
  if (finish == "content_filter") return "refusal";
  if (calls || finish == "tool_calls" || finish == "function_call") return "tool_use";
  return hit_sequence ? "stop_sequence" : "end_turn";
}

void write_messages_usage(json::Writer& out, const ChatUsage& usage) {
  out.key("usage").begin_object().member("input_tokens", usage.prompt - usage.cached);
  out.member("cache_creation_input_tokens", 0);
  out.member("cache_read_input_tokens", usage.cached);
  out.member("output_tokens", usage.completion).end_object();
}

void write_stop(json::Writer& out, std::string_view reason, std::string_view sequence) {
  out.key("stop_reason");
  reason.empty() ? out.null() : out.string(reason);
  out.key("stop_sequence");
  reason == "stop_sequence" ? out.string(sequence) : out.null();
}

std::string message_id(std::string_view id) {
  return id.starts_with("msg_") ? std::string(id) : fmt::format("msg_{}", id);
}

std::string id_for_client(const ChatPiece::Call& call) {
  const std::string id =
      call.id.empty() ? fmt::format("toolu_{}", call.index) : std::string(call.id);
  return signed_id(id, call.signature);
}

class MessagesReplies final : public ChatStream {
 public:
  MessagesReplies(bool thinking, std::string id) : thinking_(thinking), id_(std::move(id)) {}

  Result<std::string> whole(std::string body) override;
  std::string refusal(int status, std::string_view body) const override;
  std::string broken(std::string_view error_body) override;

 private:
  enum class Block : uint8_t { kNone, kThinking, kText, kCall };

  Result<void> chunk(const ChatPiece& piece, std::string& out) override;
  Result<void> end(std::string& out) override;
  Result<void> call(const ChatPiece::Call& call, std::string& out);
  void start(const ChatPiece& piece, std::string& out);
  void open(Block block, std::string_view content, std::string& out);
  void close(std::string& out);
  void delta(std::string_view type, std::string_view key, std::string_view text, std::string& out);
  void open_message(json::Writer& out, const ChatPiece& piece) const;

  const bool thinking_;
  const std::string id_;
  bool started_ = false;
  Block block_ = Block::kNone;
  int64_t blocks_ = 0;
  int64_t call_ = -1;  // the number of the open or last call
  std::string finish_, sequence_;
  ChatUsage usage_;
};

void MessagesReplies::open_message(json::Writer& out, const ChatPiece& piece) const {
  out.begin_object().member("id", message_id(piece.id.empty() ? id_ : piece.id));
  out.member("type", "message").member("role", "assistant").member("model", piece.model);
}

bool is_object(std::string_view json) {
  const auto parsed = json::Document::parse(std::string(json));
  return parsed && parsed->root().is_object();
}

Result<void> write_call(const ChatPiece::Call& call, size_t index, json::Writer& out) {
  const std::string path = fmt::format("choices[0].message.tool_calls[{}].function", index);
  if (call.name.empty()) return fail(Code::kUpstream, "the reply: {}.name: missing", path);
  const std::string_view arguments = call.arguments.empty() ? "{}" : call.arguments;
  const auto input = json::Document::parse(std::string(arguments));
  if (!input || !input->root().is_object())
    return fail(Code::kUpstream, "the reply: {}.arguments: expected a JSON object", path);
  out.begin_object().member("type", "tool_use");
  out.member("id", id_for_client(call)).member("name", call.name);
  out.key("input").raw(input->root().raw()).end_object();
  return {};
}

Result<std::string> MessagesReplies::whole(std::string body) {
  SIGNALBOX_TRY(const json::Document document, parse_chat(std::move(body)));
  SIGNALBOX_TRY(const ChatPiece piece, read_chat(document.root(), "message"));
  json::Writer out;
  open_message(out, piece);
  out.key("content").begin_array();
  if (thinking_ && !piece.reasoning.empty()) {
    out.begin_object().member("type", "thinking").member("thinking", piece.reasoning);
    out.member("signature", "").end_object();
  }
  for (const std::string_view text : {piece.text, piece.refusal}) {
    if (!text.empty()) out.begin_object().member("type", "text").member("text", text).end_object();
  }
  for (size_t i = 0; i < piece.calls.size(); ++i) {
    const bool may_be_cut = piece.finish_reason == "length" && i + 1 == piece.calls.size();
    if (may_be_cut && !is_object(piece.calls[i].arguments)) break;  // nobody can run it
    SIGNALBOX_TRY_VOID(write_call(piece.calls[i], i, out));
  }
  out.end_array();
  const std::string_view reason =
      stop_reason(piece.finish_reason, !piece.calls.empty(), !piece.stop_sequence.empty());
  write_stop(out, reason, piece.stop_sequence);
  write_messages_usage(out, piece.usage.value_or(ChatUsage{}));
  return out.end_object().take();
}

void MessagesReplies::start(const ChatPiece& piece, std::string& out) {
  if (started_) return;
  started_ = true;
  json::Writer event;
  event.begin_object().member("type", "message_start").key("message");
  open_message(event, piece);
  event.key("content").begin_array().end_array();
  write_stop(event, {}, {});
  write_messages_usage(event, piece.usage.value_or(ChatUsage{}));
  append_event(out, "message_start", event.end_object().end_object().take());
  append_event(out, "ping", R"({"type":"ping"})");
}

void MessagesReplies::open(Block block, std::string_view content, std::string& out) {
  close(out);
  block_ = block;
  append_event(out, "content_block_start",
               fmt::format(R"({{"type":"content_block_start","index":{},"content_block":{}}})",
                           blocks_++, content));
}

void MessagesReplies::close(std::string& out) {
  if (block_ == Block::kNone) return;
  block_ = Block::kNone;
  append_event(out, "content_block_stop",
               fmt::format(R"({{"type":"content_block_stop","index":{}}})", blocks_ - 1));
}

void MessagesReplies::delta(std::string_view type, std::string_view key, std::string_view text,
                            std::string& out) {
  if (text.empty()) return;
  json::Writer event;
  event.begin_object().member("type", "content_block_delta").member("index", blocks_ - 1);
  event.key("delta").begin_object().member("type", type).member(key, text);
  append_event(out, "content_block_delta", event.end_object().end_object().take());
}

Result<void> MessagesReplies::call(const ChatPiece::Call& call, std::string& out) {
  if (block_ != Block::kCall || call.index != call_) {
    if (call.index <= call_ && ascii::trimmed(call.arguments).empty())
      return {};  // it adds nothing
    if (call.index <= call_) return fail(Code::kUpstream, "the reply: tool calls are interleaved");
    if (call.name.empty())
      return fail(Code::kUpstream, "the reply: tool_calls[{}]: starts without a name", call.index);
    call_ = call.index;
    json::Writer content;
    content.begin_object().member("type", "tool_use").member("id", id_for_client(call));
    content.member("name", call.name).key("input").begin_object().end_object().end_object();
    open(Block::kCall, content.take(), out);
  }
  delta("input_json_delta", "partial_json", call.arguments, out);
  return {};
}

Result<void> MessagesReplies::chunk(const ChatPiece& piece, std::string& out) {
  start(piece, out);
  if (piece.usage) usage_ = *piece.usage;
  if (!piece.finish_reason.empty()) finish_ = piece.finish_reason;
  if (!piece.stop_sequence.empty()) sequence_ = piece.stop_sequence;
  if (thinking_ && !piece.reasoning.empty()) {
    if (block_ != Block::kThinking)
      open(Block::kThinking, R"({"type":"thinking","thinking":"","signature":""})", out);
    delta("thinking_delta", "thinking", piece.reasoning, out);
  }
  for (const std::string_view text : {piece.text, piece.refusal}) {
    if (text.empty()) continue;
    if (block_ != Block::kText) open(Block::kText, R"({"type":"text","text":""})", out);
    delta("text_delta", "text", text, out);
  }
  for (const ChatPiece::Call& each : piece.calls) SIGNALBOX_TRY_VOID(call(each, out));
  return {};
}

Result<void> MessagesReplies::end(std::string& out) {
  close(out);
  json::Writer event;
  event.begin_object().member("type", "message_delta").key("delta").begin_object();
  write_stop(event, stop_reason(finish_, call_ >= 0, !sequence_.empty()), sequence_);
  event.end_object();
  write_messages_usage(event, usage_);
  append_event(out, "message_delta", event.end_object().take());
  append_event(out, "message_stop", R"({"type":"message_stop"})");
  return {};
}

// Agents shorten a conversation that is refused with these words.
std::string message_for_agents(const Refused& refused, bool is_too_long) {
  constexpr std::string_view kTooLong = "prompt is too long";
  const bool adds = is_too_long && refused.message.find(kTooLong) == std::string::npos;
  return adds ? fmt::format("{}: {}", kTooLong, refused.message) : refused.message;
}

std::string MessagesReplies::refusal(int status, std::string_view body) const {
  const Refused refused = read_refusal(status, body);
  return messages_error(status, message_for_agents(refused, refused.is_too_long()));
}

std::string MessagesReplies::broken(std::string_view error_body) {
  const Refused refused = read_refusal(500, error_body);
  std::string out;
  append_event(out, "error",
               messages_error(refused.status, message_for_agents(refused, refused.is_too_long())));
  return out;
}

std::string_view error_type(int status) {
  switch (status) {
    case 400:
      return "invalid_request_error";
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 504:
      return "timeout_error";
    case 529:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

}  // namespace

std::string messages_error(int status, std::string_view message) {
  json::Writer out;
  out.begin_object().member("type", "error").key("error").begin_object();
  out.member("type", error_type(status)).member("message", message);
  return out.end_object().end_object().take();
}

std::unique_ptr<ReplyTranslator> messages_replies(bool thinking, std::string id) {
  return std::make_unique<MessagesReplies>(thinking, std::move(id));
}

Result<Incoming> AnthropicDialect::read(std::string&& body, const RequestContext& context) const {
  SIGNALBOX_TRY(json::Document source, json::Document::take(body));
  Result<ParsedMessages> request = read_messages(source.root());
  if (!request) {
    body = std::move(source).take_source();
    return tl::unexpected(std::move(request).error());
  }
  return Incoming{std::move(request->chat),
                  messages_replies(request->thinking, std::string(context.id)),
                  std::move(request->losses), std::move(source), request->reasoning};
}

std::string AnthropicDialect::refusal(int status, std::string_view body) const {
  const Refused refused = read_refusal(status, body);
  return messages_error(status, message_for_agents(refused, refused.has_code_of_too_long()));
}

}  // namespace signalbox::dialects
