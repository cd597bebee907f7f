// Both APIs are lists of objects with a type, as a chat completion's content is, so one walk reads
// them all.

#include "router/request/native_request.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace signalbox::request {
namespace {

using json::Value;

/// Blocks of an assistant's message, and items, that only their server may write: it signs or
/// encrypts them.
constexpr std::array<std::string_view, 3> kThoughts = {"thinking", "redacted_thinking",
                                                       "reasoning"};
/// Objects whose `name` is that of a function.
constexpr std::array<std::string_view, 7> kCallTypes = {
    "tool_use",         "server_tool_use", "mcp_tool_use",        "function_call",
    "custom_tool_call", "mcp_call",        "mcp_approval_request"};
/// Members of a request that have the schema of the reply.
constexpr std::array<std::string_view, 3> kFormats = {"text", "output_config", "output_format"};

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
    if (!by_server || !contains(kThoughts, label(block, "type"))) visit_block(block, visit);
  }
}

/// Visits a definition: tools, or the schema of the reply.
void visit_definition(const json::Member& member, const VisitText& visit) {
  if (contains(kFormats, member.key) || place_of(member.key) == Place::kDefinition)
    visit_text(member.value, Place::kDefinition, visit);
}

void visit_messages(const Value& root, const VisitText& visit) {
  for (const json::Member& member : root.members()) {
    if (member.key == "system") {
      if (member.value.is_string()) visit_text(member.value, Place::kMessage, visit);
      for (const Value& block : member.value.items()) visit_block(block, visit);
    } else if (member.key == "messages") {
      for (const Value& message : member.value.items()) visit_message(message, visit);
    } else {
      visit_definition(member, visit);
    }
  }
}

void visit_responses(const Value& root, const VisitText& visit) {
  for (const json::Member& member : root.members()) {
    const bool is_text = member.key == "instructions" || member.key == "prompt";
    if (is_text || (member.key == "input" && member.value.is_string()))
      visit_text(member.value, Place::kMessage, visit);
    if (member.key != "input") {
      if (!is_text) visit_definition(member, visit);
      continue;
    }
    for (const Value& item : member.value.items()) {
      if (!contains(kThoughts, label(item, "type"))) visit_block(item, visit);
    }
  }
}

/// True if the tool belongs to another server, or works in a container that exists already.
bool has_state_of_tool(const Value& tool) {
  const auto container = tool.find("container");
  return label(tool, "type") == "mcp" || (container && container->is_string());
}

bool has_any(const Value& request, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&request](std::string_view name) {
    const auto value = request.find(name);
    return value && !value->is_null() && !(value->is_bool() && !value->boolean());
  });
}

}  // namespace

bool has_state(const Value& request) {
  if (has_any(request, {"conversation", "container", "background", "mcp_servers"})) return true;
  const auto tools = request.find("tools");
  if (!tools) return false;
  for (const Value& tool : tools->items()) {
    if (has_state_of_tool(tool)) return true;
  }
  return false;
}

bool is_bound_to_server(const Value& request) {
  if (has_state(request) || has_any(request, {"previous_response_id", "prompt"})) return true;
  const auto input = request.find("input");
  if (!input) return false;
  for (const Value& item : input->items()) {
    if (label(item, "type") == "item_reference") return true;
  }
  return false;
}

void visit_native_text(const NativeRequest& request, const VisitText& visit) {
  const Value root = request.document.root();
  request.api == Api::kMessages ? visit_messages(root, visit) : visit_responses(root, visit);
}

}  // namespace signalbox::request
