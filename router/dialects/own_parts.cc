// The list of turns is written anew, element by element, and everything around it keeps its bytes.

#include "router/dialects/own_parts.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "router/dialects/call_signature.h"
#include "router/dialects/chat_messages.h"
#include "router/dialects/responses.h"

namespace signalbox::dialects {
namespace {

using json::Value;

constexpr std::string_view kOwnId = R"("rs_)";  // with its quote, as it begins in a request
/// The same for a message that holds a warning of ours (replies/response_events).
constexpr std::string_view kOwnMessageId = R"("msg_vsr_)";

std::string_view string_at(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : std::string_view{};
}

/// Most requests are not parsed again. A request for thoughts has a member of that name, with a
/// colon after it.
bool may_have_thoughts(std::string_view body) {
  constexpr std::string_view kType = R"("thinking")", kSpace = " \t\r\n";
  for (size_t at = body.find(kType); at != body.npos; at = body.find(kType, at + 1)) {
    const size_t next = body.find_first_not_of(kSpace, at + kType.size());
    if (next != body.npos && body[next] != ':') return true;
  }
  return false;
}

/// Our ids are the token of a response and the number of an item. The ids of vLLM end with 32
/// digits, and those of OpenAI are longer than ours.
bool is_own_id(std::string_view id) {
  constexpr size_t kNumber = kOwnId.size() - 1 + kTokenBytes, kNumberBytesMax = 6;
  if (!id.starts_with(kOwnId.substr(1)) || id.size() <= kNumber) return false;
  const std::string_view number = id.substr(kNumber);
  return number.size() <= kNumberBytesMax && std::ranges::all_of(number, ascii::is_digit);
}

/// The text with another value in the place of this one. Positions are those of the whole text, of
/// which `text` begins at `begin`.
std::string replaced(std::string_view text, size_t begin, const Value& value,
                     std::string_view json) {
  return fmt::format("{}{}{}", text.substr(0, value.begin() - begin), json,
                     text.substr(value.end() - begin));
}

/// Writes the elements of an array that `write` turns into a text; it returns "" for those to leave
/// out.
template <class Write>
std::string written(const Value& array, Write write) {
  std::string out = "[";
  for (const Value& element : array.items()) {
    const std::string each = write(element);
    if (!each.empty()) out.append(out.size() > 1 ? "," : "").append(each);
  }
  return out + "]";
}

std::string message_for_provider(const Value& message) {
  const auto content = message.find("content");
  if (!content || !content->is_array()) return std::string(message.raw());
  bool changes = false;
  const auto write = [&changes](const Value& block) {
    const bool is_own =
        string_at(block, "type") == "thinking" && string_at(block, "signature").empty();
    changes |= is_own;
    return is_own ? std::string() : std::string(block.raw());
  };
  const std::string kept = written(*content, write);
  if (!changes) return std::string(message.raw());
  if (kept == "[]") return {};  // the provider accepts turns of the same side in sequence
  return replaced(message.raw(), message.begin(), *content, kept);
}

std::string item_for_provider(const Value& item) {
  if (is_own_message(item)) return {};
  const bool is_reasoning =
      string_at(item, "type") == "reasoning" && !given(item, "encrypted_content");
  if (is_reasoning && is_own_id(string_at(item, "id"))) return {};
  const CallId call = split_id(string_at(item, "call_id"));
  if (call.signature.empty()) return std::string(item.raw());
  return replaced(item.raw(), item.begin(), *item.find("call_id"), json::quote(call.id));
}

template <class Write>
std::string rewritten(std::string_view body, std::string_view list, Write write) {
  if (!may_have_own_parts(body)) return {};
  const auto document = json::Document::parse(std::string(body));
  const auto turns = document ? document->root().find(list) : std::nullopt;
  if (!turns || !turns->is_array()) return {};
  bool changes = false;
  const auto checked = [&](const Value& turn) {
    std::string out = write(turn);
    changes |= out != turn.raw();
    return out;
  };
  const std::string all = written(*turns, checked);
  return changes ? replaced(body, 0, *turns, all) : std::string();
}

}  // namespace

// The id as it is written, because a request without these bytes is not parsed again.
bool is_own_message(const Value& item) {
  const auto id = item.find("id");
  return id && id->raw().starts_with(kOwnMessageId);
}

bool may_have_own_parts(std::string_view body) {
  return may_have_thoughts(body) || body.find(kOwnId) != std::string_view::npos ||
         body.find(kOwnMessageId) != std::string_view::npos || may_have_signed_ids(body);
}

std::string without_own_thoughts(std::string_view body) {
  return rewritten(body, "messages", message_for_provider);
}

std::string without_own_items(std::string_view body) {
  return rewritten(body, "input", item_for_provider);
}

}  // namespace signalbox::dialects
