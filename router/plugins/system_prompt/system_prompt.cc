// All edits are inside `messages`, or in the member that holds the prompt.

#include "router/plugins/system_prompt/system_prompt.h"

#include <fmt/core.h>

#include <optional>

#include "base/json_writer.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {
namespace {

using PromptMode = config::SystemPromptPlugin::Mode;

std::optional<json::Value> system_message(json::Value messages) {
  for (const json::Value& message : messages.items()) {
    const auto role = message.find("role");
    if (role && role->is_string() && (role->text() == "system" || role->text() == "developer"))
      return message;
  }
  return std::nullopt;
}

bool is_empty(json::Value array) {
  return !(array.items().begin() != array.items().end());
}

void insert_message(std::string_view prompt, json::Value messages,
                    std::vector<splice::Edit>& edits) {
  const size_t at = messages.begin() + 1;
  edits.push_back({at, at,
                   fmt::format(R"({{"role":"system","content":{}}}{})", json::quote(prompt),
                               is_empty(messages) ? "" : ",")});
}

// Inserts the prompt into a string after its opening quote, without changing its escapes, or into a
// list of parts as the first part.
void prepend(std::string_view prompt, json::Value content, std::vector<splice::Edit>& edits) {
  const size_t at = content.begin() + 1;
  if (content.is_string()) {
    std::string text = json::quote(fmt::format("{}\n\n", prompt));
    edits.push_back({at, at, text.substr(1, text.size() - 2)});
  } else {
    edits.push_back({at, at,
                     fmt::format(R"({{"type":"text","text":{}}}{})", json::quote(prompt),
                                 is_empty(content) ? "" : ",")});
  }
}

void set_content(const config::SystemPromptPlugin& plugin, json::Value message,
                 std::vector<splice::Edit>& edits) {
  const auto content = message.find("content");
  const bool has_text = content && (content->is_string() || content->is_array());
  if (plugin.mode == PromptMode::kInsert && has_text)
    return prepend(plugin.system_prompt, *content, edits);
  splice::ObjectEditor editor(message);
  editor.set("content", json::quote(plugin.system_prompt));
  editor.finish(edits);
}

}  // namespace

void add_system_prompt(const config::SystemPromptPlugin& plugin, json::Value messages,
                       std::vector<splice::Edit>& edits) {
  const auto message = system_message(messages);
  if (!message) return insert_message(plugin.system_prompt, messages, edits);
  set_content(plugin, *message, edits);
}

void add_system_prompt(const config::SystemPromptPlugin& plugin,
                       const request::NativeRequest& request, splice::ObjectEditor& body,
                       std::vector<splice::Edit>& edits) {
  const json::Value root = request.document.root();
  const bool messages = request.api == request::Api::kMessages;
  const std::string_view name = messages ? "system" : "instructions";
  const auto prompt = root.find(name);
  const bool has_prompt = prompt && (prompt->is_string() || (messages && prompt->is_array()));
  if (has_prompt && plugin.mode == PromptMode::kInsert)
    return prepend(plugin.system_prompt, *prompt, edits);
  const auto input = messages || has_prompt ? std::nullopt : root.find("input");
  const auto message = input ? system_message(*input) : std::nullopt;
  if (message && plugin.mode == PromptMode::kReplace) return set_content(plugin, *message, edits);
  body.set(name, json::quote(plugin.system_prompt));
}

config::SystemPromptPlugin prompt_with(const config::SystemPromptPlugin* own,
                                       std::string_view text) {
  config::SystemPromptPlugin out;
  out.mode = config::SystemPromptPlugin::Mode::kInsert;
  if (own != nullptr) out = *own;
  if (!out.system_prompt.empty()) out.system_prompt += "\n\n";
  out.system_prompt += text;
  return out;
}

}  // namespace signalbox::plugins
