// A decision's `plugins`. Requests are served without a plugin that is not built and would only
// optimise. Requests that need any other missing plugin are refused: to send them unchanged, or to
// answer without documents or memories, is not the router's choice.

#include <algorithm>

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

// Plugins of older files that have become signals.
std::string_view instead_of(std::string_view type) {
  if (type == "jailbreak") return "it is a signal of routing.signals.jailbreak";
  if (type == "pii") return "it is a signal of routing.signals.pii";
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

void unknown_plugin(Reader& reader, uint32_t line, std::string_view type) {
  reader.at_key("type", [&] {
    if (const std::string_view instead = instead_of(type); !instead.empty())
      return reader.error(line, fmt::format("\"{}\" is no longer a plugin; {}", type, instead));
    std::vector<std::string_view> known;
    for (const Variant& form : kPluginForms) {
      for (const std::string_view name : split_words(form.names)) known.push_back(name);
    }
    reader.error(line, fmt::format("unknown plugin \"{}\"{}", type, suggestion(type, known)));
  });
}

void report_missing(Reader& reader, uint32_t line, const std::string& type, bool is_essential,
                    Decision& out) {
  if (is_essential) out.missing_plugins.push_back(type);
  reader.does_without(line,
                      fmt::format("{} is not supported: {}", type,
                                  is_essential ? "requests that reach this decision are refused"
                                               : "requests go on without it"));
}

void read_plugin(Reader& reader, const yaml::Node& node, Decision& out) {
  PluginText plugin;
  read_section(reader, node, kPluginText, &plugin);
  if (plugin.type.empty()) return;
  const uint32_t line = node.find("type")->line;
  const Variant* form = find_form(plugin.type);
  if (form == nullptr) return unknown_plugin(reader, line, plugin.type);
  const Key& key = form->configuration;
  if (is_given(*form, out)) {
    return reader.error(line, fmt::format("expected one {} per decision, found another", key.name));
  }
  yaml::Node nothing;
  nothing.line = line;
  const yaml::Node& configuration =
      plugin.configuration == nullptr ? nothing : *plugin.configuration;
  const auto read = [&] {
    Plugins& plugins = out;
    reader.at_key("configuration", [&] {
      read_section(reader, configuration, *key.section,
                   key.access->object(reinterpret_cast<char*>(&plugins) + key.offset));
    });
  };
  if (!key.is_planned) return read();
  const bool is_off = configuration.kind == yaml::Kind::kMapping &&
                      !configuration.entries.empty() && is_idle(configuration);
  if (!is_off) report_missing(reader, line, plugin.type, form->is_essential, out);
  reader.in_not_built(read);
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
