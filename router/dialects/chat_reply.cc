// Servers omit different members, so few are required. A member that is present must have the right
// type.

#include "router/dialects/chat_reply.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/ascii.h"
#include "base/json_writer.h"

namespace signalbox::dialects {
namespace {

using json::Value;

constexpr size_t kCallsMax = 1024;
constexpr size_t kHeldBytesMax = size_t{16} << 20;

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
    const auto arguments = function->find("arguments");
    if (arguments && arguments->is_object()) {
      read.arguments = arguments->raw();  // some servers send the object itself
    } else {
      SIGNALBOX_TRY(read.arguments, text_of(*function, "arguments", at + ".function"));
    }
    const auto extra = call.find("extra_content");
    const auto google = extra ? extra->find("google") : std::nullopt;
    if (google) read.signature = label_of(*google, "thought_signature");
    out.calls.push_back(read);
  }
  return {};
}

/// Adds the texts of a list of parts. Thoughts of Mistral's models are lists within one.
void join_texts(const Value& parts, std::string_view type, std::string& out) {
  for (const Value& part : parts.items()) {
    if (part.is_string() && type == "text") out += part.text();
    if (label_of(part, "type") != type) continue;
    const auto text = part.find(type);
    if (text && text->is_array()) join_texts(*text, "text", out);
    if (text && text->is_string()) out += text->text();
  }
}

Result<void> read_content(const Value& message, std::string_view path, ChatPiece& out) {
  const auto content = message.find("content");
  if (!content || !content->is_array()) {
    SIGNALBOX_TRY(out.text, text_of(message, "content", path));
    return {};
  }
  constexpr auto kKnown = std::to_array<std::string_view>({"text", "thinking", "reference"});
  size_t known = 0, unknown = 0;
  for (const Value& part : content->items()) {
    const auto found = std::ranges::find(kKnown, label_of(part, "type"));
    ++(part.is_string() || found != kKnown.end() ? known : unknown);
  }
  if (known == 0 && unknown > 0)
    return fail(Code::kUpstream, "the reply: {}.content: expected a text or parts with one", path);
  for (auto [type, view] : {std::pair{"text", &out.text}, std::pair{"thinking", &out.reasoning}}) {
    join_texts(*content, type, out.joined.emplace_front());
    *view = out.joined.front();
  }
  return {};
}

Result<void> read_message(const Value& message, bool whole, std::string_view path, ChatPiece& out) {
  SIGNALBOX_TRY_VOID(read_content(message, path, out));
  SIGNALBOX_TRY(out.refusal, text_of(message, "refusal", path));
  if (out.reasoning.empty()) {
    SIGNALBOX_TRY(out.reasoning, text_of(message, "reasoning_content", path));
  }
  if (out.reasoning.empty()) out.reasoning = label_of(message, "reasoning");
  if (message.find("function_call") && !message.find("function_call")->is_null())
    return fail(Code::kUpstream,
                "the reply: {}.function_call: this older form of calls is not supported", path);
  return read_calls(message, whole, path, out);
}

// Google's servers send an error as the only element of a list.
Value first_of(const Value& value) {
  if (!value.is_array()) return value;
  const json::Items items = value.items();
  const auto first = items.begin();
  return first != items.end() ? *first : value;
}

/// True for a text that a person has written, and not a page.
bool is_message(std::string_view body) {
  constexpr size_t kBytesMax = 1000;
  body = ascii::trimmed(body);
  return !body.empty() && body.size() <= kBytesMax && body.front() != '<' &&
         std::ranges::none_of(body,
                              [](char c) { return c >= 0 && c < ' ' && !ascii::is_space(c); });
}

/// The data of the first event if the body is a stream of them, as some servers send errors;
/// otherwise "".
std::string first_event(std::string_view body) {
  std::string out;
  if (!body.starts_with("data:") && !body.starts_with("event:")) return out;
  const EventReader::Take take = [&](std::string_view data) {
    if (out.empty()) out = data;
    return Result<void>{};
  };
  EventReader reader;
  if (reader.push(body, take)) std::ignore = reader.finish(take);
  return out;
}

/// FastAPI lists the members of a request that it refuses, and Mistral nests such a list.
std::string message_of(const Value& error) {
  if (error.is_string()) return std::string(error.text());
  if (error.is_array()) {
    const Value first = first_of(error);
    return first.is_array() ? std::string() : message_of(first);
  }
  for (const std::string_view key : {"message", "Message", "detail", "msg"}) {
    const auto found = error.find(key);
    if (!found || found->is_null()) continue;
    std::string out = message_of(*found);
    if (out.empty()) continue;
    const auto place = error.find("loc");
    if (!place) return out;
    std::string path;
    for (const Value& part : place->items())
      path.append(path.empty() ? "" : ".").append(part.is_string() ? part.text() : part.raw());
    return path.empty() ? out : fmt::format("{}: {}", path, out);
  }
  return {};
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
    SIGNALBOX_TRY_VOID(refuse_error(root));
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

bool Refused::has_code_of_too_long() const {
  return code == kTooLongCode;
}

bool Refused::is_too_long() const {
  constexpr auto kPhrases = std::to_array<std::string_view>(
      {"context length", "context window", "context size", "prompt is too long",
       "maximum prompt length", "reduce the length of the messages",
       "exceeds the maximum number of tokens", "`inputs` tokens"});
  if (has_code_of_too_long()) return true;
  const std::string lower = ascii::lower_case(message);
  const bool is_about_reply = lower.find("is too large") != std::string::npos;  // its max_tokens
  return status < 500 && status != 429 && !is_about_reply &&
         std::ranges::any_of(kPhrases, [&](std::string_view phrase) {
           return lower.find(phrase) != std::string::npos;
         });
}

Refused read_refusal(int status, std::string_view body) {
  Refused out{status, fmt::format("the model's server answered with HTTP {}", status)};
  const std::string event = first_event(body);
  const auto parsed = json::Document::parse(event.empty() ? std::string(body) : event);
  if (!parsed) {
    if (is_message(body)) out.message = ascii::trimmed(body);
    return out;
  }
  const Value root = first_of(parsed->root());
  std::optional<Value> error = root.find("error");
  if (!error) error = root.find("errors");
  if (error) error = first_of(*error);
  // Beside a text, which may only be the status in words, the root has the message.
  const bool is_object = error && error->is_object();
  std::string message = is_object ? message_of(*error) : std::string();
  if (message.empty()) message = message_of(root);
  if (message.empty() && error) message = message_of(*error);
  if (!message.empty()) out.message = std::move(message);
  const Value found = is_object ? *error : root;
  out.code = label_of(found, "code");
  const auto number = found.find("code");
  const int64_t code = number ? number->integer().value_or(0) : 0;
  if (code >= 400 && code < 600) out.status = static_cast<int>(code);
  return out;
}

std::string_view Refused::openai_code() const {
  return is_too_long() ? kTooLongCode : std::string_view(code);
}

std::string openai_error(int status, std::string_view body) {
  const auto parsed = json::Document::parse(std::string(body));
  const auto error = parsed ? parsed->root().find("error") : std::nullopt;
  const Refused refused = read_refusal(status, body);
  const std::string_view code = refused.openai_code();
  const bool is_openai = error && error->is_object() && !label_of(*error, "message").empty() &&
                         label_of(parsed->root(), "type") != "error";
  if (is_openai && code == refused.code) return std::string(body);
  json::Writer out;
  out.begin_object().key("error").begin_object().member("message", refused.message);
  out.member("type", status == 429   ? "rate_limit_error"
                     : status >= 500 ? "server_error"
                                     : "invalid_request_error");
  out.key("param").null().key("code");
  code.empty() ? out.null() : out.string(code);
  return out.end_object().end_object().take();
}

Result<void> refuse_error(const Value& root) {
  const auto error = root.find("error");
  const bool has_error = error && !error->is_null();
  // Older versions of vLLM have the members of an error in the root.
  if (!has_error && label_of(root, "object") != "error") return {};
  return fail(Code::kUpstream, "the server answered with an error: {}",
              json::quote_briefly(message_of(has_error ? *error : root)));
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

Result<void> ChatStream::number(ChatPiece& piece) {
  const bool is_last = !piece.finish_reason.empty();
  const std::vector<ChatPiece::Call> calls = std::exchange(piece.calls, {});
  for (ChatPiece::Call call : calls) {
    call.index =
        static_cast<int64_t>(numbers_.of(call.index, call.id, call.name, call.arguments, is_last));
    if (call.index >= static_cast<int64_t>(kCallsMax))
      return fail(Code::kUpstream, "the reply: more than {} calls", kCallsMax);
    if (call.index > open_call_ && held_.empty() &&
        (open_call_ < 0 || numbers_.is_complete(static_cast<size_t>(open_call_))))
      open_call_ = call.index;
    if (call.index > open_call_) {
      SIGNALBOX_TRY_VOID(hold(call));
    } else {
      piece.calls.push_back(call);
    }
    release(piece, false);
  }
  if (is_last || has_reason_) release(piece, true);
  return {};
}

Result<void> ChatStream::hold(const ChatPiece::Call& call) {
  HeldCall& held = held_[call.index];
  held_bytes_ -= held.bytes();
  if (held.id.empty()) held.id = call.id;
  if (held.name.empty()) held.name = call.name;
  if (held.signature.empty()) held.signature = call.signature;
  held.arguments += call.arguments;
  return count_held(held.bytes());
}

Result<void> ChatStream::count_held(size_t bytes) {
  held_bytes_ += bytes;
  if (held_bytes_ <= kHeldBytesMax) return {};
  return fail(Code::kTooLarge, "the reply: parts that wait for an earlier call exceed {} bytes",
              kHeldBytesMax);
}

// Gives the held calls to the piece, the first one first.
void ChatStream::release(ChatPiece& piece, bool is_last) {
  while (!held_.empty() && (is_last || numbers_.is_complete(static_cast<size_t>(open_call_)))) {
    const auto next = held_.extract(held_.begin());
    open_call_ = next.key();
    HeldCall& held = next.mapped();
    held_bytes_ -= held.bytes();
    const auto keep = [&](std::string& text) -> std::string_view {
      return piece.joined.emplace_front(std::move(text));
    };
    piece.calls.push_back(
        {open_call_, keep(held.id), keep(held.name), keep(held.arguments), keep(held.signature)});
  }
}

// True if more pieces of the open call may follow.
bool ChatStream::is_within_call() const {
  return open_call_ >= 0 && !has_reason_ && !numbers_.is_complete(static_cast<size_t>(open_call_));
}

Result<void> ChatStream::hold_texts(ChatPiece& piece) {
  held_bytes_ -= held_texts_.bytes();
  held_texts_.reasoning += std::exchange(piece.reasoning, {});
  held_texts_.text += std::exchange(piece.text, {});
  held_texts_.refusal += std::exchange(piece.refusal, {});
  return count_held(held_texts_.bytes());
}

Result<void> ChatStream::release_texts(std::string& out) {
  if (is_within_call() || held_texts_.bytes() == 0) return {};
  const HeldTexts held = std::exchange(held_texts_, {});
  held_bytes_ -= held.bytes();
  ChatPiece piece;
  piece.reasoning = held.reasoning;
  piece.text = held.text;
  piece.refusal = held.refusal;
  return chunk(piece, out);
}

Result<void> ChatStream::event(std::string_view data, std::string& out) {
  data = ascii::trimmed(data);
  if (done_ || data.empty()) return {};
  if (data == "[DONE]") return conclude(out);
  const auto parsed = json::Document::parse(std::string(data));
  if (!parsed) return fail(Code::kUpstream, "an event of the reply is not valid JSON");
  const Value root = parsed->root();
  const auto error = root.find("error");
  if ((error && !error->is_null()) || label_of(root, "object") == "error") {
    done_ = true;
    out += broken(data);
    return {};
  }
  SIGNALBOX_TRY(ChatPiece piece, read_chat(root, "delta"));
  if (is_within_call()) SIGNALBOX_TRY_VOID(hold_texts(piece));
  SIGNALBOX_TRY_VOID(number(piece));
  has_reason_ = has_reason_ || !piece.finish_reason.empty();
  if (!piece.is_blank()) SIGNALBOX_TRY_VOID(chunk(piece, out));
  return release_texts(out);
}

}  // namespace signalbox::dialects
