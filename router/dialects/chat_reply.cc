// Servers omit different members, so few are required. A member that is present must have the right
// type.

#include "router/dialects/chat_reply.h"

#include <algorithm>

namespace signalbox::dialects {
namespace {

using json::Value;

constexpr size_t kCallsMax = 1024;

Result<std::string_view> text_of(const Value& object, std::string_view key, std::string_view path) {
  const auto value = object.find(key);
  if (!value || value->is_null()) return std::string_view{};
  if (!value->is_string()) {
    return fail(Code::kUpstream, "the reply: {}.{}: expected a string, found {}", path, key,
                json::type_name(value->type()));
  }
  return value->text();
}

// Some servers send other types than strings here.
std::string_view label_of(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : std::string_view{};
}

int64_t count_of(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value ? std::max<int64_t>(0, value->integer().value_or(0)) : 0;
}

std::optional<ChatUsage> usage_of(const Value& root) {
  const auto usage = root.find("usage");
  if (!usage || !usage->is_object()) return std::nullopt;
  ChatUsage out;
  out.prompt = count_of(*usage, "prompt_tokens");
  out.completion = count_of(*usage, "completion_tokens");
  if (const auto details = usage->find("prompt_tokens_details"))
    out.cached = std::min(out.prompt, count_of(*details, "cached_tokens"));
  if (const auto details = usage->find("completion_tokens_details"))
    out.reasoning = std::min(out.completion, count_of(*details, "reasoning_tokens"));
  return out;
}

// In a whole message, the number of a call is its place in the list, whatever its index.
Result<void> read_calls(const Value& message, bool whole, std::string_view path, ChatPiece& out) {
  const auto calls = message.find("tool_calls");
  if (!calls || calls->is_null()) return {};
  if (!calls->is_array())
    return fail(Code::kUpstream, "the reply: {}.tool_calls: expected an array", path);
  for (const Value& call : calls->items()) {
    const std::string at = fmt::format("{}.tool_calls[{}]", path, out.calls.size());
    if (out.calls.size() == kCallsMax)
      return fail(Code::kUpstream, "the reply: {}: more than {} calls", at, kCallsMax);
    const auto function = call.find("function");
    if (!function || !function->is_object())
      return fail(Code::kUpstream, "the reply: {}: expected a call of a function", at);
    ChatPiece::Call read;
    const auto index = whole ? std::nullopt : call.find("index");
    read.index = index ? index->integer().value_or(-1) : static_cast<int64_t>(out.calls.size());
    if (read.index < 0)
      return fail(Code::kUpstream, "the reply: {}.index: expected a non-negative integer", at);
    SIGNALBOX_TRY(read.id, text_of(call, "id", at));
    SIGNALBOX_TRY(read.name, text_of(*function, "name", at + ".function"));
    SIGNALBOX_TRY(read.arguments, text_of(*function, "arguments", at + ".function"));
    out.calls.push_back(read);
  }
  return {};
}

Result<void> read_message(const Value& message, bool whole, std::string_view path, ChatPiece& out) {
  SIGNALBOX_TRY(out.text, text_of(message, "content", path));
  SIGNALBOX_TRY(out.refusal, text_of(message, "refusal", path));
  SIGNALBOX_TRY(out.reasoning, text_of(message, "reasoning_content", path));
  if (out.reasoning.empty()) out.reasoning = label_of(message, "reasoning");
  if (message.find("function_call") && !message.find("function_call")->is_null())
    return fail(Code::kUpstream,
                "the reply: {}.function_call: this older form of calls is not supported", path);
  return read_calls(message, whole, path, out);
}

}  // namespace

Result<ChatPiece> read_chat(const Value& root, std::string_view member) {
  ChatPiece out;
  if (!root.is_object()) return fail(Code::kUpstream, "the reply: expected an object");
  out.id = label_of(root, "id");
  out.model = label_of(root, "model");
  out.created = count_of(root, "created");
  out.usage = usage_of(root);
  const bool whole = member == "message";
  const auto choices = root.find("choices");
  if (!choices || !choices->is_array()) {
    if (!whole && (!choices || choices->is_null())) return out;
    return fail(Code::kUpstream, "the reply: choices: expected an array");
  }
  for (const Value& choice : choices->items()) {
    if (count_of(choice, "index") != 0) continue;
    const auto message = choice.find(member);
    if (!message || !message->is_object()) {
      if (!whole && choice.is_object() && (!message || message->is_null())) {
        out.finish_reason = label_of(choice, "finish_reason");
        return out;
      }
      return fail(Code::kUpstream, "the reply: choices[0].{}: expected an object", member);
    }
    SIGNALBOX_TRY_VOID(read_message(*message, whole, fmt::format("choices[0].{}", member), out));
    out.finish_reason = label_of(choice, "finish_reason");
    out.stop_sequence = label_of(choice, "stop_reason");
    return out;
  }
  if (whole) return fail(Code::kUpstream, "the reply: choices: empty");
  return out;
}

Result<json::Document> parse_chat(std::string body) {
  Result<json::Document> parsed = json::Document::parse(std::move(body));
  if (!parsed) return fail(Code::kUpstream, "the reply is not valid JSON");
  return parsed;
}

Refused read_refusal(int status, std::string_view body) {
  Refused out{fmt::format("the model's server answered with HTTP {}", status), {}};
  const auto parsed = json::Document::parse(std::string(body));
  if (!parsed) return out;
  const Value root = parsed->root();
  std::optional<Value> error = root.find("error");
  if (error && error->is_string()) out.message = error->text();
  if (!error || !error->is_object()) error = root;
  for (const std::string_view key : {"detail", "message"}) {
    if (const auto text = error->find(key); text && text->is_string()) out.message = text->text();
  }
  out.code = label_of(*error, "code");
  return out;
}

Result<void> ChatStream::push(std::string_view bytes, std::string& out) {
  const EventReader::Take take = [&](std::string_view data) { return event(data, out); };
  return reader_.push(bytes, take);
}

Result<void> ChatStream::finish(std::string& out) {
  const EventReader::Take take = [&](std::string_view data) { return event(data, out); };
  SIGNALBOX_TRY_VOID(reader_.finish(take));
  return done_ ? Result<void>{} : conclude(out);
}

Result<void> ChatStream::conclude(std::string& out) {
  done_ = true;
  if (!has_reason_) return fail(Code::kUpstream, "the stream ended before the reply was complete");
  return end(out);
}

Result<void> ChatStream::number(std::vector<ChatPiece::Call>& calls) {
  for (ChatPiece::Call& call : calls) {
    call.index = static_cast<int64_t>(numbers_.of(call.index, call.id, call.name, call.arguments));
    if (call.index >= static_cast<int64_t>(kCallsMax))
      return fail(Code::kUpstream, "the reply: more than {} calls", kCallsMax);
  }
  return {};
}

Result<void> ChatStream::event(std::string_view data, std::string& out) {
  if (done_) return {};
  if (data == "[DONE]") return conclude(out);
  const auto parsed = json::Document::parse(std::string(data));
  if (!parsed) return fail(Code::kUpstream, "an event of the reply is not valid JSON");
  const Value root = parsed->root();
  if (const auto error = root.find("error"); error && !error->is_null()) {
    done_ = true;
    out += broken(data);
    return {};
  }
  SIGNALBOX_TRY(ChatPiece piece, read_chat(root, "delta"));
  SIGNALBOX_TRY_VOID(number(piece.calls));
  has_reason_ = has_reason_ || !piece.finish_reason.empty();
  return piece.is_blank() ? Result<void>{} : chunk(piece, out);
}

}  // namespace signalbox::dialects
