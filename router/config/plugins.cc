// A decision's `plugins`. sections.h lists them; each plugin's table is in
// router/plugins/*/keys.cc. Requests that need a part of rag that is not built are refused: to
// answer them without documents is not the router's choice.

#include <algorithm>

#include "base/ascii.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

const Variant* find_form(std::string_view type) {
  for (const Variant& form : kPluginForms) {
    const std::vector<std::string_view> names = split_words(form.names);
    if (std::find(names.begin(), names.end(), type) != names.end()) return &form;
  }
  return nullptr;
}

bool is_given(const Variant& form, const Decision& decision) {
  const Plugins& plugins = decision;
  return form.configuration.access->has(reinterpret_cast<const char*>(&plugins) +
                                        form.configuration.offset);
}

// Plugins that change no answer, so that a decision may go without them.
std::string_view without(std::string_view type) {
  if (type == "context_dedup") return "turns that a request has twice are sent twice";
  if (type == "history_reset") return "the whole conversation is sent";
  if (type == "decision_diagnostics") return "Envoy's filters get no summary of the decision";
  if (type == "provider_prompt_cache")
    return "the plugin prompt_cache sets marks for a prompt cache";
  return "";
}

struct PluginText {
  std::string type;
  const yaml::Node* configuration = nullptr;
};

void keep_configuration(Reader& reader, const yaml::Node& node, const yaml::Node*& out) {
  if (node.kind != yaml::Kind::kMapping) return reader.expected(node, "a mapping");
  out = &node;
}

constexpr Key kPluginTextKeys[] = {
    text(FIELD(PluginText, type), "The plugin.").required(),
    key_of(FIELD(PluginText, configuration), Kind::kAnything, "Its settings.")
        .read_by<keep_configuration>(),
};
constexpr Section kPluginText{kPluginTextKeys};

void unknown_plugin(Reader& reader, uint32_t line, const PluginText& plugin) {
  const std::string& type = plugin.type;
  reader.at_key("type", [&] {
    const bool is_off = plugin.configuration != nullptr && is_switched_off(*plugin.configuration);
    if (const std::string_view consequence = without(type); !consequence.empty()) {
      if (!is_off)
        reader.does_without(line,
                            fmt::format("the plugin \"{}\" has no effect: {}", type, consequence));
      return;
    }
    std::vector<std::string_view> known;
    for (const Variant& form : kPluginForms) {
      for (const std::string_view name : split_words(form.names)) known.push_back(name);
    }
    std::string text = fmt::format("unknown plugin \"{}\"{}", type, suggestion(type, known));
    const bool is_misspelt = !nearest(type, known).empty();
    if (is_off && !is_misspelt) return reader.notice(line, text + "; the file switches it off");
    reader.error(line, std::move(text));
  });
}

void read_plugin(Reader& reader, const yaml::Node& node, Decision& out) {
  PluginText plugin;
  read_section(reader, node, kPluginText, &plugin);
  if (plugin.type.empty()) return;
  const uint32_t line = node.find("type")->line;
  const Variant* form = find_form(plugin.type);
  if (form == nullptr) return unknown_plugin(reader, line, plugin);
  const Key& key = form->configuration;
  if (is_given(*form, out)) {
    return reader.error(line, fmt::format("expected one {} per decision, found another", key.name));
  }
  yaml::Node nothing;
  nothing.line = line;
  const yaml::Node& configuration =
      plugin.configuration == nullptr ? nothing : *plugin.configuration;
  reader.at_key("configuration", [&] {
    Plugins& plugins = out;
    read_section(reader, configuration, *key.section,
                 key.access->object(reinterpret_cast<char*>(&plugins) + key.offset));
  });
  if (key.name != "rag" || !out.rag->enabled || out.rag->backend.empty()) return;
  const std::string unbuilt = unbuilt_part(*out.rag);
  if (unbuilt.empty()) return;
  reader.does_without(
      line,
      fmt::format("{} is not supported: requests that reach this decision are refused", unbuilt));
  out.missing_plugins.push_back("rag");
}

}  // namespace

void read_plugins(Reader& reader, const yaml::Node& node, Decision& out) {
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of mappings");
  for (size_t i = 0; i < node.items.size(); ++i)
    reader.at_index(i, [&] { read_plugin(reader, node.items[i], out); });
}

std::vector<std::string_view> plugin_names(const Decision& decision) {
  std::vector<std::string_view> out;
  for (const Variant& form : kPluginForms) {
    if (is_given(form, decision)) out.push_back(form.configuration.name);
  }
  return out;
}

}  // namespace signalbox::config
