// A decision's `plugins`. Of those that are not built, some only watch: the request goes on without
// them. The others would change what is sent or refuse it, and passing such a request on untouched
// is not ours to choose.

#include <algorithm>
#include <array>

#include "router/config/plugin_tables.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

enum class State {
  kBuilt,
  kWatches,  // not built; requests go on without it
  kChanges,  // not built; requests that reach the decision are refused
};

struct PluginKind {
  std::vector<std::string_view> names;  // the first is the one to use
  State state;
  Value<Decision> configuration;
  std::function<bool(const Decision&)> is_given;
};

template <class U>
PluginKind kind(std::vector<std::string_view> names, State state, std::optional<U> Plugins::*member,
                SectionOf<U> section) {
  return {std::move(names),
          state,
          {"a mapping",
           [=](Reader& reader, const yaml::Node& node, Decision& out) {
             read_section(reader, node, section(), (out.*member).emplace());
           },
           [=](Schema& schema) { refer_to(schema, section); }},
          [=](const Decision& decision) { return (decision.*member).has_value(); }};
}

const std::vector<PluginKind>& kinds() {
  using P = Plugins;
  static const std::vector<PluginKind> all{
      kind({"system_prompt"}, State::kBuilt, &P::system_prompt, system_prompt_section),
      kind({"fast_response"}, State::kBuilt, &P::fast_response, fast_response_section),
      kind({"response_cache", "response-cache", "semantic_cache", "semantic-cache"}, State::kBuilt,
           &P::response_cache, response_cache_section),
      kind({"context_compression"}, State::kWatches, &P::context_compression,
           context_compression_section),
      kind({"tools"}, State::kBuilt, &P::tools, tools_section),
      kind({"tool_selection"}, State::kBuilt, &P::tool_selection, tool_selection_section),
      kind({"hallucination"}, State::kBuilt, &P::hallucination, hallucination_section),
      kind({"response_jailbreak"}, State::kBuilt, &P::response_jailbreak,
           response_jailbreak_section),
      kind({"header_mutation"}, State::kBuilt, &P::header_mutation, header_mutation_section),
      kind({"router_replay"}, State::kBuilt, &P::router_replay, router_replay_section),
      kind({"memory"}, State::kChanges, &P::memory, memory_section),
      kind({"rag"}, State::kChanges, &P::rag, rag_section),
      kind({"image_gen"}, State::kChanges, &P::image_gen, image_gen_section),
      kind({"request_params"}, State::kBuilt, &P::request_params, request_params_section),
      kind({"pii_mask"}, State::kBuilt, &P::pii_mask, pii_mask_section),
  };
  return all;
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const PluginKind& each : kinds())
    names.insert(names.end(), each.names.begin(), each.names.end());
  return names;
}

const PluginKind* find_kind(std::string_view type) {
  for (const PluginKind& each : kinds()) {
    if (std::find(each.names.begin(), each.names.end(), type) != each.names.end()) return &each;
  }
  return nullptr;
}

// What plugins of the older files have become.
std::string_view instead_of(std::string_view type) {
  if (type == "jailbreak") return "it is a signal of routing.signals.jailbreak";
  if (type == "pii") return "it is a signal of routing.signals.pii";
  return "";
}

struct PluginText {
  std::string type;
  const yaml::Node* configuration = nullptr;
};

const Section<PluginText>& plugin_section() {
  static const Section<PluginText> section{{
      required("type", text(&PluginText::type), "which plugin"),
      optional("configuration",
               Value<PluginText>{"a mapping",
                                 [](Reader& reader, const yaml::Node& node, PluginText& out) {
                                   if (node.kind != yaml::Kind::kMapping)
                                     return reader.expected(node, "a mapping");
                                   out.configuration = &node;
                                 },
                                 nullptr},
               "its settings"),
  }};
  return section;
}

bool asks_for_nothing(const yaml::Node& configuration) {
  return configuration.kind == yaml::Kind::kMapping && !configuration.entries.empty() &&
         is_idle(configuration);
}

void unknown_plugin(Reader& reader, uint32_t line, std::string_view type) {
  reader.at_key("type", [&] {
    if (const std::string_view instead = instead_of(type); !instead.empty())
      return reader.error(line, fmt::format("\"{}\" is no longer a plugin; {}", type, instead));
    const std::vector<std::string_view> known = kind_names();
    reader.error(line, fmt::format("unknown plugin \"{}\"{}", type, suggestion(type, known)));
  });
}

void report_missing(Reader& reader, uint32_t line, const std::string& type, State state,
                    Decision& out) {
  if (state == State::kChanges) {
    out.missing_plugins.push_back(type);
    reader.not_built(line, fmt::format("{}: requests that reach this decision are refused", type));
  } else {
    reader.not_built(line, fmt::format("{}: requests go on without it", type));
  }
}

// What of a plugin that is built is not: to rewrite the conversation.
void report_unbuilt_parts(Reader& reader, uint32_t line, Decision& out) {
  const std::optional<ToolsPlugin>& tools = out.tools;
  if (!tools || !tools->enabled || tools->mode == ToolsPlugin::Mode::kPassthrough) return;
  if (tools->strip_tool_history)
    report_missing(reader, line, "tools (strip_tool_history)", State::kChanges, out);
}

void read_plugin(Reader& reader, const yaml::Node& node, Decision& out) {
  PluginText plugin;
  read_section(reader, node, plugin_section(), plugin);
  if (plugin.type.empty()) return;
  const uint32_t line = node.find("type")->line;
  const PluginKind* kind = find_kind(plugin.type);
  if (kind == nullptr) return unknown_plugin(reader, line, plugin.type);
  if (kind->is_given(out)) {
    return reader.error(
        line, fmt::format("expected one {} a decision, found another", kind->names.front()));
  }
  yaml::Node nothing;
  nothing.line = line;
  const yaml::Node& configuration =
      plugin.configuration == nullptr ? nothing : *plugin.configuration;
  const bool idle = asks_for_nothing(configuration);
  const auto read = [&] {
    reader.at_key("configuration", [&] { kind->configuration.read(reader, configuration, out); });
  };
  if (kind->state == State::kBuilt) {
    read();
    if (kind->names.front() == "tools") report_unbuilt_parts(reader, line, out);
    return;
  }
  if (!idle) report_missing(reader, line, plugin.type, kind->state, out);
  reader.in_not_built(read);
}

// One element: the configuration's schema follows from the type.
void describe_plugin(Schema& schema) {
  schema.type({"object"});
  schema.out().member("additionalProperties", false);
  schema.out().key("required").begin_array().string("type").end_array();
  schema.nested("properties", [&] {
    schema.nested("type", [&] {
      schema.words(kind_names());
      schema.out().member("description", "which plugin");
    });
    schema.nested("configuration", [&] { schema.out().member("description", "its settings"); });
  });
  schema.out().key("allOf").begin_array();
  for (const PluginKind& each : kinds()) {
    schema.out().begin_object();
    schema.nested("if", [&] {
      schema.nested("properties", [&] {
        schema.nested("type", [&] {
          schema.out().key("enum").begin_array();
          for (const std::string_view name : each.names) schema.out().string(name);
          schema.out().end_array();
        });
      });
    });
    schema.nested("then", [&] {
      schema.nested("properties", [&] {
        schema.at_key(each.names.front(), [&] {
          schema.nested("configuration", [&] { each.configuration.describe(schema); });
        });
      });
    });
    schema.out().end_object();
  }
  schema.out().end_array();
}

void read_plugins(Reader& reader, const yaml::Node& node, Decision& out) {
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of mappings");
  for (size_t i = 0; i < node.items.size(); ++i) {
    reader.at_index(i, [&] { read_plugin(reader, node.items[i], out); });
  }
}

}  // namespace

Value<Decision> plugins_value() {
  return {"a list of mappings", read_plugins, [](Schema& schema) {
            schema.type({"array"});
            schema.nested("items", [&] { describe_plugin(schema); });
          }};
}

std::vector<std::string_view> plugin_names(const Decision& decision) {
  std::vector<std::string_view> out;
  for (const PluginKind& each : kinds()) {
    if (each.is_given(decision)) out.push_back(each.names.front());
  }
  return out;
}

}  // namespace signalbox::config
