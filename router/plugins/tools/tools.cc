// A filtered list is rebuilt from the original bytes of its tools.

#include "router/plugins/tools/tools.h"

#include <algorithm>
#include <array>
#include <string>

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

bool stays(const config::ToolsPlugin& plugin, std::string_view name) {
  const auto contains = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return (plugin.allow_tools.empty() || contains(plugin.allow_tools)) &&
         !contains(plugin.block_tools);
}

// Returns whether any tool remains.
bool filter(const config::ToolsPlugin& plugin, std::string_view list, std::string_view choice,
            splice::ObjectEditor& body) {
  std::string kept;
  bool any = false, all = true;
  for (const json::Value& value : body.values(list)) {
    for (const json::Value& tool : value.items()) {
      const bool keep = plugin.mode == ToolsMode::kFiltered && stays(plugin, name_of(tool));
      all &= keep;
      if (!keep) continue;
      kept += any ? "," : "";
      kept += tool.raw();
      any = true;
    }
  }
  if (!any) {
    body.remove(list);
    body.remove(choice);
    return false;
  }
  if (!all) body.set(list, fmt::format("[{}]", kept));
  for (const json::Value& value : body.objects(choice)) {
    if (!stays(plugin, name_of(value))) body.remove(choice);
  }
  return true;
}

}  // namespace

void filter_tools(const config::ToolsPlugin& plugin, splice::ObjectEditor& body) {
  if (!plugin.enabled || plugin.mode == ToolsMode::kPassthrough) return;
  if (!body.is_set("tools") && !filter(plugin, "tools", "tool_choice", body))
    body.remove("parallel_tool_calls");
  filter(plugin, "functions", "function_call", body);
}

void put_chosen_tools(const ToolChoice& choice, splice::ObjectEditor& body) {
  const bool all = std::find(choice.keep.begin(), choice.keep.end(), false) == choice.keep.end();
  if (all && choice.added.empty()) return;
  std::string kept;
  const auto append = [&](std::string_view definition) {
    kept += kept.empty() ? "" : ",";
    kept += definition;
  };
  size_t place = 0;
  for (const json::Value& value : body.values("tools")) {
    for (const json::Value& tool : value.items()) {
      if (place < choice.keep.size() && choice.keep[place++]) append(tool.raw());
    }
  }
  for (const std::string& added : choice.added) append(added);
  if (!kept.empty()) return body.set("tools", fmt::format("[{}]", kept));
  for (const std::string_view name : {"tools", "tool_choice", "parallel_tool_calls"})
    body.remove(name);
}

}  // namespace signalbox::plugins
