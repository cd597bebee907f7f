// All three APIs have a list of messages or items, in which a result is a string or a list of
// parts. Only the names differ.

#include "router/plugins/context_compression/tool_results.h"

#include <string_view>

namespace signalbox::plugins {
namespace {

using json::Value;

std::string_view label(const Value& object, std::string_view key, std::string_view other = {}) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : other;
}

bool is_tool_result(const Value& block) {
  return label(block, "type") == "tool_result";
}

/// Returns true if the user wrote the message. In Anthropic's API, results of tools also come in
/// messages with the role of the user.
bool is_question(const Value& item, std::optional<request::Api> api) {
  if (label(item, "role") != "user") return false;
  if (api == request::Api::kResponses) return label(item, "type", "message") == "message";
  const auto content = item.find("content");
  if (api != request::Api::kMessages || !content || !content->is_array()) return true;
  for (const Value& block : content->items()) {
    if (!is_tool_result(block)) return true;
  }
  return false;
}

/// Adds the texts of one result: a string, or the parts of the type.
void add_texts(const std::optional<Value>& result, std::string_view part_type,
               std::vector<Value>& texts) {
  if (!result) return;
  if (result->is_string()) texts.push_back(*result);
  for (const Value& part : result->items()) {
    const auto text = part.find("text");
    if (label(part, "type") == part_type && text && text->is_string()) texts.push_back(*text);
  }
}

void add_results(const Value& item, std::optional<request::Api> api, std::vector<Value>& texts) {
  const std::string_view role = label(item, "role"), type = label(item, "type");
  if (!api && (role == "tool" || role == "function"))
    return add_texts(item.find("content"), "text", texts);
  if (api == request::Api::kResponses &&
      (type == "function_call_output" || type == "custom_tool_call_output"))
    return add_texts(item.find("output"), "input_text", texts);
  const auto content = item.find("content");
  if (api != request::Api::kMessages || role != "user" || !content) return;
  for (const Value& block : content->items()) {
    if (is_tool_result(block)) add_texts(block.find("content"), "text", texts);
  }
}

}  // namespace

std::vector<Value> find_earlier_results(const Value& root, std::optional<request::Api> api) {
  const auto items = root.find(api == request::Api::kResponses ? "input" : "messages");
  std::vector<Value> texts;
  if (!items) return texts;
  size_t count = 0, question = 0;  // items before the last question
  for (const Value& item : items->items()) {
    if (is_question(item, api)) question = count;
    ++count;
  }
  for (const Value& item : items->items()) {
    if (question-- == 0) break;
    add_results(item, api, texts);
  }
  return texts;
}

}  // namespace signalbox::plugins
