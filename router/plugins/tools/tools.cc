// A filtered list is rebuilt from the original bytes of its tools.

#include "router/plugins/tools/tools.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/json_writer.h"

namespace signalbox::plugins {
namespace {

using ToolsMode = config::ToolsPlugin::Mode;

// Returns the name in {"type": "function", "function": {"name"}} or in the older {"name"},
// otherwise the type of a tool that the server provides: {"type": "web_search"}.
std::string_view name_of(const json::Value& tool) {
  const auto function = tool.find("function");
  for (const auto& name :
       {function ? function->find("name") : std::nullopt, tool.find("name"), tool.find("type")}) {
    if (name && name->is_string()) return name->text();
  }
  return {};
}

/// True for a choice that names no tool: {"type":"auto"}.
bool names_no_tool(const json::Value& choice) {
  const auto type = choice.find("type");
  return type && type->is_string() && !choice.find("name") &&
         (type->text() == "auto" || type->text() == "any" || type->text() == "none");
}

bool stays(const config::ToolsPlugin& plugin, std::string_view name) {
  const auto contains = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return (plugin.allow_tools.empty() || contains(plugin.allow_tools)) &&
         !contains(plugin.block_tools);
}

using Keeps = std::function<bool(std::string_view name)>;

/// Returns a tool as it stays; "" if it does not. A namespace may stay with only some of its tools.
std::string kept_tool(const json::Value& tool, const Keeps& keeps) {
  const auto type = tool.find("type");
  const auto tools = tool.find("tools");
  if (!tools || !type || !type->is_string() || type->text() != "namespace")
    return keeps(name_of(tool)) ? std::string(tool.raw()) : std::string();
  std::string kept;
  bool all = true;
  for (const json::Value& each : tools->items()) {
    const bool keep = keeps(fmt::format("{}__{}", name_of(tool), name_of(each)));
    all &= keep;
    if (keep) kept.append(kept.empty() ? "" : ",").append(each.raw());
  }
  if (all || kept.empty()) return all ? std::string(tool.raw()) : std::string();
  const std::string_view source = tool.raw();
  return fmt::format("{}[{}]{}", source.substr(0, tools->begin() - tool.begin()), kept,
                     source.substr(tools->end() - tool.begin()));
}

// Returns whether any tool remains.
bool filter(const config::ToolsPlugin& plugin, std::string_view list, std::string_view choice,
            splice::ObjectEditor& body) {
  const Keeps keeps = [&plugin](std::string_view name) {
    return plugin.mode == ToolsMode::kFiltered && stays(plugin, name);
  };
  std::string kept;
  bool all = true;
  for (const json::Value& value : body.values(list)) {
    for (const json::Value& tool : value.items()) {
      const std::string form = kept_tool(tool, keeps);
      all &= form == tool.raw();
      if (!form.empty()) kept.append(kept.empty() ? "" : ",").append(form);
    }
  }
  if (kept.empty()) {
    body.remove(list);
    body.remove(choice);
    return false;
  }
  if (!all) body.set(list, fmt::format("[{}]", kept));
  for (const json::Value& value : body.objects(choice)) {
    if (!names_no_tool(value) && !stays(plugin, name_of(value))) body.remove(choice);
  }
  return true;
}

}  // namespace

bool removes_tools(const config::ToolsPlugin& plugin) {
  return plugin.enabled && plugin.mode == ToolsMode::kNone;
}

bool strips_tools(const config::Decision& decision) {
  return decision.tools && removes_tools(*decision.tools) && decision.tools->strip_tool_history;
}

void filter_tools(const config::ToolsPlugin& plugin, splice::ObjectEditor& body) {
  if (!plugin.enabled || plugin.mode == ToolsMode::kPassthrough) return;
  if (!body.is_set("tools") && !filter(plugin, "tools", "tool_choice", body))
    body.remove("parallel_tool_calls");
  filter(plugin, "functions", "function_call", body);
}

void put_chosen_tools(const ToolSelection& selection, splice::ObjectEditor& body) {
  const bool all =
      std::find(selection.keep.begin(), selection.keep.end(), false) == selection.keep.end();
  if (all && selection.added.empty()) return;
  std::string kept;
  const auto append = [&](std::string_view definition) {
    kept += kept.empty() ? "" : ",";
    kept += definition;
  };
  size_t place = 0;
  for (const json::Value& value : body.values("tools")) {
    for (const json::Value& tool : value.items()) {
      if (place < selection.keep.size() && selection.keep[place++]) append(tool.raw());
    }
  }
  for (const std::string& added : selection.added) append(added);
  if (!kept.empty()) return body.set("tools", fmt::format("[{}]", kept));
  for (const std::string_view name : {"tools", "tool_choice", "parallel_tool_calls"})
    body.remove(name);
}

namespace {

/// A tool of the database, which has the form of a chat completion, in another API.
std::string in_api(request::Api api, std::string_view definition) {
  const auto document = json::Document::parse(std::string(definition));
  const auto function = document ? document->root().find("function") : std::nullopt;
  if (!function) return std::string(definition);
  json::Writer out;
  out.begin_object();
  if (api == request::Api::kResponses) out.member("type", "function");
  for (const json::Member& member : function->members()) {
    const bool schema = api == request::Api::kMessages && member.key == "parameters";
    out.key(schema ? "input_schema" : member.key).raw(member.value.raw());
  }
  if (api == request::Api::kMessages && !function->find("parameters"))
    out.key("input_schema").raw(R"({"type":"object"})");
  return out.end_object().take();
}

}  // namespace

void put_chosen_tools(const ToolSelection& selection, const request::ChatRequest& request,
                      splice::ObjectEditor& body) {
  const bool all =
      std::find(selection.keep.begin(), selection.keep.end(), false) == selection.keep.end();
  if ((all && selection.added.empty()) || !request.native) return;
  std::vector<std::string_view> unwanted;
  size_t place = 0;
  if (const auto tools = request.document.root().find("tools")) {
    for (const json::Value& tool : tools->items()) {
      if (place < selection.keep.size() && !selection.keep[place++])
        unwanted.push_back(name_of(tool));
    }
  }
  const Keeps keeps = [&unwanted](std::string_view name) {
    return std::find(unwanted.begin(), unwanted.end(), name) == unwanted.end();
  };
  std::string kept;
  const auto append = [&](std::string_view definition) {
    if (!definition.empty()) kept.append(kept.empty() ? "" : ",").append(definition);
  };
  for (const json::Value& value : body.values("tools")) {
    for (const json::Value& tool : value.items()) append(kept_tool(tool, keeps));
  }
  for (const std::string& added : selection.added) append(in_api(request.native->api, added));
  if (!kept.empty()) return body.set("tools", fmt::format("[{}]", kept));
  for (const std::string_view name : {"tools", "tool_choice", "parallel_tool_calls"})
    body.remove(name);
}

}  // namespace signalbox::plugins
