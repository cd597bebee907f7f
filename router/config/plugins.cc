// A decision's `plugins`. Of those that are not built, some only watch: the request goes on without
// them. The others would change what is sent or refuse it, and passing such a request on untouched
// is not ours to choose.

#include <algorithm>
#include <array>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

struct Known {
  std::string_view type;
  bool changes;  // what is sent, or whether
};

constexpr auto kNotBuilt = std::to_array<Known>({
    {"fast_response", true},
    {"response_cache", false},
    {"response-cache", false},
    {"semantic_cache", false},
    {"semantic-cache", false},
    {"context_compression", false},
    {"tools", true},
    {"tool_selection", true},
    {"hallucination", false},
    {"response_jailbreak", true},
    {"header_mutation", true},
    {"router_replay", false},
    {"memory", true},
    {"rag", true},
    {"image_gen", true},
    {"request_params", true},
});

const Section<SystemPromptPlugin>& system_prompt_section() {
  using Mode = SystemPromptPlugin::Mode;
  static const Section<SystemPromptPlugin> section{{
      optional("enabled", boolean(&SystemPromptPlugin::enabled), "false leaves the request alone"),
      optional("mode",
               choice(&SystemPromptPlugin::mode,
                      {{"replace", Mode::kReplace}, {"insert", Mode::kInsert}}),
               "take the place of the client's system prompt, or stand in front of it"),
      required("system_prompt", text(&SystemPromptPlugin::system_prompt), "the text"),
  }};
  return section;
}

struct PluginText {
  std::string type;
  yaml::Node configuration;
};

const Section<PluginText>& plugin_section() {
  static const Section<PluginText> section{{
      required("type", text(&PluginText::type), "which plugin"),
      optional("configuration",
               Value<PluginText>{"a mapping",
                                 [](Reader& reader, const yaml::Node& node, PluginText& out) {
                                   if (node.kind != yaml::Kind::kMapping)
                                     return reader.expected(node, "a mapping");
                                   out.configuration = node;
                                 }},
               "its settings"),
  }};
  return section;
}

// `tools` in mode passthrough asks for nothing.
bool asks_for_nothing(const PluginText& plugin) {
  const yaml::Node* mode = plugin.configuration.find("mode");
  if (plugin.type == "tools" && mode != nullptr && mode->scalar == "passthrough") return true;
  return plugin.configuration.kind == yaml::Kind::kMapping &&
         !plugin.configuration.entries.empty() && is_idle(plugin.configuration);
}

void unknown_type(Reader& reader, uint32_t line, std::string_view type) {
  std::vector<std::string_view> known{"system_prompt"};
  for (const Known& plugin : kNotBuilt) known.push_back(plugin.type);
  reader.at_key("type", [&] {
    reader.error(line, fmt::format("unknown plugin \"{}\"{}", type, suggestion(type, known)));
  });
}

void read_plugin(Reader& reader, const yaml::Node& node, Decision& out) {
  PluginText plugin;
  read_section(reader, node, plugin_section(), plugin);
  if (plugin.type.empty()) return;
  const uint32_t line = node.find("type")->line;
  if (plugin.type == "system_prompt") {
    if (out.system_prompt)
      return reader.error(line, "expected one system_prompt a decision, found another");
    out.system_prompt.emplace();
    if (plugin.configuration.kind == yaml::Kind::kNull) plugin.configuration.line = line;
    reader.at_key("configuration", [&] {
      read_section(reader, plugin.configuration, system_prompt_section(), *out.system_prompt);
    });
    return;
  }
  const auto known = std::find_if(kNotBuilt.begin(), kNotBuilt.end(), [&](const Known& candidate) {
    return candidate.type == plugin.type;
  });
  if (known == kNotBuilt.end()) return unknown_type(reader, line, plugin.type);
  if (asks_for_nothing(plugin)) return;
  if (known->changes) {
    out.missing_plugins.push_back(plugin.type);
    reader.not_built(line,
                     fmt::format("{}: requests that reach this decision are refused", plugin.type));
  } else {
    reader.not_built(line, fmt::format("{}: requests go on without it", plugin.type));
  }
}

}  // namespace

void read_plugins(Reader& reader, const yaml::Node& node, Decision& out) {
  if (node.kind == yaml::Kind::kNull) return;
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of mappings");
  for (size_t i = 0; i < node.items.size(); ++i) {
    reader.at_index(i, [&] { read_plugin(reader, node.items[i], out); });
  }
}

}  // namespace signalbox::config
