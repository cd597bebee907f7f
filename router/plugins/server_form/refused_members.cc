// The search for the names spares most chats from being parsed.

#include "router/plugins/server_form/refused_members.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/json.h"
#include "router/plugins/server_family.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {
namespace {

constexpr std::string_view kThoughts = "reasoning_content", kExtra = "extra_content";
constexpr auto kRefusing =
    std::to_array<std::string_view>({kOpenAi, "api.cerebras.ai", "api.groq.com", "api.mistral.ai"});

void remove_member(const json::Value& object, std::string_view name,
                   std::vector<splice::Edit>& edits) {
  if (!object.find(name)) return;
  splice::ObjectEditor editor(object);
  editor.remove(name);
  editor.finish(edits);
}

}  // namespace

bool refuses_members(const config::Model& model) {
  return is_at_azure(model) || std::ranges::any_of(kRefusing, [&](std::string_view host) {
           return is_served_by(model, host);
         });
}

std::string without_refused_members(std::string_view chat) {
  const auto has = [chat](std::string_view name) { return chat.find(name) != chat.npos; };
  if (!has(kThoughts) && !has(kExtra)) return {};
  const auto document = json::Document::parse(std::string(chat));
  const auto messages = document ? document->root().find("messages") : std::nullopt;
  if (!messages) return {};
  std::vector<splice::Edit> edits;
  for (const json::Value& message : messages->items()) {
    remove_member(message, kThoughts, edits);
    const auto calls = message.find("tool_calls");
    if (!calls) continue;
    for (const json::Value& call : calls->items()) remove_member(call, kExtra, edits);
  }
  return edits.empty() ? std::string() : splice::apply(chat, std::move(edits));
}

}  // namespace signalbox::plugins
