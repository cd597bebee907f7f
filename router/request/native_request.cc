// Both APIs are lists of objects with a type, as a chat completion's content is, so one walk reads
// them all.

#include "router/request/native_request.h"

#include <algorithm>
#include <array>

namespace signalbox::request {
namespace {

using json::Value;

/// Blocks of an assistant's message that its client may change.
constexpr std::array<std::string_view, 2> kOwnBlocks = {"text", "tool_use"};
/// Items of a response's input that its client may change.
constexpr std::array<std::string_view, 11> kOwnItems = {"message",
                                                        "function_call",
                                                        "function_call_output",
                                                        "custom_tool_call",
                                                        "custom_tool_call_output",
                                                        "local_shell_call",
                                                        "local_shell_call_output",
                                                        "shell_call",
                                                        "shell_call_output",
                                                        "apply_patch_call",
                                                        "apply_patch_call_output"};
/// Objects whose `name` is that of a function.
constexpr std::array<std::string_view, 3> kCallTypes = {"tool_use", "function_call",
                                                        "custom_tool_call"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& all, std::string_view name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

std::string_view label(const Value& object, std::string_view key, std::string_view other = {}) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : other;
}

void visit_block(const Value& block, const VisitText& visit) {
  visit_object_text(block, contains(kCallTypes, label(block, "type")), visit);
}

void visit_message(const Value& message, const VisitText& visit) {
  const auto content = message.find("content");
  if (!content) return;
  if (content->is_string()) visit_text(*content, Place::kMessage, visit);
  const bool by_server = label(message, "role") == "assistant";
  for (const Value& block : content->items()) {
    if (!by_server || contains(kOwnBlocks, label(block, "type"))) visit_block(block, visit);
  }
}

void visit_messages(const Value& root, const VisitText& visit) {
  for (const json::Member& member : root.members()) {
    if (member.key == "system") {
      if (member.value.is_string()) visit_text(member.value, Place::kMessage, visit);
      for (const Value& block : member.value.items()) visit_block(block, visit);
    } else if (member.key == "messages") {
      for (const Value& message : member.value.items()) visit_message(message, visit);
    }
  }
}

void visit_responses(const Value& root, const VisitText& visit) {
  for (const json::Member& member : root.members()) {
    const bool is_text = member.key == "instructions" || member.key == "prompt";
    if (is_text || (member.key == "input" && member.value.is_string()))
      visit_text(member.value, Place::kMessage, visit);
    if (member.key != "input") continue;
    for (const Value& item : member.value.items()) {
      if (contains(kOwnItems, label(item, "type", "message"))) visit_block(item, visit);
    }
  }
}

}  // namespace

void visit_native_text(const NativeRequest& request, const VisitText& visit) {
  const Value root = request.document.root();
  request.api == Api::kMessages ? visit_messages(root, visit) : visit_responses(root, visit);
}

}  // namespace signalbox::request
