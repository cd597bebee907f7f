// A decision's `plugins`. Requests are served without a plugin that is not built and would only
// optimise. Requests that need any other missing plugin are refused: to send them unchanged, or to
// answer without documents or memories, is not the router's choice.

#include <algorithm>
#include <chrono>

#include "base/ascii.h"
#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;
using Shadow = ShadowDispatchPlugin;

void check_arm(Reader& reader, const yaml::Node& node, Shadow::Arm& arm) {
  const Providers& providers = reader.config.providers;
  if (arm.model.empty() || providers.models.empty()) return;
  if (arm.name.empty()) arm.name = arm.model;
  if (providers.find(arm.model) != nullptr) return;
  std::vector<std::string_view> known;
  for (const Model& each : providers.models) known.push_back(each.name);
  reader.at_key("model", [&] {
    reader.error(node.find("model")->line,
                 fmt::format("unknown model \"{}\"{}", arm.model, suggestion(arm.model, known)));
  });
}

constexpr Key kShadowArmKeys[] = {
    text(FIELD(Shadow::Arm, name), "Name in traces and records. Default: the model."),
    text(FIELD(Shadow::Arm, model), "One of `providers.models`.").required(),
    word(FIELD(Shadow::Arm, role), "candidate baseline", "Which side is on trial.")
        .no_effect("the report shows what both sides cost"),
    duration(FIELD(Shadow::Arm, timeout), 10ms, 1h,
             "Time limit of the call and of the comparison, each. Default: 30s."),
};
constexpr Section kShadowArm{kShadowArmKeys, checked<check_arm>};

constexpr Key kShadowLimitsKeys[] = {
    integer(FIELD(Shadow::Limits, max_concurrent_shadow), 1, 4096,
            "Requests of all decisions whose shadows are under way, from the first byte of the "
            "client's answer. Further requests get no shadow. Default: 16."),
    count(FIELD(Shadow::Limits, max_calls_per_minute),
          "Calls of all decisions in a minute. 0: no limit. Default: 60. Signalbox only."),
    bytes(FIELD(Shadow::Limits, max_request_bytes), 1, int64_t{1} << 30,
          "Larger requests get no shadow. Default: 1 MiB. Signalbox only."),
    bytes(FIELD(Shadow::Limits, max_response_bytes), 1, int64_t{1} << 20,
          "Greatest size of the text of each answer. Longer ones are not compared. Default: 64 "
          "KiB."),
    count(FIELD(Shadow::Limits, queue_depth), "Shadows that may wait.")
        .no_effect("no shadow waits: it begins or is left out")
        .unless("0"),
};
constexpr Section kShadowLimits{kShadowLimitsKeys};

void check_comparison(Reader& reader, const yaml::Node& node, Shadow::Comparison& comparison) {
  if (comparison.judge.empty()) return;
  const auto& models = reader.config.external_models;
  const auto is_it = [&](const ExternalModel& each) { return each.name == comparison.judge; };
  const auto found = std::find_if(models.begin(), models.end(), is_it);
  if (found != models.end() && !found->llm_endpoint.address.empty()) return;
  const std::string_view why = found == models.end()
                                   ? "there is no model \"{}\" in global.model_catalog.external"
                                   : "the model \"{}\" of global.model_catalog.external has no "
                                     "llm_endpoint.address";
  reader.at_key("judge", [&] {
    reader.error(node.find("judge")->line, fmt::format(fmt::runtime(why), comparison.judge));
  });
}

constexpr Key kShadowComparisonKeys[] = {
    share(
        FIELD(Shadow::Comparison, similarity_threshold),
        "Answers of at least this cosine agree, unless they contradict each other. Default: 0.8."),
    text(FIELD(Shadow::Comparison, judge),
         "Name of a model in `global.model_catalog.external` that decides instead whether two "
         "answers agree."),
};
constexpr Section kShadowComparison{kShadowComparisonKeys, checked<check_comparison>};

constexpr std::string_view kReplayKeeps =
    "router_replay decides whether records contain texts, and pii_mask what they contain";

constexpr Key kShadowCaptureKeys[] = {
    boolean(FIELD(Shadow::Capture, request_body), "Record the request.").no_effect(kReplayKeeps),
    boolean(FIELD(Shadow::Capture, response_body), "Record the answers.").no_effect(kReplayKeeps),
    word(FIELD(Shadow::Capture, redaction), "from_pii_signal none strict",
         "The texts that records do not contain.")
        .no_effect(kReplayKeeps),
};
constexpr Section kShadowCapture{kShadowCaptureKeys};

// --- documents ---

/// The part of one backend that is not built; "" if there is none. is_part: of hybrid.
std::string unbuilt_part(std::string_view kind, const RagBackend& backend, bool is_part) {
  if (kind == "openai" && backend.workflow_mode == "tool_based") {
    if (is_part) return "rag with workflow_mode tool_based as a part of hybrid";
    if (!backend.file_ids.empty()) return "rag with file_ids and workflow_mode tool_based";
  }
  if (kind != "mcp") return "";
  if (backend.endpoint.empty()) return "rag with the backend mcp, without the key endpoint,";
  for (const std::string_view place : {"${matched_domains}", "${matched_keywords}"}) {
    if (backend.tool_arguments.find(place) != std::string::npos)
      return fmt::format("rag with {} in tool_arguments", place);
  }
  return "";
}

bool compares_vectors(std::string_view kind, const RagBackend& backend) {
  return kind == "milvus" || kind == "qdrant" || kind == "vectorstore" ||
         (kind == "external_api" &&
          (backend.request_format == "pinecone" || backend.request_format == "weaviate"));
}

/// Calls `with` with the kind and the keys of each backend that is searched.
template <class With>
bool all_backends(const RagPlugin& plugin, const With& with) {
  const RagBackend& backend = plugin.backend_config;
  if (plugin.backend != "hybrid") return with(plugin.backend, backend);
  const RagBackend none;
  const auto of = [&](const std::vector<RagBackend>& keys) -> const RagBackend& {
    return keys.empty() ? none : keys.front();
  };
  return with(backend.primary, of(backend.primary_config)) &&
         (backend.fallback.empty() || with(backend.fallback, of(backend.fallback_config)));
}

/// The checks of one backend. `node` is its mapping; null: there is none. Keys with a value that is
/// reported already are not reported as missing.
class RagCheck {
 public:
  RagCheck(Reader& reader, uint32_t line, const yaml::Node* node, std::string_view kind)
      : reader_(reader),
        line_(node == nullptr ? line : node->line),
        node_(node != nullptr && node->kind == yaml::Kind::kMapping ? node : nullptr),
        is_missing_(node == nullptr),
        kind_(kind) {}

  void run(const RagBackend& backend) {
    if (node_ == nullptr && !is_missing_) return;
    if (kind_ == "milvus" || kind_ == "qdrant") need("collection");
    if (kind_ == "qdrant") {
      check_name("collection", backend.collection);
      check_filter(backend.filter);
    }
    if (kind_ == "vectorstore") need("vector_store_id");
    if (kind_ == "openai") {
      need("vector_store_id");
      check_name("vector_store_id", backend.vector_store_id);
      check_url("base_url", backend.base_url, false);
      check_key(backend.api_key);
      if (backend.workflow_mode == "tool_based") note_idle({"base_url", "api_key"});
    }
    if (kind_ == "mcp" && !backend.endpoint.empty()) {
      need("server_name");
      need("tool_name");
      // It is a part of messages and of the request ID.
      if (!is_header_value(backend.server_name))
        report("server_name", "expected one line without control characters");
      check_server(backend);
      check_headers(backend);
    }
    if (kind_ != "external_api") return;
    need("endpoint");
    check_server(backend);
    need("request_format");
    if (backend.request_format == "custom") need("request_template");
    check_headers(backend);
  }

 private:
  void check_server(const RagBackend& backend) {
    check_url("endpoint", backend.endpoint, true);
    check_key(backend.api_key);
  }
  void check_headers(const RagBackend& backend) {
    if (!backend.auth_header.empty()) check_header("auth_header", backend.auth_header, "");
    for (const auto& [name, value] : backend.headers) check_header("headers", name, value);
  }
  const yaml::Node* at(std::string_view key) const {
    return node_ == nullptr ? nullptr : node_->find(key);
  }
  void need(std::string_view key) {
    const yaml::Node* value = at(key);
    if (value == nullptr || (value->kind == yaml::Kind::kScalar && value->scalar.empty()))
      reader_.error(line_, fmt::format("the backend {} needs the key {}", kind_, key));
  }
  void report(std::string_view key, std::string message) {
    reader_.at_key(std::string(key), [&] { reader_.error(at(key)->line, std::move(message)); });
  }
  void check_url(std::string_view key, const std::string& url, bool may_query) {
    if (url.empty()) return;
    const size_t question = may_query ? std::min(url.find('?'), url.size()) : url.size();
    const Result<Endpoint> parsed = parse_base_url(url.substr(0, question));
    if (!parsed) return report(key, parsed.error().message);
    const bool is_plain = std::all_of(url.begin() + static_cast<ptrdiff_t>(question), url.end(),
                                      [](char c) { return c > 0x20 && c < 0x7F && c != '#'; });
    if (!is_plain)
      report(key, "expected a query of ASCII characters, without spaces and fragments");
  }
  // The name becomes a part of a path.
  void check_name(std::string_view key, std::string_view name) {
    const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
      return ascii::is_alpha(c) || ascii::is_digit(c) || c == '_' || c == '-' || c == '.';
    });
    const bool is_folder = name == "." || name == "..";
    if (!is_name || is_folder) {
      report(key,
             fmt::format("expected letters, digits, \"_\", \"-\" and \".\", found \"{}\"", name));
    }
  }
  void note_idle(std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (at(key) == nullptr) continue;
      reader_.at_key(key, [&] {
        reader_.does_without(at(key)->line,
                             "has no effect: with workflow_mode tool_based, the server of the "
                             "decision's model searches");
      });
    }
  }
  void check_filter(std::string_view filter) {
    if (!filter.empty() && filter.front() != '{') report("filter", "expected a mapping");
  }
  void check_key(std::string_view key) {
    if (!is_header_value(key)) report("api_key", "the key is not one line");
  }
  void check_header(std::string_view key, std::string_view name, std::string_view value) {
    if (!is_header_name(name) || is_own_header(name))
      report(key, fmt::format("expected the name of a header, found \"{}\"", name));
    if (!is_header_value(value))
      report(key, fmt::format("the value of the header \"{}\" is not one line", name));
  }

  Reader& reader_;
  const uint32_t line_;
  const yaml::Node* const node_;
  const bool is_missing_;
  const std::string_view kind_;
};

void check_arms(Reader& reader, const yaml::Node& node, std::vector<Shadow::Arm>& arms) {
  constexpr size_t kArmsMax = 4;
  if (arms.empty() || arms.size() > kArmsMax)
    reader.error(node.line,
                 fmt::format("expected 1 to {} models, found {}", kArmsMax, arms.size()));
  refuse_twice<&Shadow::Arm::model>(reader, node, arms);
}

constexpr Key kShadowKeys[] = {
    boolean(FIELD(Shadow, enabled), "false sends no shadows. Default: true."),
    share(FIELD(Shadow, sample_rate), "Share of the decision's requests. Default: 0.05."),
    boolean(FIELD(Shadow, skip_cached), "Answers from the cache have no shadow.")
        .no_effect("an answer from the cache never has a shadow, because nothing was asked anew")
        .unless("true yes on"),
    list(FIELD(Shadow, arms), kShadowArm, "The models that answer as shadows, 1 to 4.")
        .required()
        .then<check_arms>(),
    object(FIELD(Shadow, limits), kShadowLimits, "Bounds on calls and texts."),
    object(FIELD(Shadow, comparison), kShadowComparison,
           "How two answers are compared. Signalbox only."),
    object(FIELD(Shadow, capture), kShadowCapture, "Texts for records."),
};

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

/// The part of the plugin that is not built; "" if there is none.
std::string unbuilt_part(const RagPlugin& plugin) {
  std::string out;
  all_backends(plugin, [&](std::string_view kind, const RagBackend& backend) {
    out = unbuilt_part(kind, backend, plugin.backend == "hybrid");
    return out.empty();
  });
  return out;
}

void report_missing(Reader& reader, uint32_t line, const std::string& type, std::string_view what,
                    bool is_essential, Decision& out) {
  if (is_essential) out.missing_plugins.push_back(type);
  reader.does_without(line,
                      fmt::format("{} is not supported: {}", what,
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
  if (!key.is_planned) {
    read();
    const bool lacks_backend = key.name == "rag" && out.rag && out.rag->enabled &&
                               !out.rag->backend.empty() && !is_built(*out.rag);
    if (lacks_backend) report_missing(reader, line, "rag", unbuilt_part(*out.rag), true, out);
    return;
  }
  const bool is_off = configuration.kind == yaml::Kind::kMapping &&
                      !configuration.entries.empty() && is_idle(configuration);
  if (!is_off) report_missing(reader, line, plugin.type, plugin.type, form->is_essential, out);
  reader.in_not_built(read);
}

}  // namespace

constinit const Section kShadowDispatch{kShadowKeys};

bool is_built(const RagPlugin& plugin) {
  return unbuilt_part(plugin).empty();
}

bool searches(const RagPlugin& plugin, std::string_view kind) {
  return !all_backends(plugin, [&](std::string_view each, const auto&) { return each != kind; });
}

bool compares_vectors(const RagPlugin& plugin) {
  return !all_backends(plugin, [](std::string_view kind, const auto& backend) {
    return !compares_vectors(kind, backend);
  });
}

void check_rag(Reader& reader, const yaml::Node& node, RagPlugin& plugin) {
  if (!plugin.enabled) return;
  if (node.find("backend") == nullptr) return reader.error(node.line, "rag needs the key backend");
  const yaml::Node* at = node.find("backend_config");
  const RagBackend& backend = plugin.backend_config;
  reader.at_key("backend_config", [&] {
    if (plugin.backend != "hybrid")
      return RagCheck(reader, node.line, at, plugin.backend).run(backend);
    if (at == nullptr || at->find("primary") == nullptr)
      return reader.error(node.line, "the backend hybrid needs the key primary");
    const auto check = [&](std::string key, const std::string& kind, const auto& keys) {
      const yaml::Node* part = at->find(key);
      reader.at_key(key, [&] {
        RagCheck(reader, at->line, part, kind).run(keys.empty() ? RagBackend() : keys.front());
      });
    };
    check("primary_config", backend.primary, backend.primary_config);
    check("fallback_config", backend.fallback, backend.fallback_config);
  });
}

namespace {

// Gives a notice for keys that the backend does not have, and one if modality_detection has more
// than the key that counts here.
void note_idle_image_keys(Reader& reader, const yaml::Node& node, bool is_openai) {
  const auto note = [&](const yaml::Node* section, std::string_view at, std::string_view keys) {
    for (const std::string_view key : split_words(keys)) {
      const yaml::Node* found = section == nullptr ? nullptr : section->find(key);
      if (found == nullptr) continue;
      reader.at_key(fmt::format("{}{}", at, key), [&] {
        reader.does_without(found->line, "has no effect: it is for the other backend");
      });
    }
  };
  const yaml::Node* backend = node.find("backend_config");
  note(backend, "backend_config.",
       is_openai ? "num_inference_steps cfg_scale seed" : "quality style");
  if (is_openai) note(&node, "", "max_inference_steps");
  const yaml::Node* detection = node.find("modality_detection");
  if (detection == nullptr) return;
  const size_t used = detection->find("prompt_prefixes") == nullptr ? 0 : 1;
  if (detection->entries.size() == used) return;
  reader.at_key("modality_detection", [&] {
    reader.does_without(
        detection->line,
        "only prompt_prefixes has an effect: the decision's conditions select the requests");
  });
}

}  // namespace

void check_image_gen(Reader& reader, const yaml::Node& node, ImageGenPlugin& plugin) {
  if (!plugin.enabled) return;
  if (node.find("backend") == nullptr)
    return reader.error(node.line, "image_gen needs the key backend");
  if (plugin.backend.empty()) return;
  const bool is_openai = plugin.backend == "openai";
  note_idle_image_keys(reader, node, is_openai);
  const ImageGenPlugin::Backend& backend = plugin.backend_config;
  const std::string_view missing = !backend.base_url.empty() ? ""
                                   : !is_openai              ? "base_url"
                                   : backend.api_key.empty() ? "api_key"
                                                             : "";
  if (!missing.empty()) {
    return reader.error(node.line, fmt::format("the backend {} needs the key backend_config.{}",
                                               plugin.backend, missing));
  }
  const std::string url = backend.base_url.empty() ? "https://api.openai.com" : backend.base_url;
  Result<BackendRef> ref = server_at(url);
  const auto refuse = [&](const char* key, std::string message) {
    const yaml::Node& at = *node.find("backend_config");
    reader.at_key("backend_config", [&] {
      reader.at_key(key, [&] { reader.error(at.find(key)->line, std::move(message)); });
    });
  };
  if (!ref) return refuse("base_url", ref.error().message);
  if (!is_header_value(backend.api_key)) return refuse("api_key", "the key is not one line");
  ref->api_key = backend.api_key;
  plugin.server.provider_model_id =
      backend.model.empty() && is_openai ? "gpt-image-1" : backend.model;
  plugin.server.backend_refs = {*std::move(ref)};
  const uint32_t seconds = plugin.timeout_seconds > 0 ? plugin.timeout_seconds
                           : is_openai                ? 60
                                                      : 120;
  plugin.server.reliability.emplace().reply_timeout = std::chrono::seconds(seconds);
}

void read_plugins(Reader& reader, const yaml::Node& node, Decision& out) {
  if (node.kind != yaml::Kind::kSequence) return reader.expected(node, "a list of mappings");
  for (size_t i = 0; i < node.items.size(); ++i)
    reader.at_index(i, [&] { read_plugin(reader, node.items[i], out); });
}

std::vector<const ShadowDispatchPlugin*> shadows_of(const Config& config) {
  std::vector<const ShadowDispatchPlugin*> out;
  for (const Routing* routing : routings_of(config)) {
    for (const Decision& decision : routing->decisions) {
      if (decision.shadow_dispatch && decision.shadow_dispatch->is_on())
        out.push_back(&*decision.shadow_dispatch);
    }
  }
  return out;
}

std::vector<const Model*> image_servers_of(const Config& config) {
  std::vector<const Model*> out;
  for (const Routing* routing : routings_of(config)) {
    for (const Decision& decision : routing->decisions) {
      if (decision.image_gen && decision.image_gen->enabled)
        out.push_back(&decision.image_gen->server);
    }
  }
  return out;
}

std::vector<std::string_view> plugin_names(const Decision& decision) {
  std::vector<std::string_view> out;
  for (const Variant& form : kPluginForms) {
    if (is_given(form, decision)) out.push_back(form.configuration.name);
  }
  return out;
}

}  // namespace signalbox::config
