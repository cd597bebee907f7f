// Chooses the request members that switch reasoning; ObjectEditor makes the edits.

#include "router/plugins/reasoning/reasoning.h"

#include <fmt/core.h>

#include <string>

#include "base/json_writer.h"
#include "router/plugins/server_family.h"

namespace signalbox::plugins {
namespace {

using Type = config::ReasoningFamily::Type;

constexpr std::string_view kEffort = "reasoning_effort";
constexpr std::string_view kTemplate = "chat_template_kwargs";

void set_deepseek(bool on, std::string_view effort, splice::ObjectEditor& body) {
  body.remove(kTemplate);
  body.set("thinking", on ? R"({"type":"enabled"})" : R"({"type":"disabled"})");
  on ? body.set(kEffort, json::quote(effort)) : body.remove(kEffort);
}

void set_template(std::string_view parameter, const std::string& json, splice::ObjectEditor& body,
                  std::vector<splice::Edit>& edits) {
  const std::vector<json::Value> objects = body.objects(kTemplate);
  for (const json::Value& object : objects) {
    splice::ObjectEditor editor(object);
    editor.set(parameter, json);
    editor.finish(edits);
  }
  if (objects.empty()) body.set(kTemplate, fmt::format("{{{}:{}}}", json::quote(parameter), json));
}

}  // namespace

void set_reasoning(const config::ReasoningFamily& family, const config::Model& model, bool on,
                   std::string_view effort, splice::ObjectEditor& body,
                   std::vector<splice::Edit>& edits) {
  if (is_served_by(model, kDeepSeek)) return set_deepseek(on, effort, body);
  if (family.type == Type::kChatTemplateKwargs) {
    body.remove(kEffort);
    return set_template(family.parameter, on ? "true" : "false", body, edits);
  }
  const bool is_openai_like = family.type == Type::kReasoningEffort &&
                              (is_served_by(model, kOpenAi) || is_served_by(model, kOpenRouter));
  const std::vector<json::Value> requested = body.values(kEffort);
  const bool keep = !on && !requested.empty() && requested.front().is_string();
  if (!on && !keep && is_openai_like) return body.remove(kEffort);
  const std::string value = on     ? json::quote(effort)
                            : keep ? std::string(requested.front().raw())
                                   : json::quote("low");
  const bool top_level = is_openai_like || family.type == Type::kTopLevelReasoningEffort;
  if (!top_level || family.parameter != kEffort) body.remove(kEffort);
  if (top_level) {
    body.set(family.parameter, value);
  } else {
    set_template(family.parameter, value, body, edits);
  }
}

}  // namespace signalbox::plugins
