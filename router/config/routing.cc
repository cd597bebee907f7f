// `routing` and `recipes`: the routing of the file and further ones.

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "base/counted.h"
#include "base/yaml_tree.h"
#include "router/config/sections.h"

namespace signalbox::config {

constexpr std::array<Choice, 3> kStrategies{{{"priority", Routing::Strategy::kPriority},
                                             {"confidence", Routing::Strategy::kConfidence},
                                             {"fusion", Routing::Strategy::kFusion}}};

namespace {

// --- projections ---

constexpr Choice kSemantics[] = {{"exclusive", Partition::Semantics::kExclusive},
                                 {"softmax_exclusive", Partition::Semantics::kSoftmaxExclusive}};

constexpr Key kPartitionKeys[] = {
    text(FIELD(Partition, name), "Name of the partition.").required(),
    choice(FIELD(Partition, semantics), kSemantics,
           "How to find the winner: the greatest confidence (default), or the greatest share of a "
           "softmax."),
    number(FIELD(Partition, temperature), "Temperature of the softmax. 0 and less: 1."),
    texts(FIELD(Partition, members), "Names of the signals, one of which wins.").required(),
    string(FIELD_AS("default", Partition, fallback), "Winner if no member matches."),
};
constexpr Section kPartition{kPartitionKeys};

void check_input(Reader& reader, const yaml::Node& node, ScoreInput& out) {
  const auto missing = [&](std::string_view key) {
    if (node.find(key) != nullptr) return;
    reader.at_key(key, [&] {
      reader.error(node.line, fmt::format("missing; an input of type {} needs it", out.type));
    });
  };
  if (out.type.empty()) return;
  if (out.type == "kb_metric") {
    missing("kb");
    missing("metric");
    return;
  }
  missing("name");
}

constexpr Choice kValueSources[] = {{"binary", ScoreInput::Source::kBinary},
                                    {"confidence", ScoreInput::Source::kConfidence},
                                    {"score", ScoreInput::Source::kScore},
                                    {"raw", ScoreInput::Source::kRaw}};

constexpr Key kScoreInputKeys[] = {
    text(FIELD(ScoreInput, type), "Type of the signal, or `kb_metric`.").required(),
    text(FIELD(ScoreInput, name), "Name of the signal."),
    text(FIELD(ScoreInput, kb), "Knowledge base, for type `kb_metric`."),
    text(FIELD(ScoreInput, metric), "Metric of the knowledge base, for type `kb_metric`."),
    number(FIELD(ScoreInput, weight), "Weight in the sum; may be negative. Default: 1."),
    choice(FIELD(ScoreInput, value_source), kValueSources,
           "Value of the signal to add. Default: `binary`."),
    number(FIELD(ScoreInput, match), "Value of `binary` if the signal matches. Default: 1."),
    number(FIELD(ScoreInput, miss), "Value of `binary` if it does not. Default: 0."),
};
constexpr Section kScoreInput{kScoreInputKeys, checked<check_input>};

constexpr Key kScoreKeys[] = {
    text(FIELD(Score, name), "Name for mappings.").required(),
    word(FIELD(Score, method), "weighted_sum", "How the inputs become one number."),
    list(FIELD(Score, inputs), kScoreInput, "The values to add.").required(),
};
constexpr Section kScore{kScoreKeys};

using Calibration = Mapping::Calibration;

constexpr Key kCalibrationKeys[] = {
    word(FIELD(Calibration, method), "sigmoid_distance",
         "How the distance to a bound becomes a confidence."),
    number(FIELD(Calibration, slope), "Slope of the sigmoid. Default: 12."),
};
constexpr Section kCalibration{kCalibrationKeys};

using MappingOutput = Mapping::Output;

constexpr Key kMappingOutputKeys[] = {
    text(FIELD(MappingOutput, name), "Name for conditions of type projection.").required(),
    number(FIELD_AS("gt", MappingOutput, range.gt), "The score is greater than this."),
    number(FIELD_AS("gte", MappingOutput, range.gte), "The score is at least this."),
    number(FIELD_AS("lt", MappingOutput, range.lt), "The score is less than this."),
    number(FIELD_AS("lte", MappingOutput, range.lte), "The score is at most this."),
};
constexpr Section kMappingOutput{kMappingOutputKeys};

constexpr Choice kMappingMethods[] = {{"threshold_bands", Mapping::Method::kThresholdBands},
                                      {"multi_emit", Mapping::Method::kMultiEmit}};

constexpr Key kMappingKeys[] = {
    text(FIELD(Mapping, name), "Name of the mapping.").required(),
    text(FIELD(Mapping, source), "One of `scores`.").required(),
    choice(FIELD(Mapping, method), kMappingMethods,
           "The first output with the score in its bounds (default), or all of them."),
    object(FIELD(Mapping, calibration), kCalibration, "Confidence of the outputs."),
    list(FIELD(Mapping, outputs), kMappingOutput, "Named ranges of the score.").required(),
};
constexpr Section kMapping{kMappingKeys};

void check_inputs(Reader& reader, const yaml::Node& node, size_t number, const Score& score) {
  const yaml::Node* inputs = node.find("scores")->items[number].find("inputs");
  for (size_t i = 0; i < score.inputs.size(); ++i) {
    reader.at_key(fmt::format("scores[{}].inputs[{}]", number, i),
                  [&] { check_input_signal(reader, inputs->items[i], score.inputs[i]); });
  }
}

void check_projections(Reader& reader, const yaml::Node& node, Projections& out) {
  std::vector<std::string_view> known;
  for (const Score& score : out.scores) known.push_back(score.name);
  for (size_t i = 0; i < out.mappings.size(); ++i) {
    const std::string& source = out.mappings[i].source;
    if (source.empty() || std::find(known.begin(), known.end(), source) != known.end()) continue;
    reader.at_key(fmt::format("mappings[{}].source", i), [&] {
      reader.error(node.find("mappings")->items[i].find("source")->line,
                   fmt::format("unknown score \"{}\"{}", source, suggestion(source, known)));
    });
  }
  for (size_t i = 0; i < out.partitions.size(); ++i) {
    reader.at_key(fmt::format("partitions[{}]", i), [&] {
      check_members(reader, node.find("partitions")->items[i], out.partitions[i]);
    });
  }
  for (size_t i = 0; i < out.scores.size(); ++i) check_inputs(reader, node, i, out.scores[i]);
}

constexpr Key kProjectionsKeys[] = {
    named(FIELD(Projections, partitions), kPartition, "Groups of signals, one of which wins."),
    named(FIELD(Projections, scores), kScore, "Weighted sums of signals."),
    named(FIELD(Projections, mappings), kMapping, "Named ranges of scores."),
};
constexpr Section kProjections{kProjectionsKeys, checked<check_projections>};

// --- routing ---

using Lora = ModelCard::Lora;

constexpr Key kLoraKeys[] = {
    text(FIELD(Lora, name), "Name of the adapter.").required(),
    string(FIELD(Lora, description), "Strengths of the adapter."),
};
constexpr Section kLora{kLoraKeys};

constexpr Key kModelCardKeys[] = {
    text(FIELD(ModelCard, name), "Name of the model.").required(),
    string(FIELD(ModelCard, param_size), "Number of parameters, such as `8B`. For people."),
    count(FIELD(ModelCard, context_window_size),
          "Size of the context window, in tokens. A longer request leaves the model out."),
    string(FIELD(ModelCard, description), "Strengths of the model."),
    texts(FIELD(ModelCard, capabilities), "Strengths of the model as keywords."),
    number(FIELD(ModelCard, quality_score), "Overall quality, from 0 to 1."),
    string(FIELD(ModelCard, modality),
           "Kind of model: `ar`, `text`, `omni` or `diffusion`. A `text` model gets no images, and "
           "`image_gen` draws for a `diffusion` model."),
    texts(FIELD(ModelCard, tags), "Tags. For people and other tools."),
    named(FIELD(ModelCard, loras), kLora, "Adapters of the model."),
    unread("modalities", "Kinds of input and output.", "`modality` holds"),
    unread("max_output_tokens", "Greatest length of a reply.",
           "a reply and its request together must fit into `context_window_size`"),
    remark("display_name"),
    remark("publisher"),
    remark("presentation"),
    remark("distribution"),
    remark("family"),
    remark("revision"),
    remark("released_at"),
    remark("knowledge_cutoff"),
    remark("lifecycle"),
};
constexpr Section kModelCard{kModelCardKeys};

constexpr Key kDataPolicyKeys[] = {
    boolean(FIELD(DataPolicy, replay), "false keeps no records of requests. Default: true."),
    boolean(FIELD(DataPolicy, replay_personal_data),
            "false keeps records without texts. Default: true."),
};
// A misspelt policy would permit what it forbids.
void refuse_unknown_policies(Reader& reader, const yaml::Node& node, DataPolicy&) {
  constexpr std::array<std::string_view, 2> kPolicies = {"replay", "replay_personal_data"};
  for (const yaml::Entry& entry : node.entries) {
    if (std::ranges::find(kPolicies, entry.key) != kPolicies.end()) continue;
    reader.at_key(entry.key, [&] {
      reader.error(entry.line, "unknown policy" + suggestion(entry.key, kPolicies));
    });
  }
}

constexpr Section kDataPolicy{kDataPolicyKeys, checked<refuse_unknown_policies>};

constexpr Key kRoutingKeys[] = {
    choice(FIELD(Routing, strategy), kStrategies,
           "How to choose among the decisions that match. Default: `priority`."),
    number(FIELD(Routing, override_confidence), 0, 1,
           "With `fusion`: a decision with at least this confidence precedes all that have less."),
    named(FIELD_AS("modelCards", Routing, model_cards), kModelCard,
          "Properties of models, for algorithms."),
    // Before signals, because a signal may have its model from here.
    map(FIELD(Routing, model_bindings), kBinding,
        "Models by task. Every routing has the same model for a task, except `rag.reranker`."),
    object(same<Routing>("signals"), kSignals,
           "The facts about a request on which decisions depend."),
    object(FIELD(Routing, projections), kProjections, "Signals derived from others."),
    named(FIELD(Routing, decisions), kDecision, "Models and plugins for the requests that match."),
    unread("candidate_requirements", "Demands on models.",
           "a card that does not describe an ability leaves it open"),
    unread("fallback", "Further models after a failure.",
           "`reliability.fallback_models` of each of providers.models holds"),
    object(FIELD(Routing, data_policy), kDataPolicy,
           "Limits of records, which no decision can lift."),
    object(FIELD(Routing, budget), kLoopBudget,
           "`budget` of decisions with the algorithm `cascade` that have none."),
    removed("models", "use modelCards"),
};

constexpr Key kRecipeKeys[] = {
    text(FIELD(Recipe, name), "Name for entrypoints.").required(),
    string(FIELD(Recipe, description), "For people."),
    object(FIELD(Recipe, routing), kRouting, "The routing of the recipe.").read_by<read_routing>(),
};

// --- records ---

// The router does not search every request for personal data, because signals are evaluated only as
// far as decisions need them. So no record of such a routing holds texts.
void apply_data_policy(Reader& reader, const yaml::Node& node, Routing& routing) {
  bool loses_texts = false;
  for (Decision& decision : routing.decisions) {
    std::optional<RouterReplayPlugin>& replay = decision.router_replay;
    if (!routing.data_policy.replay) {
      replay.emplace().enabled = false;
    } else if (replay && !routing.data_policy.replay_personal_data) {
      loses_texts |= replay->capture_personal_data && captures_texts(*replay);
      replay->capture_personal_data = false;
    }
  }
  if (!loses_texts) return;
  note_lost_texts(reader, "data_policy.replay_personal_data",
                  node.find("data_policy")->find("replay_personal_data")->line);
}

// --- guards ---

bool reads_guard(const Rule& rule) {
  if (rule.op == Rule::Operator::kLeaf) return is_guard_signal(rule.type);
  return std::ranges::any_of(rule.conditions, reads_guard);
}

// A decision that refuses or routes requests because of an attack, risky content or personal data.
bool is_guard(const Decision& decision) {
  return (decision.fast_response || decision.action.is_set()) && reads_guard(decision.rules);
}

bool is_same_condition(const Rule& a, const Rule& b) {
  return a.type == b.type && a.name == b.name && a.label == b.label && a.predicate == b.predicate &&
         a.on_error == b.on_error;
}

// True if `rule` matches whenever the condition `leaf` does.
bool follows_from(const Rule& rule, const Rule& leaf) {
  const auto follows = [&](const Rule& each) { return follows_from(each, leaf); };
  if (rule.op == Rule::Operator::kLeaf) return is_same_condition(rule, leaf);
  if (rule.op == Rule::Operator::kOr) return std::ranges::any_of(rule.conditions, follows);
  return rule.op == Rule::Operator::kAnd && std::ranges::all_of(rule.conditions, follows);
}

// True if `rule` never matches when the condition `leaf` does.
bool excludes(const Rule& rule, const Rule& leaf) {
  const auto each_excludes = [&](const Rule& each) { return excludes(each, leaf); };
  if (rule.op == Rule::Operator::kAnd) return std::ranges::any_of(rule.conditions, each_excludes);
  if (rule.op == Rule::Operator::kOr) return std::ranges::all_of(rule.conditions, each_excludes);
  return rule.op == Rule::Operator::kNot &&
         std::ranges::any_of(rule.conditions,
                             [&](const Rule& each) { return follows_from(each, leaf); });
}

// Returns true if no request can match both, because `b` requires NOT of a condition that `a`
// requires.
bool leaves_to(const Rule& b, const Rule& a) {
  const auto leaves = [&](const Rule& each) { return leaves_to(b, each); };
  if (a.op == Rule::Operator::kLeaf) return excludes(b, a);
  if (a.op == Rule::Operator::kAnd) return std::ranges::any_of(a.conditions, leaves);
  return a.op == Rule::Operator::kOr && std::ranges::all_of(a.conditions, leaves);
}

// True if the scores of two decisions of a tier may be compared when both match.
bool may_compare(const Decision& a, const Decision& b, const Routing& routing) {
  if (routing.strategy == Routing::Strategy::kFusion) return true;
  const ScoreKind kind = score_kind(a.rules);
  return kind != ScoreKind::kNone && kind != ScoreKind::kOther && kind == score_kind(b.rules);
}

// True if `other` wins, or may win by its evidence, when both match. The order is that of
// decision::Engine.
bool can_outrank(const Decision& other, const Decision& guard, const Routing& routing) {
  if (other.tier != guard.tier) return other.tier < guard.tier;
  if (always_matches(other)) return false;
  const bool compares = may_compare(other, guard, routing);
  const bool by_priority = routing.strategy == Routing::Strategy::kPriority || !compares;
  if (by_priority && other.priority != guard.priority) return other.priority > guard.priority;
  return compares || other.name < guard.name;
}

size_t size_of(const Rule& rule) {
  size_t size = 1;
  for (const Rule& condition : rule.conditions) size += size_of(condition);
  return size;
}

std::vector<const Decision*> decisions_above(const Decision& guard, const Routing& routing) {
  std::vector<const Decision*> above;
  for (const Decision& other : routing.decisions) {
    if (&other == &guard || other.fast_response || !can_outrank(other, guard, routing)) continue;
    if (leaves_to(other.rules, guard.rules) || leaves_to(guard.rules, other.rules)) continue;
    above.push_back(&other);
  }
  return above;
}

std::string_view verb_of(const Decision& guard) {
  return guard.fast_response ? "refuse" : "route";
}

std::string outranked(const Decision& guard, std::span<const Decision* const> above,
                      const Routing& routing) {
  const bool is_by_priority = routing.strategy == Routing::Strategy::kPriority;
  const bool priority_helps = std::ranges::all_of(above, [&](const Decision* other) {
    return other->tier == guard.tier && (is_by_priority || !may_compare(*other, guard, routing));
  });
  const std::string others = above.size() == 1
                                 ? "\", because that decision"
                                 : fmt::format("\" or {}, because each of them",
                                               counted(above.size() - 1, "other decision"));
  return fmt::format(
      "the guard \"{}\" does not {} a request that also matches \"{}{} can rank above it; give {}",
      guard.name, verb_of(guard), above.front()->name, others,
      priority_helps ? "the guard the highest priority"
                     : "every other decision a higher tier than the guard's");
}

// A guard that loses to another decision refuses nothing, and no reply shows that.
void note_outranked_guards(Reader& reader, const Routing& routing) {
  constexpr size_t kComparisonsMax = 3'000'000;  // about half a second
  size_t all = 0;
  for (const Decision& decision : routing.decisions) all += size_of(decision.rules);
  size_t comparisons = 0;
  for (size_t i = 0; i < routing.decisions.size(); ++i) {
    const Decision& guard = routing.decisions[i];
    if (!is_guard(guard)) continue;
    comparisons += size_of(guard.rules) * all;
    const bool is_long = comparisons > kComparisonsMax;
    const std::vector<const Decision*> above =
        is_long ? std::vector<const Decision*>() : decisions_above(guard, routing);
    if (!is_long && above.empty()) continue;
    reader.at_key(fmt::format("decisions[{}]", i), [&] {
      reader.notice(guard.line,
                    is_long ? fmt::format("the guard \"{}\" and those after it were not compared "
                                          "with other decisions, because the rules are too many; "
                                          "make sure that no other decision ranks above a guard",
                                          guard.name)
                            : outranked(guard, above, routing));
    });
    if (is_long) return;
  }
}

bool reads_signal(const Rule& rule, std::string_view type, std::string_view name) {
  if (rule.op == Rule::Operator::kLeaf) return rule.type == type && rule.name == name;
  return std::ranges::any_of(rule.conditions,
                             [&](const Rule& each) { return reads_signal(each, type, name); });
}

// The first decision without conditions: the one of the lowest tier, and there of the highest
// priority.
const Decision* default_of(const Routing& routing) {
  const Decision* out = nullptr;
  for (const Decision& each : routing.decisions) {
    if (!always_matches(each)) continue;
    if (out == nullptr || each.tier < out->tier ||
        (each.tier == out->tier && each.priority > out->priority))
      out = &each;
  }
  return out;
}

// Reports a decision without conditions that hides others, and one whose priority has no effect.
void note_default(Reader& reader, const Routing& routing) {
  const Decision* const last = default_of(routing);
  if (last == nullptr) return;
  const auto& all = routing.decisions;
  const auto hidden = std::ranges::find_if(all, [&](const Decision& other) {
    return other.tier > last->tier && !is_guard(other);  // guards have notices of their own
  });
  const bool is_idle = routing.strategy == Routing::Strategy::kPriority &&
                       std::ranges::any_of(all, [&](const Decision& other) {
                         return other.tier == last->tier && other.priority < last->priority &&
                                !always_matches(other);
                       });
  reader.at_key(fmt::format("decisions[{}]", last - all.data()), [&] {
    if (hidden != all.end())
      reader.notice(last->line, fmt::format("\"{}\" never wins requests that let the router "
                                            "choose, because this decision has no conditions and "
                                            "a lower tier",
                                            hidden->name));
    if (is_idle)
      reader.notice(last->line,
                    "without conditions it ranks below the other decisions of its tier, in spite "
                    "of its priority");
  });
}

// The names of the scores that read a signal that is not built, also through other scores, and of
// the outputs of these scores.
std::set<std::string_view> unbuilt_projections(const Routing& routing) {
  const Projections& projections = routing.projections;
  std::set<std::string_view> out;
  const auto is_unbuilt = [&](const ScoreInput& input) {
    return is_unbuilt_signal(routing, input.type, input.name) ||
           (input.type == "projection" && out.contains(input.name));
  };
  size_t before = 0;
  do {
    before = out.size();
    for (const Score& score : projections.scores) {
      if (std::ranges::any_of(score.inputs, is_unbuilt)) out.insert(score.name);
    }
    for (const Mapping& mapping : projections.mappings) {
      if (!out.contains(mapping.source)) continue;
      for (const Mapping::Output& output : mapping.outputs) out.insert(output.name);
    }
  } while (out.size() > before);
  return out;
}

bool reads_unbuilt(const Routing& routing, const Rule& rule,
                   const std::set<std::string_view>& projections) {
  if (rule.op == Rule::Operator::kLeaf)
    return is_unbuilt_signal(routing, rule.type, rule.name) ||
           (rule.type == "projection" && projections.contains(rule.name));
  return std::ranges::any_of(
      rule.conditions, [&](const Rule& each) { return reads_unbuilt(routing, each, projections); });
}

// The effect for which a file may rely on a decision, as a verb; "" if there is none.
std::string_view protection_of(const Decision& decision) {
  if (decision.fast_response || binds_named_models(decision)) return verb_of(decision);
  if (decision.pii_mask && decision.pii_mask->enabled) return "mask";
  const Emit::Retention* retention = retention_of(decision);
  return retention != nullptr && retention->drop == true ? "drop" : "";
}

// Refuses a decision that protects something by a signal that is not built: it would let pass the
// requests that it is meant to stop.
void refuse_unbuilt_guards(Reader& reader, const Routing& routing) {
  const std::set<std::string_view> projections = unbuilt_projections(routing);
  for (size_t i = 0; i < routing.decisions.size(); ++i) {
    const Decision& guard = routing.decisions[i];
    const std::string_view verb = protection_of(guard);
    if (verb.empty() || guard.rules.must_be_known() ||
        !reads_unbuilt(routing, guard.rules, projections))
      continue;
    reader.at_key(fmt::format("decisions[{}].rules", i), [&] {
      reader.error(
          guard.line,
          fmt::format("the decision \"{}\" cannot be relied on to {}, because a signal of its "
                      "rules is not built or is never computed",
                      guard.name, verb));
    });
  }
}

bool reads_unbounded(const Rule& rule, const SessionSignal& signal) {
  if (rule.op == Rule::Operator::kLeaf)
    return rule.type == "session" && rule.name == signal.name && !rule.predicate;
  return std::ranges::any_of(rule.conditions,
                             [&](const Rule& each) { return reads_unbounded(each, signal); });
}

// A session signal without a predicate is for scores alone. A guard on it would stop nothing.
void check_unbounded_sessions(Reader& reader, const Routing& routing) {
  for (const SessionSignal& signal : routing.session) {
    if (signal.predicate || !signal.unbuilt.empty()) continue;
    for (size_t i = 0; i < routing.decisions.size(); ++i) {
      const Decision& decision = routing.decisions[i];
      if (!reads_unbounded(decision.rules, signal)) continue;
      const std::string why = fmt::format(
          "a condition on the session signal \"{}\" never matches, because it has no predicate",
          signal.name);
      reader.at_key(fmt::format("decisions[{}].rules", i), [&] {
        if (protection_of(decision).empty()) return reader.notice(decision.line, why);
        reader.error(decision.line, why);
      });
    }
  }
}

// A model that the file switches off is not an error, and its guards match nothing.
void note_guards_without_model(Reader& reader, const Routing& routing, std::string_view type,
                               const std::vector<JailbreakSignal>& all, std::string_view module) {
  for (const JailbreakSignal& signal : all) {
    if (signal.method != JailbreakSignal::Method::kClassifier) continue;
    for (size_t i = 0; i < routing.decisions.size(); ++i) {
      const Decision& guard = routing.decisions[i];
      if (!is_guard(guard) || !reads_signal(guard.rules, type, signal.name)) continue;
      reader.at_key(fmt::format("decisions[{}]", i), [&] {
        reader.notice(guard.line,
                      fmt::format("the guard \"{}\" {}s nothing by the {} signal \"{}\", because "
                                  "global.model_catalog.modules.{}.enabled is false",
                                  guard.name, verb_of(guard), type, signal.name, module));
      });
    }
  }
}

}  // namespace

bool always_matches(const Decision& decision) {
  return decision.rules.op == Rule::Operator::kAnd && decision.rules.conditions.empty();
}

bool is_unbuilt_signal(const Routing& routing, std::string_view type, std::string_view name) {
  const auto is_unbuilt = [](const auto& signals, std::string_view named) {
    return std::ranges::any_of(
        signals, [&](const auto& each) { return !each.unbuilt.empty() && each.name == named; });
  };
  if (type == "session") return is_unbuilt(routing.session, name);
  if (type == "decision")
    return is_unbuilt(routing.questions, name) ||
           is_unbuilt(routing.questions, name.substr(0, name.find(':')));
  return type == kSessionMetric;
}

bool is_guard_signal(std::string_view type) {
  return type == "jailbreak" || type == "safety" || type == "pii";
}

bool binds_named_models(const Decision& decision) {
  return is_guard(decision) || decision.action.is_set();
}

bool masks(const Decision& decision) {
  return !decision.fast_response && decision.pii_mask && decision.pii_mask->enabled;
}

constinit const Section kRouting{kRoutingKeys};
constinit const Section kRecipe{kRecipeKeys};

void read_routing(Reader& reader, const yaml::Node& node, Routing& out) {
  reader.routing = &out;
  read_section(reader, node, kRouting, &out);
  reader.routing = nullptr;
  for (Decision& decision : out.decisions) {
    if (decision.algorithm.is_native() && decision.algorithm.budget == LoopBudget())
      decision.algorithm.budget = out.budget;
  }
  const bool has_cascade = std::ranges::any_of(
      out.decisions, [](const Decision& each) { return each.algorithm.is_native(); });
  if (const yaml::Node* budget = given(node, "budget"); budget != nullptr && !has_cascade) {
    reader.at_key("budget", [&] {
      reader.notice(budget->line, "has no effect without a decision with the algorithm `cascade`");
    });
  }
  apply_data_policy(reader, node, out);
  note_default(reader, out);
  refuse_unbuilt_guards(reader, out);
  check_unbounded_sessions(reader, out);
  note_outranked_guards(reader, out);
  const Modules& modules = reader.config.modules;
  if (!modules.prompt_guard.enabled)
    note_guards_without_model(reader, out, "jailbreak", out.jailbreak, "prompt_guard");
  if (!modules.safety.enabled)
    note_guards_without_model(reader, out, "safety", out.safety, "safety.safety");
}

void check_recipes(Reader& reader, const yaml::Node& node, const Config& config) {
  if (config.routing.decisions.empty()) return;
  for (size_t i = 0; i < config.recipes.size(); ++i) {
    if (config.recipes[i].name != kDefaultRecipe) continue;
    reader.at_key(fmt::format("recipes[{}].name", i), [&] {
      reader.error(node.find("recipes")->items[i].find("name")->line,
                   "\"default\" is the routing at the top of the file; expected another name");
    });
  }
}

}  // namespace signalbox::config
