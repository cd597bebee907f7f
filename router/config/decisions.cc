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
                   fmt::format("unknown model \"{}\"{}", out.model, suggestion(out.model, known)));
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
  using M = ModelRef;
  static const Section<M> section{
      {
          required("model", text(&M::model), "one of providers.models"),
          optional("use_reasoning", boolean(&M::use_reasoning), "switch reasoning on or off"),
          optional("reasoning_effort", text(&M::reasoning_effort),
                   "how much; default: providers.defaults"),
          optional("reasoning_description", string(&M::reasoning_description), "for people"),
          optional("lora_name", string(&M::lora_name), "adapter to ask for in place of the model"),
          optional("weight", positive(&M::weight),
                   "share of the requests, where all have one and the algorithm is static"),
      },
      check_model_ref};
  return section;
}

const Section<DifficultyCase>& difficulty_section() {
  using C = DifficultyCase;
  static const Section<C> section{{
      required("when", when_value(), "which requests, as in rules"),
      optional("use_reasoning", boolean(&C::use_reasoning), "switch reasoning on or off"),
      optional("reasoning_effort", text(&C::reasoning_effort), "how much"),
      optional("max_tokens", integer(&C::max_tokens, 1, INT32_MAX), "of the reply, at most"),
  }};
  return section;
}

const Section<CandidateIteration::Output>& candidate_output_section() {
  using O = CandidateIteration::Output;
  static const Section<O> section{{
      optional("type", string(&O::type), "model"),
      optional("value", string(&O::value), "the variable"),
  }};
  return section;
}

const Section<CandidateIteration>& candidate_section() {
  using C = CandidateIteration;
  static const Section<C> section{{
      optional("variable", string(&C::variable), "stands for each candidate"),
      optional("source", string(&C::source), "where candidates come from"),
      optional("models", list(&C::models, model_ref_section), "the candidates"),
      optional("outputs", list(&C::outputs, candidate_output_section), "what comes of each"),
  }};
  return section;
}

const Section<OutputContract::Reference>& reference_section() {
  using R = OutputContract::Reference;
  static const Section<R> section{{
      optional("source", string(&R::source), "what is referred to"),
      optional("id_format", string(&R::id_format), "by what"),
  }};
  return section;
}

const Section<OutputContract::Extract>& extract_section() {
  using E = OutputContract::Extract;
  static const Section<E> section{{
      optional("mode", string(&E::mode), "how the reference is found"),
      optional("sources", texts(&E::sources), "in which parts of the reply"),
  }};
  return section;
}

const Section<OutputContract::Step>& step_section() {
  static const Section<OutputContract::Step> section{{
      required("type", text(&OutputContract::Step::type), "what is done"),
  }};
  return section;
}

const Section<OutputContract>& contract_section() {
  using O = OutputContract;
  static const Section<O> section{{
      optional("type", string(&O::type), "of the contract"),
      optional("reference", object(&O::reference, reference_section), "of reference_selection"),
      optional("extract", object(&O::extract, extract_section), "how it is read from a reply"),
      optional("postprocess", list(&O::postprocess, step_section), "what becomes of it"),
  }};
  return section;
}

const Section<Adaptations::Adaptation>& adaptation_section() {
  static const Section<Adaptations::Adaptation> section{{
      optional("mode", string(&Adaptations::Adaptation::mode), "apply, observe or bypass"),
  }};
  return section;
}

const Section<Adaptations::Protection>& protection_section() {
  using P = Adaptations::Protection;
  static const Section<P> section{{
      optional("mode", string(&P::mode), "apply, observe or bypass"),
      optional("stability_weight", number(&P::stability_weight), "of staying with a model"),
      optional("switch_margin", number(&P::switch_margin), "advantage that a switch needs"),
      optional("idle_timeout_seconds", count(&P::idle_timeout_seconds), "ends a session"),
      optional("min_turns_before_switch", count(&P::min_turns_before_switch), "of a session"),
  }};
  return section;
}

const Section<Adaptations>& adaptations_section() {
  using A = Adaptations;
  static const Section<A> section{{
      optional("mode", string(&A::mode), "apply, observe or bypass"),
      optional("adaptation", object(&A::adaptation, adaptation_section), "of the choice"),
      optional("protection", object(&A::protection, protection_section), "of a session's model"),
  }};
  return section;
}

const Section<Emit::Retention>& retention_section() {
  using R = Emit::Retention;
  static const Section<R> section{{
      optional("drop", boolean(&R::drop), "the conversation need not be kept"),
      optional("ttl_turns", count(&R::ttl_turns), "keep it for so many turns"),
      optional("keep_current_model", boolean(&R::keep_current_model), "stay with the model"),
      optional("prefer_prefix_retention", boolean(&R::prefer_prefix_retention),
               "keep the beginning"),
  }};
  return section;
}

const Section<Emit>& emit_section() {
  static const Section<Emit> section{{
      required("kind", word(&Emit::kind, {"retention"}), "what is said"),
      optional("retention", object(&Emit::retention, retention_section), "of kind retention"),
  }};
  return section;
}

// What a decision does not say of its algorithm, global.router.model_selection says.
void complete_algorithm(const ModelSelection& defaults, bool given, Algorithm& algorithm) {
  if (!given && defaults.enabled && !defaults.method.empty()) algorithm.type = defaults.method;
  if (!algorithm.router_dc) algorithm.router_dc = defaults.router_dc;
  if (!algorithm.automix) algorithm.automix = defaults.automix;
  if (!algorithm.hybrid) algorithm.hybrid = defaults.hybrid;
  if (!algorithm.knn) algorithm.knn = defaults.ml.knn;
  if (algorithm.knn->pretrained_path.empty() && !defaults.ml.models_path.empty())
    algorithm.knn->pretrained_path = defaults.ml.models_path + "/knn_model.json";
}

void check_decision(Reader& reader, const yaml::Node& node, Decision& out) {
  out.line = node.line;
  const yaml::Node* given = node.find("algorithm");
  const yaml::Node* type = given == nullptr ? nullptr : given->find("type");
  Algorithm& algorithm = out.algorithm;
  complete_algorithm(reader.config.router.model_selection, type != nullptr, algorithm);
  const bool simple = algorithm.type == "confidence" || algorithm.type == "ratings" ||
                      !asks_several(algorithm.type);
  if (is_built(algorithm.type) || (simple && out.model_refs.size() < 2)) return;
  const bool falls_back =
      !asks_several(algorithm.type) && !algorithm.on_error.empty() && algorithm.on_error != "fail";
  reader.at_key("algorithm", [&] {
    reader.not_built(type == nullptr ? node.line : type->line,
                     fmt::format("{}: {}", algorithm.type,
                                 falls_back ? "the first of modelRefs is used, as on_error says"
                                            : "requests that reach this decision are refused"));
  });
}

}  // namespace

const Section<Decision>& decision_section() {
  using D = Decision;
  static const Section<D> section{
      {
          required("name", text(&D::name), "what headers and traces call it"),
          optional("description", string(&D::description), "for people"),
          optional("priority", integer(&D::priority, INT32_MIN, INT32_MAX),
                   "the highest that matches wins"),
          optional("rules", rules_value(), "when it matches; without rules always"),
          optional("modelRefs", list(&D::model_refs, model_ref_section),
                   "who answers; default: default_model"),
          optional("plugins", plugins_value(), "what is done to the request"),
          optional("difficulty", list(&D::difficulty, difficulty_section),
                   "reasoning and length of the reply by how hard a request is"),
          optional("algorithm", algorithm_value(), "how one of several models is chosen"),
          remark<D>("annotations"),
          optional("tier", integer(&D::tier, 0, INT32_MAX), "the lowest that matches wins"),
          optional("output_contract", string(&D::output_contract), "what the reply must keep to")
              .not_built("it has no effect"),
          optional("output_contract_spec", object(&D::output_contract_spec, contract_section),
                   "the same for programs")
              .not_built("it has no effect"),
          optional("adaptations", object(&D::adaptations, adaptations_section),
                   "how learning may change it")
              .not_built("nothing is learnt from outcomes"),
          optional("candidateIterations", list(&D::candidate_iterations, candidate_section),
                   "models that are tried in turn")
              .not_built("the first of modelRefs is used"),
          optional("emits", list(&D::emits, emit_section), "what servers are told")
              .not_built("no retention headers are sent"),
          removed<D>("modelSelectionAlgorithm", "it is algorithm"),
      },
      check_decision};
  return section;
}

}  // namespace signalbox::config
