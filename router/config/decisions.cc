// `routing.decisions`: conditions on signals, the models that answer, and the plugins. A condition
// is checked against the signals of the routing that contains it.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

// --- rules ---

using Names = std::vector<std::string>;

template <class Signal>
Names names_of(const std::vector<Signal>& signals) {
  Names names;
  for (const Signal& signal : signals) names.push_back(signal.name);
  return names;
}

template <class Signal>
Names names_and(const std::vector<Signal>& signals, std::initializer_list<std::string_view> more) {
  Names names = names_of(signals);
  for (const std::string_view name : more) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
  return names;
}

Names complexity_names(const Routing& routing) {
  Names names;
  for (const ComplexitySignal& signal : routing.complexity) {
    for (const std::string_view level : {":hard", ":medium", ":easy"})
      names.push_back(std::string(signal.name).append(level));
  }
  return names;
}

Names role_names(const Routing& routing) {
  Names names;
  for (const RoleBinding& binding : routing.role_bindings) names.push_back(binding.role);
  return names;
}

Names output_names(const Routing& routing) {
  Names names;
  for (const Mapping& mapping : routing.projections.mappings) {
    for (const Mapping::Output& output : mapping.outputs) names.push_back(output.name);
  }
  return names;
}

struct SignalType {
  std::string_view name;
  Names (*names)(const Routing&);  // the names that conditions may use
};

// Classes of a classifier need not be listed among the signals.
constexpr auto kSignalTypes = std::to_array<SignalType>({
    {"keyword", [](const Routing& r) { return names_of(r.keywords); }},
    {"embedding", [](const Routing& r) { return names_of(r.embeddings); }},
    {"intent", [](const Routing& r) { return names_of(r.intents); }},
    {"domain",
     [](const Routing& r) {
       return names_and(r.domains, {"biology", "business", "chemistry", "computer science",
                                    "economics", "engineering", "health", "history", "law", "math",
                                    "other", "philosophy", "physics", "psychology"});
     }},
    {"fact_check",
     [](const Routing& r) {
       return names_and(r.fact_check, {"needs_fact_check", "no_fact_check_needed"});
     }},
    {"user_feedback",
     [](const Routing& r) {
       return names_and(r.user_feedbacks,
                        {"satisfied", "need_clarification", "wrong_answer", "want_different"});
     }},
    {"reask", [](const Routing& r) { return names_of(r.reasks); }},
    {"preference", [](const Routing& r) { return names_of(r.preferences); }},
    {"language", [](const Routing& r) { return names_of(r.language); }},
    {"context", [](const Routing& r) { return names_of(r.context); }},
    {"structure", [](const Routing& r) { return names_of(r.structure); }},
    {"complexity", complexity_names},
    {"modality",
     [](const Routing& r) {
       return names_and(r.modality, {"AR", "DIFFUSION", "BOTH"});
     }},
    {"authz", role_names},
    {"jailbreak", [](const Routing& r) { return names_of(r.jailbreak); }},
    {"safety", [](const Routing& r) { return names_of(r.safety); }},
    {"pii", [](const Routing& r) { return names_of(r.pii); }},
    {"kb", [](const Routing& r) { return names_of(r.kb); }},
    {"conversation", [](const Routing& r) { return names_of(r.conversation); }},
    {"event", [](const Routing& r) { return names_of(r.events); }},
    {"metadata", [](const Routing& r) { return names_of(r.metadata); }},
    {"input_modality", [](const Routing& r) { return names_of(r.input_modality); }},
    {"action", [](const Routing& r) { return names_of(r.actions); }},
    {"agentic_facts", [](const Routing& r) { return names_of(r.agentic_facts); }},
    {"session", [](const Routing& r) { return names_of(r.session); }},
    {"random", [](const Routing& r) { return names_of(r.random); }},
    {"decision", [](const Routing& r) { return names_of(r.questions); }},
    {"classifier", [](const Routing& r) { return names_of(r.classifiers); }},
    {"projection", output_names},
});

void unknown_signal_type(Reader& reader, uint32_t line, std::string_view type) {
  if (type == kSessionMetric) {
    return reader.at_key("type", [&] {
      reader.does_without(line,
                          "does not match, nor does NOT of it: there are no signals of this type");
    });
  }
  std::vector<std::string_view> names;
  for (const SignalType& each : kSignalTypes) names.push_back(each.name);
  reader.at_key("type", [&] {
    reader.error(line, fmt::format("unknown signal type \"{}\"{}", type, suggestion(type, names)));
  });
}

// The names that inputs of scores may use: a score itself, a class of a classifier.
Names input_names(const SignalType& type, const Routing& routing, std::string_view name) {
  Names names = type.names(routing);
  if (type.name == "projection") {
    for (const Score& score : routing.projections.scores) names.push_back(score.name);
  }
  if (type.name == "decision") {
    for (const QuestionSignal& signal : routing.questions) {
      for (const QuestionSignal::Option& option : signal.question.choices)
        names.push_back(fmt::format("{}:{}", signal.name, option.key));
    }
  }
  if (type.name != "classifier") return names;
  names.clear();
  for (const ClassifierSignal& signal : routing.classifiers) {
    for (const std::string& label : signal.labels)
      names.push_back(fmt::format("{}:{}", signal.name, label));
    // The model of a signal without labels may have any.
    const std::string prefix = signal.name + ":";
    if (signal.labels.empty() && name.starts_with(prefix)) names.emplace_back(name);
  }
  return names;
}

void check_leaf(Reader& reader, const yaml::Node& node, Rule& rule) {
  rule.op = Rule::Operator::kLeaf;
  if (rule.type.empty()) return;
  const auto type = std::find_if(kSignalTypes.begin(), kSignalTypes.end(),
                                 [&](const SignalType& each) { return each.name == rule.type; });
  if (type == kSignalTypes.end())
    return unknown_signal_type(reader, node.find("type")->line, rule.type);
  if (rule.name.empty()) {
    if (node.find("name") != nullptr) return;
    reader.at_key("name",
                  [&] { reader.error(node.line, "missing; expected the name of a signal"); });
    return;
  }
  if (reader.routing != nullptr) {
    check_signal_name(reader, node.find("name")->line, type->name, rule.name,
                      type->names(*reader.routing));
  }
  check_label(reader, node, rule);
}

Rule::OnError opposite_of(Rule::OnError result) {
  using OnError = Rule::OnError;
  if (result == OnError::kMatch) return OnError::kNoMatch;
  return result == OnError::kNoMatch ? OnError::kMatch : result;
}

// Every condition on an unknown signal gets the result that lets the whole rule have it, except in
// rules inside with an on_unknown of their own.
void set_unknown(Rule& rule, Rule::OnError result) {
  rule.on_error = result;
  const bool is_negated = rule.op == Rule::Operator::kNot;
  for (Rule& each : rule.conditions) {
    const bool has_own =
        each.op != Rule::Operator::kLeaf && each.on_error != Rule::OnError::kDefault;
    if (!has_own) set_unknown(each, is_negated ? opposite_of(result) : result);
  }
}

void read_unknown(Reader& reader, const yaml::Node& node, Rule& rule) {
  const yaml::Node* result = given(node, "on_unknown");
  if (result == nullptr) return;
  reader.at_key("on_unknown", [&] {
    constexpr std::string_view kExpected = "match, no_match or fail_request";
    const auto word = reader.scalar(*result, kExpected);
    if (!word) return;
    if (word->text == "match") return set_unknown(rule, Rule::OnError::kMatch);
    if (word->text == "no_match") return set_unknown(rule, Rule::OnError::kNoMatch);
    if (word->text != "fail_request") return reader.expected(*result, kExpected);
    if (!reader.path().ends_with(".rules.on_unknown"))
      return reader.error(result->line, "fail_request is for the whole rules of a decision");
    set_unknown(rule, Rule::OnError::kUnknown);
  });
}

void check_node(Reader& reader, const yaml::Node& node, Rule& rule) {
  const bool has_operator = node.find("operator") != nullptr;
  const bool has_type = node.find("type") != nullptr;
  if (has_operator && has_type)
    return reader.error(node.line,
                        "expected type and name, or operator and conditions, found both");
  if (has_type) return check_leaf(reader, node, rule);
  if (!has_operator) {
    if (node.kind == yaml::Kind::kMapping && !node.entries.empty())
      reader.error(node.line, "expected type and name, or operator and conditions");
    return;
  }
  if (rule.op == Rule::Operator::kNot && rule.conditions.size() != 1) {
    reader.error(node.line, fmt::format("expected exactly one condition under NOT, found {}",
                                        rule.conditions.size()));
  }
}

void check_rule(Reader& reader, const yaml::Node& node, Rule& rule) {
  rule.line = node.line;
  check_node(reader, node, rule);
  read_unknown(reader, node, rule);
}

constexpr Choice kRuleOperators[] = {
    {"AND", Rule::Operator::kAnd}, {"OR", Rule::Operator::kOr}, {"NOT", Rule::Operator::kNot}};
constexpr Choice kRuleOnError[] = {{"match", Rule::OnError::kMatch},
                                   {"no_match", Rule::OnError::kNoMatch}};

constexpr Key kRuleKeys[] = {
    text(FIELD(Rule, type), "Type of the signal."),
    text(FIELD(Rule, name), "Name of the signal."),
    choice(FIELD_AS("operator", Rule, op), kRuleOperators, "How to combine the conditions."),
    list(FIELD(Rule, conditions), kRule, "The conditions to combine."),
    text(FIELD(Rule, label),
         "Class that must match, for type `classifier`; option, for a choice of type `decision`."),
    object(FIELD(Rule, predicate), kPredicate, "Bounds of the signal's score."),
    choice(FIELD(Rule, on_error), kRuleOnError,
           "Result if the signal cannot be evaluated. Default: see docs/decisions.md."),
    unbound(
        "on_unknown", Kind::kRemark,
        "Result if it depends on signals that cannot be evaluated, instead of their `on_error`: "
        "`match` or `no_match`. With `fail_request`, for the rules of a decision as a whole, the "
        "request gets 503, even if another decision matches."),
};

// --- decisions ---

void expect_known_model(Reader& reader, const yaml::Node& at, std::string_view name) {
  const Providers& providers = reader.config.providers;
  if (providers.models.empty() || providers.find(name) != nullptr) return;
  std::vector<std::string_view> known;
  for (const Model& each : providers.models) known.push_back(each.name);
  reader.error(at.line, fmt::format("unknown model \"{}\"{}", name, suggestion(name, known)));
}

void check_model_ref(Reader& reader, const yaml::Node& node, ModelRef& out) {
  if (out.model.empty()) return;
  reader.at_key("model", [&] { expect_known_model(reader, *node.find("model"), out.model); });
  const Model* model = reader.config.providers.find(out.model);
  if (model == nullptr) return;
  if (out.use_reasoning == true && model->reasoning_family.empty()) {
    reader.at_key("use_reasoning", [&] {
      reader.notice(node.find("use_reasoning")->line,
                    fmt::format("has no effect; model \"{}\" has no reasoning_family, so the "
                                "client's setting stays",
                                out.model));
    });
  }
  const std::vector<std::string>& levels = model->own_reasoning.levels;
  if (out.reasoning_effort.empty() || levels.empty() ||
      std::ranges::find(levels, out.reasoning_effort) != levels.end())
    return;
  reader.at_key("reasoning_effort", [&] {
    reader.notice(node.find("reasoning_effort")->line,
                  fmt::format("\"{}\" is not one of the levels of model \"{}\" ({}), so its "
                              "servers may refuse it",
                              out.reasoning_effort, out.model, fmt::join(levels, ", ")));
  });
}

constexpr Key kModelRefKeys[] = {
    text(FIELD(ModelRef, model), "One of `providers.models`.").required(),
    boolean(FIELD(ModelRef, use_reasoning), "Switch reasoning on or off."),
    text(FIELD(ModelRef, reasoning_effort),
         "Reasoning effort. Default: `providers.defaults.default_reasoning_effort`."),
    string(FIELD(ModelRef, reasoning_description), "For people."),
    unread("reasoning_mode", "Mode of reasoning.", "`use_reasoning` switches reasoning"),
    string(FIELD(ModelRef, lora_name), "Adapter to request instead of the model."),
    positive(FIELD(ModelRef, weight),
             "Share of the requests, if all models have a weight and the algorithm is `static`."),
};
constexpr Section kModelRef{kModelRefKeys, checked<check_model_ref>};

constexpr Key kDifficultyKeys[] = {
    object(FIELD(DifficultyCase, when), kRule, "Condition on signals, as in `rules`.").required(),
    boolean(FIELD(DifficultyCase, use_reasoning), "Switch reasoning on or off."),
    text(FIELD(DifficultyCase, reasoning_effort), "Reasoning effort."),
    integer(FIELD(DifficultyCase, max_tokens), 1, INT32_MAX,
            "Greatest length of the reply, in tokens."),
};
constexpr Section kDifficulty{kDifficultyKeys};

using CandidateOutput = CandidateIteration::Output;

constexpr Key kCandidateOutputKeys[] = {
    string(FIELD(CandidateOutput, type), "Type of the output: `model`."),
    string(FIELD(CandidateOutput, value), "The variable."),
};
constexpr Section kCandidateOutput{kCandidateOutputKeys};

constexpr Key kCandidateKeys[] = {
    string(FIELD(CandidateIteration, variable), "Variable that stands for each candidate."),
    string(FIELD(CandidateIteration, source), "Source of the candidates."),
    list(FIELD(CandidateIteration, models), kModelRef, "The candidates."),
    list(FIELD(CandidateIteration, outputs), kCandidateOutput, "Outputs of each candidate."),
};
constexpr Section kCandidate{kCandidateKeys};

using ContractReference = OutputContract::Reference;

constexpr Key kContractReferenceKeys[] = {
    string(FIELD(ContractReference, source), "The source that the reply refers to."),
    string(FIELD(ContractReference, id_format), "Format of the references."),
};
constexpr Section kContractReference{kContractReferenceKeys};

using ContractExtract = OutputContract::Extract;

constexpr Key kContractExtractKeys[] = {
    string(FIELD(ContractExtract, mode), "How to find the reference."),
    texts(FIELD(ContractExtract, sources), "Parts of the reply to search."),
};
constexpr Section kContractExtract{kContractExtractKeys};

using ContractStep = OutputContract::Step;

constexpr Key kContractStepKeys[] = {
    text(FIELD(ContractStep, type), "The operation.").required(),
};
constexpr Section kContractStep{kContractStepKeys};

constexpr Key kContractKeys[] = {
    string(FIELD(OutputContract, type), "Type of the contract."),
    object(FIELD(OutputContract, reference), kContractReference,
           "References, for type `reference_selection`."),
    object(FIELD(OutputContract, extract), kContractExtract,
           "How to read the result from a reply."),
    list(FIELD(OutputContract, postprocess), kContractStep, "Operations on the result."),
};
constexpr Section kContract{kContractKeys};

constexpr std::string_view kModes = "apply observe bypass";

using DecisionAdaptation = Adaptations::Adaptation;

constexpr Key kAdaptationKeys[] = {
    word(FIELD(DecisionAdaptation, mode), kModes,
         "The same for adaptation alone; the weaker of both modes applies."),
    word(FIELD(DecisionAdaptation, candidate_set), "decision tier global", "Models to choose from.")
        .not_built("the decision's own models are the candidates")
        .unless("decision"),
};
constexpr Section kAdaptation{kAdaptationKeys};

using DecisionProtection = Adaptations::Protection;

constexpr Key kProtectionKeys[] = {
    word(FIELD(DecisionProtection, mode), kModes,
         "The same for protection alone; the weaker of both modes applies."),
    positive(FIELD(DecisionProtection, stability_weight),
             "Weight of the cost of a change of model."),
    positive(FIELD(DecisionProtection, switch_margin),
             "Advantage that a change of model needs beyond its cost."),
    count(FIELD(DecisionProtection, idle_timeout_seconds),
          "Idle time after which the model may change freely, in seconds. 0: never."),
    count(FIELD(DecisionProtection, min_turns_before_switch),
          "Turns that a model answers before another one may."),
};
constexpr Section kProtection{kProtectionKeys};

constexpr Key kAdaptationsKeys[] = {
    word(FIELD(Adaptations, mode), kModes,
         "`apply`, `observe` (report what learning would do) or `bypass` (leave learning out). "
         "Default: `apply`."),
    object(FIELD(Adaptations, adaptation), kAdaptation, "Adaptation of the choice of models."),
    object(FIELD(Adaptations, protection), kProtection, "Protection of a conversation's model."),
};
constexpr Section kAdaptations{kAdaptationsKeys};

using EmitRetention = Emit::Retention;

constexpr Key kEmitRetentionKeys[] = {
    boolean(FIELD(EmitRetention, drop),
            "The router stores no answer: not in the response cache, as a memory, or as a response "
            "of OpenAI's API. Servers of the responses API get `store: false`."),
    integer(FIELD(EmitRetention, ttl_turns), 0, 1'000'000,
            "Turns for which the response cache keeps an answer, a minute each. No effect if this "
            "or `ttl_seconds` is 0."),
    boolean(FIELD(EmitRetention, keep_current_model),
            "Keep the conversation's model if it is one of the decision's, whatever another one "
            "would gain."),
    boolean(FIELD(EmitRetention, prefer_prefix_retention),
            "Servers should keep the beginning of the conversation. Only the header "
            "`x-vsr-retention-prefer-prefix` has it."),
};
constexpr Section kEmitRetention{kEmitRetentionKeys};

constexpr Key kEmitKeys[] = {
    word(FIELD(Emit, kind), "retention", "Kind of directive.").required(),
    object(FIELD(Emit, retention), kEmitRetention, "The directive.").required(),
};
constexpr Section kEmit{kEmitKeys};

// Completes the algorithm with the settings of global.router.model_selection.
void complete_algorithm(const ModelSelection& defaults, bool has_type, Algorithm& algorithm) {
  if (!has_type && defaults.enabled && !defaults.method.empty()) algorithm.type = defaults.method;
  if (!algorithm.router_dc) algorithm.router_dc = defaults.router_dc;
  if (!algorithm.automix) algorithm.automix = defaults.automix;
  if (!algorithm.hybrid) algorithm.hybrid = defaults.hybrid;
  const auto complete = [&folder = defaults.ml.models_path](std::optional<MlSelector>& own,
                                                            const MlSelector& all,
                                                            std::string_view name) {
    if (!own) own = all;
    if (own->pretrained_path.empty() && !folder.empty())
      own->pretrained_path = fmt::format("{}/{}_model.json", folder, name);
  };
  complete(algorithm.knn, defaults.ml.knn, "knn");
  complete(algorithm.kmeans, defaults.ml.kmeans, "kmeans");
  complete(algorithm.svm, defaults.ml.svm, "svm");
  complete(algorithm.mlp, defaults.ml.mlp, "mlp");
}

void check_emits(Reader& reader, const yaml::Node& node, const Decision& decision) {
  const Emit::Retention* retention = retention_of(decision);
  if (retention == nullptr) return;
  const uint32_t line = node.find("emits")->line;
  reader.at_key("emits", [&] {
    if (decision.emits.size() > 1)
      reader.error(line, fmt::format("expected one directive, found {}", decision.emits.size()));
    if (retention->drop.value_or(false) && retention->ttl_turns.value_or(0) > 0)
      reader.error(line,
                   "drop and ttl_turns exclude each other: an answer that is not stored has "
                   "no lifetime");
  });
}

// Puts the destination in front of the other models, because the first model that can answer gets
// the request.
void apply_action(Reader& reader, const yaml::Node& node, Decision& out) {
  const std::string& destination = out.action.destination;
  const yaml::Node* found = node.find("action");
  if (found == nullptr || is_idle(*found)) return;
  const yaml::Node& action = *found;
  std::string_view missing = given(action, "destination") == nullptr ? "destination" : "";
  if (given(action, "type") == nullptr) missing = "type";
  if (!missing.empty()) {
    return reader.at_key(fmt::format("action.{}", missing), [&] {
      reader.error(action.line, "missing; expected type: route and a destination");
    });
  }
  if (destination.empty()) return;
  ModelRef ref;
  ref.model = destination;
  reader.at_key("action.destination", [&] { expect_known_model(reader, action, destination); });
  if (node.find("algorithm") != nullptr) {
    reader.at_key("algorithm", [&] {
      reader.notice(node.find("algorithm")->line, "has no effect: action names the model");
    });
  }
  auto& refs = out.model_refs;
  const auto own = std::ranges::find(refs, destination, &ModelRef::model);
  if (own != refs.end()) {
    ref = std::move(*own);
    refs.erase(own);
  }
  refs.insert(refs.begin(), std::move(ref));
  for (ModelRef& each : refs) each.weight.reset();
  out.algorithm.type = Algorithm().type;
}

void check_decision(Reader& reader, const yaml::Node& node, Decision& out) {
  out.line = node.line;
  check_minimum(reader, node, out);
  check_emits(reader, node, out);
  const yaml::Node* written = node.find("algorithm");
  const yaml::Node* type = written == nullptr ? nullptr : written->find("type");
  complete_algorithm(reader.config.router.model_selection, type != nullptr, out.algorithm);
  apply_action(reader, node, out);
  check_stages(reader, node, out);
  if (!out.shadow_dispatch) return;
  std::string why;
  if (calls_several(out.algorithm, out.model_refs.size()))
    why = "shadow_dispatch has no effect: the algorithm calls several models itself";
  for (const auto& arm : out.shadow_dispatch->arms) {
    if (out.model_refs.size() == 1 && out.model_refs[0].model == arm.model)
      why = fmt::format(
          "the arm \"{}\" of shadow_dispatch has no effect: the decision has no other "
          "model",
          arm.name);
  }
  if (why.empty()) return;
  reader.at_key("plugins", [&] { reader.notice(node.find("plugins")->line, why); });
}

constexpr Key kRouteActionKeys[] = {
    word(FIELD(RouteAction, type), "route", "The kind of action: `route`."),
    text(FIELD(RouteAction, destination), "One of `providers.models`."),
};
constexpr Section kRouteAction{kRouteActionKeys};

constexpr Key kDecisionKeys[] = {
    text(FIELD(Decision, name), "Name in headers, logs and metrics.").required(),
    string(FIELD(Decision, description), "For people."),
    integer(FIELD(Decision, priority), INT32_MIN, INT32_MAX,
            "Among the decisions that match, the one with the greatest priority wins. Default: 0."),
    object(FIELD(Decision, rules), kRule,
           "Condition on signals. Without it the decision always matches."),
    list(FIELD_AS("modelRefs", Decision, model_refs), kModelRef,
         "Models to choose from. Default: `providers.defaults.default_model`."),
    variants<read_plugins>(same<Decision>("plugins"), kPluginForms,
                           "Plugins that check, change or answer the request, or check the reply."),
    list(FIELD(Decision, difficulty), kDifficulty,
         "Reasoning and length of the reply by the difficulty of a request. Signalbox only."),
    object(FIELD(Decision, algorithm), kAlgorithm, "How to choose one of several models."),
    remark("annotations"),
    integer(FIELD(Decision, tier), 0, INT32_MAX,
            "Among the decisions that match, those with the lowest tier win. Default: 0."),
    string(FIELD(Decision, output_contract),
           "Required form of the answer, for the prompts of algorithms that call several models."),
    object(FIELD(Decision, output_contract_spec), kContract,
           "Required form of the reply, for programs.")
        .not_built("replies are not checked against it"),
    object(FIELD(Decision, adaptations), kAdaptations,
           "How `global.router.learning` may change the choice of the model."),
    list(FIELD_AS("candidateIterations", Decision, candidate_iterations), kCandidate,
         "Models to try in turn.")
        .not_built("the first of modelRefs is used"),
    list(FIELD(Decision, emits), kEmit, "Directive about retention, at most one."),
    object(FIELD(Decision, action), kRouteAction,
           "The model that answers, also if the request names another one. The models of "
           "`modelRefs` answer if it cannot."),
    removed("modelSelectionAlgorithm", "use algorithm"),
};

}  // namespace

// The algorithms that need two models to differ from one come before those that do not.
bool calls_several(const Algorithm& algorithm, size_t models) {
  const std::string& type = algorithm.type;
  const bool cascades = type == "automix" && algorithm.automix->enable_cascade;
  if (cascades || type == "confidence" || type == "ratings" || type == "prompt") return models > 1;
  return type == "remom" || type == "fusion" || type == "workflows" || algorithm.is_native();
}

const Emit::Retention* retention_of(const Decision& decision) {
  return decision.emits.empty() ? nullptr : &decision.emits.front().retention;
}

void check_input_signal(Reader& reader, const yaml::Node& node, const ScoreInput& input) {
  if (input.type.empty() || input.name.empty() || input.type == "kb_metric") return;
  const auto type = std::ranges::find(kSignalTypes, input.type, &SignalType::name);
  if (type == kSignalTypes.end())
    return unknown_signal_type(reader, node.find("type")->line, input.type);
  check_signal_name(reader, node.find("name")->line, type->name, input.name,
                    input_names(*type, *reader.routing, input.name));
}

// A member is a signal, or a class of a classifier. Outputs of projections are checked later.
void check_members(Reader& reader, const yaml::Node& node, const Partition& partition) {
  const auto check = [&](std::string_view key, const std::string& name) {
    if (name.empty()) return;
    Names names;
    for (const SignalType& type : kSignalTypes) {
      if (type.name == "projection") continue;
      const Names own = input_names(type, *reader.routing, name);
      names.insert(names.end(), own.begin(), own.end());
    }
    if (std::ranges::find(names, name) != names.end()) return;
    const std::vector<std::string_view> known(names.begin(), names.end());
    reader.at_key(key, [&] {
      const std::string_view meant = nearest(name, known);
      reader.error(node.find(key)->line,
                   fmt::format("no signal is called \"{}\"{}", name,
                               meant.empty() ? "" : fmt::format("; did you mean \"{}\"?", meant)));
    });
  };
  for (const std::string& member : partition.members) check("members", member);
  check("default", partition.fallback);
}

constinit const Section kRule{kRuleKeys, checked<check_rule>};
constinit const Section kDecision{kDecisionKeys, checked<check_decision>};

}  // namespace signalbox::config
