// Chooses the request members that switch reasoning; ObjectEditor makes the edits.

#include "router/plugins/reasoning/reasoning.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/json_writer.h"
#include "router/plugins/server_family.h"

namespace signalbox::plugins {
namespace {

using Type = config::ReasoningFamily::Type;

constexpr std::string_view kEffort = "reasoning_effort";
constexpr std::string_view kTemplate = "chat_template_kwargs";

void set_effort(bool on, std::string_view effort, splice::ObjectEditor& body) {
  on && !effort.empty() ? body.set(kEffort, json::quote(effort)) : body.remove(kEffort);
}

void set_deepseek(bool on, std::string_view effort, splice::ObjectEditor& body) {
  body.remove(kTemplate);
  body.set("thinking", on ? R"({"type":"enabled"})" : R"({"type":"disabled"})");
  set_effort(on, effort, body);
}

/// Sets a member of the objects called `name`, or adds such an object.
void set_within(std::string_view name, std::string_view member, const std::string& json,
                splice::ObjectEditor& body, std::vector<splice::Edit>& edits) {
  const std::vector<json::Value> objects = body.objects(name);
  for (const json::Value& object : objects) {
    splice::ObjectEditor editor(object);
    editor.set(member, json);
    editor.finish(edits);
  }
  if (objects.empty()) body.set(name, fmt::format("{{{}:{}}}", json::quote(member), json));
}

/// Removes a member of the objects called `name`, and an object that has no other.
void remove_within(std::string_view name, std::string_view member, splice::ObjectEditor& body,
                   std::vector<splice::Edit>& edits) {
  for (const json::Value& object : body.objects(name)) {
    bool has_others = false;
    for (const json::Member& each : object.members()) has_others |= each.key != member;
    if (!has_others) return body.remove(name);
    splice::ObjectEditor editor(object);
    editor.remove(member);
    editor.finish(edits);
  }
}

using Members = std::vector<std::pair<std::string_view, std::string>>;

/// Sets or removes several members of the objects called `name`; an empty value removes one. Of
/// several changes of one member, the last applies.
void set_members(std::string_view name, const Members& members, splice::ObjectEditor& body,
                 std::vector<splice::Edit>& edits) {
  const std::vector<json::Value> objects = body.objects(name);
  const auto is_set = [](const auto& each) { return !each.second.empty(); };
  if (objects.empty() && std::ranges::none_of(members, is_set)) return;
  json::Writer added;
  added.begin_object();
  for (auto each = members.begin(); each != members.end(); ++each) {
    const bool is_last = std::none_of(std::next(each), members.end(), [&](const auto& later) {
      return later.first == each->first;
    });
    if (is_set(*each) && is_last) added.key(each->first).raw(each->second);
  }
  if (objects.empty()) return body.set(name, added.end_object().take());
  for (const json::Value& object : objects) {
    splice::ObjectEditor editor(object);
    for (const auto& [member, json] : members)
      json.empty() ? editor.remove(member) : editor.set(member, json);
    editor.finish(edits);
  }
}

/// The switches of a family that has more than one in chat_template_kwargs.
Members switches_of(const config::ReasoningFamily& family, bool on, std::string_view effort) {
  const std::string level(on ? effort : family.disabled);
  const auto chosen = family.effort_flags.find(level);
  Members out;
  // Efforts may share a switch, so the one that is set comes last.
  for (const auto& [other, flag] : family.effort_flags) out.emplace_back(flag, "");
  if (!family.activation_parameter.empty())
    out.emplace_back(family.activation_parameter, on ? "true" : "false");
  if (chosen != family.effort_flags.end()) out.emplace_back(chosen->second, "true");
  if (family.effort_flags.empty())
    out.emplace_back(family.parameter, level.empty() ? "" : json::quote(level));
  return out;
}

bool is_text(const json::Value& object, std::string_view key, std::string_view prefix) {
  const auto value = object.find(key);
  return value && value->is_string() && value->text().starts_with(prefix);
}

/// The server rejects an edit that clears thoughts if the model has none.
void keep_thoughts(splice::ObjectEditor& body, std::vector<splice::Edit>& edits) {
  for (const json::Value& management : body.objects("context_management")) {
    const auto all = management.find("edits");
    if (!all) continue;
    std::string kept;
    bool any_cleared = false;
    for (const json::Value& edit : all->items()) {
      const bool clears = is_text(edit, "type", "clear_thinking");
      any_cleared |= clears;
      if (!clears) kept.append(kept.empty() ? "" : ",").append(edit.raw());
    }
    if (any_cleared && kept.empty()) body.remove("context_management");
    if (any_cleared && !kept.empty())
      edits.push_back({all->begin(), all->end(), fmt::format("[{}]", kept)});
  }
}

}  // namespace

void set_reasoning(request::Api api, bool on, std::string_view effort, splice::ObjectEditor& body,
                   std::vector<splice::Edit>& edits) {
  if (api == request::Api::kResponses) {
    if (on) set_within("reasoning", "effort", json::quote(effort), body, edits);
    return;
  }
  for (const json::Value& thinking : body.objects("thinking")) {
    const bool is_off = is_text(thinking, "type", "disabled");
    if (on && is_off) body.remove("thinking");
    if (on || is_off) break;
    body.set("thinking", R"({"type":"disabled"})");
    keep_thoughts(body, edits);
    break;
  }
  if (!on) remove_within("output_config", "effort", body, edits);
  if (on && !effort.empty())
    set_within("output_config", "effort", json::quote(effort), body, edits);
}

void set_reasoning(const config::ReasoningFamily& family, const config::Model& model, bool on,
                   std::string_view effort, splice::ObjectEditor& body,
                   std::vector<splice::Edit>& edits) {
  if (is_served_by(model, kDeepSeek)) return set_deepseek(on, effort, body);
  // The translation makes output_config of the effort, and no server of this API has templates.
  if (speaks(model, request::Api::kMessages)) return set_effort(on, effort, body);
  if (family.type == Type::kChatTemplateKwargs) {
    body.remove(kEffort);
    return set_within(kTemplate, family.parameter, on ? "true" : "false", body, edits);
  }
  const bool is_openai_like =
      family.type == Type::kReasoningEffort &&
      (is_served_by(model, kOpenAi) || is_served_by(model, kOpenRouter) || is_at_azure(model));
  const bool has_switches = !family.activation_parameter.empty() || !family.effort_flags.empty();
  if (has_switches && family.type == Type::kReasoningEffort && !is_openai_like) {
    body.remove(kEffort);
    return set_members(kTemplate, switches_of(family, on, effort), body, edits);
  }
  const std::vector<json::Value> requested = body.values(kEffort);
  const bool ends = !on && !family.disabled.empty();
  const bool keep = !on && !ends && !requested.empty() && requested.front().is_string();
  if (!on && !ends && !keep && is_openai_like) return body.remove(kEffort);
  const std::string value = on     ? json::quote(effort)
                            : ends ? json::quote(family.disabled)
                            : keep ? std::string(requested.front().raw())
                                   : json::quote("low");
  const bool top_level = is_openai_like || family.type == Type::kTopLevelReasoningEffort;
  if (!top_level || family.parameter != kEffort) body.remove(kEffort);
  if (top_level) {
    body.set(family.parameter, value);
  } else {
    set_within(kTemplate, family.parameter, value, body, edits);
  }
}

}  // namespace signalbox::plugins
