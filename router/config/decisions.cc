// `routing.decisions`: which model answers, and how it is asked.

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

void check_model_ref(Reader& reader, const yaml::Node& node, ModelRef& out) {
  const Providers& providers = reader.config.providers;
  if (out.model.empty() || providers.models.empty()) return;
  const Model* model = providers.find(out.model);
  if (model == nullptr) {
    std::vector<std::string_view> known;
    for (const Model& each : providers.models) known.push_back(each.name);
    reader.at_key("model", [&] {
      reader.error(node.find("model")->line,
                   fmt::format("unknown model \"{}\" (known: {})", out.model, join(known)));
    });
    return;
  }
  if (out.use_reasoning == true && model->reasoning_family.empty()) {
    reader.at_key("use_reasoning", [&] {
      reader.notice(
          node.find("use_reasoning")->line,
          fmt::format(
              "model \"{}\" has no reasoning_family; its reasoning is left as the client asks",
              out.model));
    });
  }
}

const Section<ModelRef>& model_ref_section() {
  static const Section<ModelRef> section{
      {
          required("model", text(&ModelRef::model), "one of providers.models"),
          optional("use_reasoning", boolean(&ModelRef::use_reasoning),
                   "switch reasoning on or off"),
          optional("reasoning_effort", text(&ModelRef::reasoning_effort),
                   "how much; default: providers.defaults"),
          remark<ModelRef>("reasoning_description"),
          not_built<ModelRef>("lora_name", "the model is asked for without the adapter"),
          not_built<ModelRef>("weight", "the first model is used"),
      },
      check_model_ref};
  return section;
}

void check_algorithm(Reader& reader, const yaml::Node& node, Decision&) {
  if (node.kind != yaml::Kind::kMapping) return reader.expected(node, "a mapping");
  const yaml::Node* type = node.find("type");
  if (type == nullptr || type->scalar == "static") return;
  reader.not_built(type->line,
                   fmt::format("algorithm {}: the first of modelRefs is used", found(*type)));
}

}  // namespace

const Section<Decision>& decision_section() {
  static const Section<Decision> section{
      {
          required("name", text(&Decision::name), "what headers and traces call it"),
          optional("description", text(&Decision::description), "for people"),
          optional("priority", integer(&Decision::priority, INT32_MIN, INT32_MAX),
                   "the highest that matches wins"),
          optional("rules",
                   Value<Decision>{"a mapping",
                                   [](Reader& reader, const yaml::Node& node, Decision& out) {
                                     read_rules(reader, node, out.rules);
                                   }},
                   "when it matches; without rules always"),
          optional("modelRefs", list(&Decision::model_refs, model_ref_section),
                   "who answers; default: default_model"),
          optional("plugins", Value<Decision>{"a list of mappings", read_plugins},
                   "what is done to the request"),
          optional("algorithm", Value<Decision>{"a mapping", check_algorithm},
                   "how one of several models is chosen"),
          remark<Decision>("annotations"),
          not_built<Decision>("tier", "strategy alone orders the decisions"),
          not_built<Decision>("output_contract", "it has no effect"),
          not_built<Decision>("output_contract_spec", "it has no effect"),
          not_built<Decision>("adaptations", "nothing is learnt from outcomes"),
          not_built<Decision>("candidateIterations", "the first of modelRefs is used"),
          not_built<Decision>("emits", "no retention headers are sent"),
      },
      [](Reader&, const yaml::Node& node, Decision& out) { out.line = node.line; }};
  return section;
}

}  // namespace signalbox::config
