// `providers`: the models that requests can go to, and the servers behind them.

#include "router/config/pii_types.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

void check_model(Reader& reader, const yaml::Node& node, Model& out) {
  if (out.provider_model_id.empty()) out.provider_model_id = out.name;
  const auto& families = reader.config.providers.reasoning_families;
  if (!out.reasoning_family.empty() && families.find(out.reasoning_family) == families.end()) {
    std::vector<std::string_view> known;
    for (const auto& [name, family] : families) known.push_back(name);
    reader.at_key("reasoning_family", [&] {
      reader.error(
          node.find("reasoning_family")->line,
          fmt::format("unknown family \"{}\" (known: {})", out.reasoning_family, join(known)));
    });
  }
  const yaml::Node* backends = node.find("backend_refs");
  if (backends != nullptr && is_idle(*backends)) {
    reader.at_key("backend_refs", [&] {
      reader.error(backends->line, "expected at least one backend, found none");
    });
  }
}

const Section<Pricing>& pricing_section() {
  static const Section<Pricing> section{{
      optional("currency", text(&Pricing::currency), "of the prices"),
      optional("prompt_per_1m", positive(&Pricing::prompt_per_1m), "a million tokens read"),
      optional("cached_input_per_1m", positive(&Pricing::cached_input_per_1m),
               "a million tokens read from the server's cache"),
      optional("cache_write_per_1m", positive(&Pricing::cache_write_per_1m),
               "a million tokens written to it"),
      optional("completion_per_1m", positive(&Pricing::completion_per_1m),
               "a million tokens generated"),
  }};
  return section;
}

const Section<PiiPolicy>& pii_policy_section() {
  static const Section<PiiPolicy> section{{
      optional("allow_by_default", boolean(&PiiPolicy::allow_by_default),
               "whether types that are not listed may pass"),
      optional("pii_types_allowed", pii_types(&PiiPolicy::pii_types_allowed),
               "types that may pass"),
  }};
  return section;
}

const Section<Model>& model_section() {
  using ApiFormat = Model::ApiFormat;
  static const Section<Model> section{
      {
          required("name", text(&Model::name), "what clients and decisions call it"),
          optional("provider_model_id", text(&Model::provider_model_id),
                   "what the server calls it; default: name"),
          optional("reasoning_family", text(&Model::reasoning_family), "how reasoning is switched"),
          required("backend_refs", backends_value(), "the servers that have it"),
          optional("api_format",
                   choice(&Model::api_format,
                          {{"openai", ApiFormat::kOpenAi}, {"anthropic", ApiFormat::kAnthropic}}),
                   "the server's protocol"),
          optional("pricing", object(&Model::pricing, pricing_section),
                   "what its tokens cost, for algorithms that compare models"),
          optional("reliability", object(&Model::reliability, reliability_section),
                   "choice among backends, retries, health and ejection"),
          optional("external_model_ids", text_map(&Model::external_model_ids),
                   "what each provider calls it")
              .not_built("provider_model_id is sent to every backend"),
          optional("pii_policy", object(&Model::pii_policy, pii_policy_section),
                   "which personal data it may see"),
          removed<Model>("endpoints", "backends are listed in backend_refs"),
          removed<Model>("preferred_endpoints", "backends are listed in backend_refs"),
          removed<Model>("access_key", "a key is named by api_key_env of a backend"),
      },
      check_model};
  return section;
}

const Section<ReasoningFamily>& family_section() {
  using Type = ReasoningFamily::Type;
  static const Section<ReasoningFamily> section{{
      required("type",
               choice(&ReasoningFamily::type,
                      {{"chat_template_kwargs", Type::kChatTemplateKwargs},
                       {"reasoning_effort", Type::kReasoningEffort},
                       {"top_level_reasoning_effort", Type::kTopLevelReasoningEffort}}),
               "where the switch goes in a request"),
      required("parameter", text(&ReasoningFamily::parameter), "its name there"),
  }};
  return section;
}

const Section<Providers>& defaults_section() {
  static const Section<Providers> section{{
      required("default_model", text(&Providers::default_model),
               "where a request goes when no decision matches"),
      optional("default_reasoning_effort", text(&Providers::default_reasoning_effort),
               "when a decision names none"),
      optional("reasoning_families", map(&Providers::reasoning_families, family_section),
               "ways of switching reasoning on and off"),
  }};
  return section;
}

void check_fallbacks(Reader& reader, const yaml::Node& models, const Providers& out) {
  for (size_t i = 0; i < out.models.size() && i < models.items.size(); ++i) {
    const Model& model = out.models[i];
    if (!model.reliability) continue;
    for (const std::string& name : model.reliability->fallback_models) {
      if (out.find(name) != nullptr && name != model.name) continue;
      std::vector<std::string_view> others;
      for (const Model& other : out.models) {
        if (other.name != model.name) others.push_back(other.name);
      }
      const yaml::Node& at = *models.items[i].find("reliability")->find("fallback_models");
      reader.at_key(fmt::format("models[{}].reliability.fallback_models", i), [&] {
        reader.error(at.line, fmt::format("expected another model, found \"{}\" (known: {})", name,
                                          join(others)));
      });
    }
  }
}

void check_providers(Reader& reader, const yaml::Node& node, Providers& out) {
  const yaml::Node* models = node.find("models");
  if (models != nullptr && is_idle(*models)) {
    reader.at_key("models",
                  [&] { reader.error(models->line, "expected at least one model, found none"); });
  }
  if (models != nullptr) check_fallbacks(reader, *models, out);
  if (out.default_model.empty() || out.models.empty() || out.find(out.default_model) != nullptr)
    return;
  std::vector<std::string_view> known;
  for (const Model& model : out.models) known.push_back(model.name);
  reader.at_key("defaults", [&] {
    reader.at_key("default_model", [&] {
      reader.error(node.find("defaults")->find("default_model")->line,
                   fmt::format("unknown model \"{}\" (known: {})", out.default_model, join(known)));
    });
  });
}

}  // namespace

const Section<Providers>& providers_section() {
  static const Section<Providers> section{
      {
          required("defaults", group(defaults_section),
                   "what holds unless a decision says otherwise"),
          required("models", named_list(&Providers::models, model_section), "the models"),
          removed<Providers>("default_model", "it is providers.defaults.default_model"),
          removed<Providers>("reasoning_families",
                             "they are providers.defaults.reasoning_families"),
          removed<Providers>("default_reasoning_effort",
                             "it is providers.defaults.default_reasoning_effort"),
          removed<Providers>("model_targets", "each of providers.models has its backend_refs"),
          removed<Providers>("backends", "each of providers.models has its backend_refs"),
          removed<Providers>("auth_profiles", "each backend has its api_key_env"),
          removed<Providers>("external_models", "they are global.model_catalog.external"),
      },
      check_providers};
  return section;
}

}  // namespace signalbox::config
