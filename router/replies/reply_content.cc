// Clients treat content that is not a string in different ways. So this reads everything that a
// client might show, and reports parts that it does not understand as unread.

#include "router/replies/reply_content.h"

#include <algorithm>
#include <array>

namespace signalbox::replies {
namespace {

constexpr std::string_view kPartTexts[] = {"text", "refusal"};
constexpr std::string_view kThoughts = "thinking";
constexpr std::string_view kOfStream = "delta", kOfWhole = "message";

void read_part(const json::Value& part, ReplyContent& out) {
  if (part.is_string()) {
    out.text += part.text();
    return;
  }
  const auto type = part.find("type");
  bool known = type && type->is_string() && type->text() == kThoughts;
  for (const std::string_view key : kPartTexts) {
    const auto text = part.find(key);
    if (!text) continue;
    known = true;
    if (text->is_string()) {
      out.text += text->text();
    } else if (!text->is_null()) {
      out.unread = true;
    }
  }
  if (!known) out.unread = true;
}

/// Items of a response that the client is to run.
constexpr auto kClientCalls = std::to_array<std::string_view>(
    {"tool_use", "function_call", "custom_tool_call", "local_shell_call", "shell_call",
     "apply_patch_call", "computer_call", "mcp_approval_request"});

void add_strings(const json::Value& value, std::string& out) {
  if (value.is_string()) out.append(out.empty() ? "" : "\n").append(value.text());
  for (const json::Value item : value.items()) add_strings(item, out);
  for (const json::Member member : value.members()) {
    if (member.key != "type" && member.key != "id") add_strings(member.value, out);
  }
}

/// A text that is not a string counts with all its strings.
std::string text_or_strings(const json::Value& object, std::string_view key) {
  const auto text = object.find(key);
  if (!text) return {};
  return text->is_string() ? std::string(text->text()) : all_strings(*text);
}

}  // namespace

ReplyContent content_of(const json::Value& choice, std::string_view member) {
  ReplyContent out;
  const auto holder = choice.find(member);
  auto content = holder ? holder->find("content") : std::nullopt;
  if (!content || content->is_null()) {
    if (const auto text = choice.find("text")) content = text;
  }
  const auto other = choice.find(member == kOfStream ? kOfWhole : kOfStream);
  out.unread = !choice.is_object() || (holder && !holder->is_object() && !holder->is_null()) ||
               (other && !other->is_null());
  if (content && content->is_string()) {
    out.text = content->text();
    out.value = content;
  } else if (content && content->is_array()) {
    for (const json::Value part : content->items()) read_part(part, out);
    out.value = content;
  } else {
    out.unread = out.unread || (content && !content->is_null());
  }
  // Clients show a refusal as they show content.
  const auto refusal = holder ? holder->find("refusal") : std::nullopt;
  if (!refusal || refusal->is_null()) return out;
  if (!refusal->is_string()) {
    out.unread = true;
    return out;
  }
  out.text += refusal->text();
  if (!out.value) out.value = refusal;
  return out;
}

std::string_view text_member(const json::Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : std::string_view{};
}

std::string all_strings(const json::Value& value) {
  std::string out;
  add_strings(value, out);
  return out;
}

bool calls_client(const json::Value& item) {
  return std::ranges::find(kClientCalls, text_member(item, "type")) != kClientCalls.end();
}

std::string text_of_block(const json::Value& block) {
  const std::string_view type = text_member(block, "type");
  if (type == "text") return text_or_strings(block, "text");
  const bool is_silent = type == kThoughts || type == "redacted_thinking" ||
                         type.ends_with("tool_use") || type.ends_with("tool_result");
  return is_silent ? std::string() : all_strings(block);
}

std::string text_of_part(const json::Value& part) {
  const std::string_view type = text_member(part, "type");
  if (type == "output_text") return text_or_strings(part, "text");
  return type == "refusal" ? text_or_strings(part, "refusal") : all_strings(part);
}

std::string text_of_item(const json::Value& item) {
  const std::string_view type = text_member(item, "type");
  const bool is_silent = type == "reasoning" || type == "compaction" || type.ends_with("_call") ||
                         type.ends_with("_call_output") || type.starts_with("mcp_");
  return is_silent ? std::string() : all_strings(item);
}

std::optional<NativeReply> read_native(const json::Value& root, request::Api api) {
  const bool is_message = api == request::Api::kMessages;
  const auto list = root.find(is_message ? "content" : "output");
  if (!list || !list->is_array()) return std::nullopt;
  NativeReply out;
  for (const json::Value each : list->items()) {
    const std::string_view type = text_member(each, "type");
    std::string text = is_message          ? text_of_block(each)
                       : type != "message" ? text_of_item(each)
                                           : std::string();
    if (!is_message && type == "message") {
      const auto content = each.find("content");
      if (content && !content->is_array()) text = all_strings(*content);
      if (content) {
        for (const json::Value part : content->items()) text += text_of_part(part);
      }
    }
    const bool is_place = is_message ? !text_member(each, "text").empty() : type == "message";
    if (!text.empty() && !out.first && is_place) out.first = each;
    out.calls = out.calls || calls_client(each);
    out.text += text;
  }
  return out;
}

}  // namespace signalbox::replies
