// The algorithms that call one model after the other until an answer is good enough: `confidence`
// for chats, and `cascade` for requests of System One. So that no request reaches a model of the
// other API, decisions, recipes and entrypoints are checked here, too, with the least number of
// models.

#include <algorithm>
#include <set>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;
using Api = Entrypoint::Api;
using ApiFormat = Model::ApiFormat;

constexpr std::string_view kMargin = "probability_margin";
constexpr std::string_view kNoStage = "abstain";  // a judge's answer if it selects no stage

// --- confidence ---

using CascadeWeights = ConfidenceCascade::HybridWeights;

constexpr Key kCascadeWeightsKeys[] = {
    positive(FIELD(CascadeWeights, logprob_weight), "Weight of the mean log-probability."),
    positive(FIELD(CascadeWeights, margin_weight), "Weight of the margin to the second token."),
};
constexpr Section kCascadeWeights{kCascadeWeightsKeys};

constexpr std::string_view kNoVerifier =
    "no server verifies replies; with `automix_entailment` each model grades its own";

void report_verifier(Reader& reader, const yaml::Node& node, std::string& url) {
  if (!url.empty()) reader.does_without(node.line, kNoVerifier);
}

constexpr Key kCascadeKeys[] = {
    word(FIELD(ConfidenceCascade, confidence_method),
         "avg_logprob margin hybrid self_verify automix_entailment",
         "How to measure the confidence in a reply: by its mean log probability (default), by the "
         "distance to the second-best tokens, by both, or by the model's own grade."),
    number(FIELD(ConfidenceCascade, threshold), 0, 1,
           "Confidence that ends the cascade. Default: 0.5 for `margin` and `hybrid`, 0.7 for "
           "grades; with `avg_logprob` any reply with log probabilities ends it."),
    object(FIELD(ConfidenceCascade, hybrid_weights), kCascadeWeights, "Weights of `hybrid`."),
    word(FIELD(ConfidenceCascade, on_error), kOnErrorWords,
         "Reaction if a model fails: continue (`skip`, default) or `fail`."),
    word(FIELD(ConfidenceCascade, escalation_order), "size small_to_large declared cost automix",
         "Order of the models: by `param_size` (default), as declared, by price, or by quality and "
         "price."),
    share(FIELD(ConfidenceCascade, cost_quality_tradeoff),
          "For the order `automix`: 0 considers only quality, 1 only costs. Default: 0.3."),
    word(FIELD(ConfidenceCascade, token_filter), "all tool_call_args",
         "Tokens that count: all (default), or only those with letters or digits."),
    string(FIELD(ConfidenceCascade, verifier_server_url),
           "URL of a verifier, for `automix_entailment`. It is not called.")
        .then<report_verifier>(),
    count(FIELD(ConfidenceCascade, verifier_timeout_seconds),
          "Time limit of the verifier, in seconds.")
        .not_built(kNoVerifier)
        .unless("0"),
    unread("max_response_bytes", "Greatest reply of the verifier.", kNoVerifier).unless("0"),
};

// --- acceptance ---

void read_state(Reader& reader, const yaml::Node& node, std::optional<std::string>& out) {
  const auto scalar = reader.scalar(node, "a string");
  if (scalar) out = scalar->text;
}

void check_bounds(Reader& reader, const yaml::Node& node, const Predicate& bounds) {
  bool is_bounded = false;
  for (const auto& bound : {bounds.gt, bounds.gte, bounds.lt, bounds.lte}) {
    if (!bound) continue;
    is_bounded = true;
    if (*bound < 0 || *bound > 1)
      reader.error(node.line, fmt::format("expected bounds from 0 to 1, found {}", *bound));
  }
  if (!is_bounded) reader.error(node.line, "expected gt, gte, lt or lte, found none of them");
}

void check_answer_rule(Reader& reader, const yaml::Node& node, AnswerRule& out) {
  if (out.question.empty() && out.question_type.empty())
    reader.error(node.line, "expected question, question_type or both, found neither");
  if (out.field == kMargin && !out.question_type.empty() && out.question_type != "noul") {
    reader.at_key("field", [&] {
      reader.error(node.line, fmt::format("only a noul has a {}, and question_type is {}", kMargin,
                                          out.question_type));
    });
  }
  const yaml::Node* predicate = node.find("predicate");
  if (predicate == nullptr) return;  // it has been reported
  reader.at_key("predicate", [&] { check_bounds(reader, *predicate, out.predicate); });
}

constexpr Key kAnswerRuleKeys[] = {
    string(FIELD(AnswerRule, question), "Name of the questions. Default: any."),
    word(FIELD(AnswerRule, question_type), "choice score noul",
         "Type of the questions. Default: any. A rule needs a name or a type."),
    key_of(FIELD(AnswerRule, state), Kind::kString,
           "Name of their state; `\"\"` is that of the request itself. Default: any.")
        .read_by<read_state>(),
    word(FIELD(AnswerRule, field), "top_probability confidence probability_margin",
         "Figure of the answer: its greatest probability, the confidence that the model reports, "
         "or, for a `noul`, twice the distance of its probability to one half.")
        .required(),
    object(FIELD(AnswerRule, predicate), kPredicate, "Bounds of the figure, from 0 to 1.")
        .required(),
};
constexpr Section kAnswerRule{kAnswerRuleKeys, checked<check_answer_rule>};

void check_acceptance(Reader& reader, const yaml::Node& node, Acceptance& out) {
  const yaml::Node* rules = node.find("rules");
  if (rules == nullptr || !out.rules.empty()) return;  // a missing list has been reported
  reader.at_key("rules",
                [&] { reader.error(rules->line, "expected at least one rule, found none"); });
}

constexpr Key kAcceptanceKeys[] = {
    list(FIELD(Acceptance, rules), kAnswerRule, "Bounds that must all hold.").required(),
};

// --- quality and stages ---

void check_quality(Reader& reader, const yaml::Node& node, AnswerQuality& out) {
  if (out.type == "calibrated") {
    return reader.at_key("type", [&] {
      reader.error(node.find("type")->line,
                   "calibrated quality rests on a file of the Semantic Router's own tools, which "
                   "this router does not read; expected uncalibrated with acceptance");
    });
  }
  if (node.find("acceptance") == nullptr) {
    reader.at_key("acceptance",
                  [&] { reader.error(node.line, "missing; expected a mapping with rules"); });
  }
}

constexpr Key for_calibrated(std::string_view name) {
  return unbound(name, Kind::kAnything, "For `calibrated`.").with(skip_value);
}

constexpr Key kQualityKeys[] = {
    word(FIELD(AnswerQuality, type), "uncalibrated calibrated",
         "`uncalibrated`: by the model's own figures. `calibrated` is an error.")
        .required(),
    object(FIELD(AnswerQuality, acceptance), kAcceptance,
           "Bounds that every answer needs. They must cover all questions of a request."),
    for_calibrated("calibration"),
    for_calibrated("loss"),
    for_calibrated("max_risk"),
};

using Generation = Stage::Generation;

constexpr Key kGenerationKeys[] = {
    count(FIELD(Generation, max_output_tokens), "Greatest length of its reply, in tokens."),
};
constexpr Section kGeneration{kGenerationKeys};

void check_stage(Reader& reader, const yaml::Node& node, Stage& out) {
  if (out.name == kNoStage) {
    reader.at_key("name", [&] {
      reader.error(node.line, fmt::format("\"{}\" is a judge's answer if it selects no stage; "
                                          "expected another name",
                                          kNoStage));
    });
  }
  const bool judges = out.kind == "judge";
  if (judges && out.generation.max_output_tokens == 0) {
    reader.at_key("generation.max_output_tokens", [&] {
      reader.error(node.line, "missing; expected the greatest length of the judge's reply");
    });
  }
  for (const std::string_view key : {"generation", "instructions"}) {
    if (judges || node.find(key) == nullptr) continue;
    reader.at_key(key, [&] { reader.error(node.find(key)->line, "only a judge has it"); });
  }
}

constexpr Key kStageKeys[] = {
    text(FIELD(Stage, name), "Name in the answer's `routing`.").required(),
    word(
        FIELD(Stage, kind), "native judge",
        "`native`: the model answers the request. `judge`: a chat model selects one of the earlier "
        "answers.")
        .required(),
    text(FIELD(Stage, model), "One of `modelRefs`.").required(),
    boolean(FIELD(Stage, enabled), "Call the model. Default: true."),
    duration(FIELD(Stage, timeout), 1ms, 24h, "Time limit of the call. Default: the decision's."),
    object(FIELD(Stage, accept), kAcceptance,
           "Further bounds without which the next stage follows."),
    object(FIELD(Stage, generation), kGeneration, "Bounds of a judge's reply."),
    string(FIELD(Stage, instructions), "More instructions for a judge."),
};

/// Returns the API of a model of the file; nullopt if there is no such model.
std::optional<ApiFormat> api_of(const Reader& reader, const std::string& model) {
  const Model* found = reader.config.providers.find(model);
  return found == nullptr ? std::nullopt : std::optional(found->api_format);
}

void check_stage_model(Reader& reader, uint32_t line, const Decision& decision,
                       const Stage& stage) {
  const bool is_named = std::ranges::find(decision.model_refs, stage.model, &ModelRef::model) !=
                        decision.model_refs.end();
  if (!is_named)
    return reader.error(line, fmt::format("\"{}\" is not one of modelRefs", stage.model));
  const bool judges = stage.kind == "judge";
  const auto wanted = judges ? ApiFormat::kOpenAi : ApiFormat::kSystemOne;
  if (api_of(reader, stage.model).value_or(wanted) == wanted) return;
  reader.error(line, fmt::format("the servers of \"{}\" have another API; expected a model with "
                                 "api_format: {}",
                                 stage.model, judges ? "openai" : "systemone"));
}

// The models that a decision may call for a chat.
std::vector<std::string> models_for_chats(const Decision& decision) {
  const Algorithm& algorithm = decision.algorithm;
  std::vector<std::string> out;
  for (const ModelRef& ref : decision.model_refs) out.push_back(ref.model);
  if (const auto& fusion = algorithm.fusion) {
    out.insert(out.end(), fusion->analysis_models.begin(), fusion->analysis_models.end());
    out.insert(out.end(), {fusion->model, fusion->quorum_fallback_target});
  }
  if (algorithm.remom) out.push_back(algorithm.remom->synthesis_model);
  if (algorithm.workflows) out.push_back(algorithm.workflows->planner.model);
  if (decision.shadow_dispatch) {
    for (const auto& arm : decision.shadow_dispatch->arms) out.push_back(arm.model);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Chats cannot go to a model that answers the questions of System One.
void refuse_native_models(Reader& reader, const yaml::Node& node, const Decision& decision) {
  const Algorithm& algorithm = decision.algorithm;
  for (const std::string& model : models_for_chats(decision)) {
    if (api_of(reader, model) != ApiFormat::kSystemOne) continue;
    reader.error(node.line, fmt::format("the servers of \"{}\" answer no chats, because they have "
                                        "api_format: systemone; only a cascade has such models",
                                        model));
  }
  if (algorithm.stages.empty() && algorithm.quality.type.empty()) return;
  reader.at_key("algorithm", [&] {
    reader.error(
        node.find("algorithm")->line,
        fmt::format("only cascade has stages and quality, and the type is {}", algorithm.type));
  });
}

// The servers get the request as it is, so nothing may change it.
void refuse_changes(Reader& reader, const yaml::Node& node, const Decision& decision) {
  constexpr std::string_view kAllowed[] = {"fast_response", "header_mutation", "router_replay"};
  for (const std::string_view plugin : plugin_names(decision)) {
    if (std::ranges::find(kAllowed, plugin) != std::end(kAllowed)) continue;
    reader.at_key("plugins", [&] {
      reader.error(node.line, fmt::format("requests of System One pass as they are, without {}; "
                                          "expected none but {}",
                                          plugin, join(kAllowed)));
    });
  }
  for (size_t i = 0; i < decision.model_refs.size(); ++i) {
    const ModelRef& ref = decision.model_refs[i];
    if (!ref.use_reasoning && ref.reasoning_effort.empty() && ref.lora_name.empty()) continue;
    reader.at_key(fmt::format("modelRefs[{}]", i), [&] {
      reader.error(node.line, "requests of System One pass as they are; expected model alone");
    });
  }
  if (decision.action.is_set()) reader.error(node.line, "a cascade has no action");
  if (!decision.difficulty.empty()) reader.error(node.line, "a cascade has no difficulty");
}

bool is_native(const Routing& routing) {
  return std::ranges::any_of(routing.decisions,
                             [](const Decision& each) { return each.algorithm.is_native(); });
}

// --- who reaches which recipe ---

void check_recipe_api(Reader& reader, const std::string& path, const Routing& routing,
                      bool is_default) {
  if (!is_native(routing)) return;
  for (size_t i = 0; i < routing.decisions.size(); ++i) {
    const Decision& decision = routing.decisions[i];
    reader.at_key(fmt::format("{}decisions[{}]", path, i), [&] {
      if (is_default && decision.algorithm.is_native()) {
        reader.error(decision.line,
                     fmt::format("\"{}\" answers no chats; expected it in a recipe whose "
                                 "entrypoints have api: systemone",
                                 decision.name));
      } else if (!decision.algorithm.is_native() && !decision.fast_response) {
        reader.error(decision.line,
                     fmt::format("\"{}\" answers chats only, and another decision of the recipe "
                                 "answers none; expected the algorithm cascade",
                                 decision.name));
      }
    });
  }
}

void check_entrypoint_api(Reader& reader, const yaml::Node& node, const Config& config,
                          const Entrypoint& entrypoint) {
  const bool wants_native = entrypoint.api == Api::kSystemOne;
  for (const std::string& name : entrypoint.model_names) {
    const bool is_published = std::ranges::any_of(config.listeners, [&](const Listener& each) {
      return std::ranges::find(each.system_one, name) != each.system_one.end();
    });
    if (wants_native && !is_published)
      reader.notice(node.line, fmt::format("requests for \"{}\" get 404, because no listener has "
                                           "it in systemone.models",
                                           name));
  }
  for (const std::string_view name : recipes_of(entrypoint)) {
    const auto found = std::ranges::find(config.recipes, name, &Recipe::name);
    const bool has_native = found != config.recipes.end() && is_native(found->routing);
    if (has_native == wants_native) continue;
    reader.error(
        node.line,
        wants_native
            ? fmt::format("recipe \"{}\" has no decision with the algorithm cascade, "
                          "which requests of System One need",
                          name)
            : fmt::format("recipe \"{}\" answers no chats; expected api: systemone", name));
  }
}

// Several listeners have the same paths, so they also have the same names.
void check_published(Reader& reader, const yaml::Node& root, const Config& config) {
  const auto is_known = [&](const std::string& name) {
    const Model* model = config.providers.find(name);
    if (model != nullptr) return model->api_format == ApiFormat::kSystemOne;
    return std::ranges::any_of(config.entrypoints, [&](const Entrypoint& each) {
      return each.api == Api::kSystemOne &&
             std::ranges::find(each.model_names, name) != each.model_names.end();
    });
  };
  for (size_t i = 0; i < config.listeners.size(); ++i) {
    const std::vector<std::string>& names = config.listeners[i].system_one;
    const yaml::Node* listeners = root.find("listeners");
    if (listeners == nullptr) return;
    reader.at_key(fmt::format("listeners[{}].systemone.models", i), [&] {
      const uint32_t line = listeners->items[i].line;
      for (const std::string& name : names) {
        if (is_known(name)) continue;
        reader.error(line, fmt::format("\"{}\" is neither a model with api_format: systemone nor a "
                                       "name of an entrypoint with api: systemone",
                                       name));
      }
      if (names != config.listeners.front().system_one)
        reader.error(line, "expected the names of the first listener, found others");
    });
  }
}

}  // namespace

constinit const Section kConfidence{kCascadeKeys};
constinit const Section kAcceptance{kAcceptanceKeys, checked<check_acceptance>};
constinit const Section kQuality{kQualityKeys, checked<check_quality>};
constinit const Section kStage{kStageKeys, checked<check_stage>};

// A decision without models has the default model; those that an entrypoint assigns have become its
// own. An action names every model, and a fixed answer needs none.
void check_minimum(Reader& reader, const yaml::Node& node, const Decision& decision) {
  const uint32_t minimum = decision.algorithm.minimum_candidates;
  std::set<std::pair<std::string_view, std::string_view>> different;
  for (const ModelRef& ref : decision.model_refs) different.emplace(ref.model, ref.lora_name);
  if (minimum <= 1 || different.size() >= minimum) return;
  if (decision.action.is_set() || decision.fast_response) return;
  const yaml::Node& written = *node.find("algorithm")->find("minimum_candidates");
  reader.at_key("algorithm.minimum_candidates", [&] {
    reader.error(written.line, fmt::format("expected at least {} different modelRefs, found {}",
                                           minimum, different.size()));
  });
}

void check_stages(Reader& reader, const yaml::Node& node, const Decision& decision) {
  const Algorithm& algorithm = decision.algorithm;
  if (!algorithm.is_native()) return refuse_native_models(reader, node, decision);
  refuse_changes(reader, node, decision);
  const yaml::Node* written = node.find("algorithm");
  const yaml::Node* stages = written == nullptr ? nullptr : written->find("stages");
  reader.at_key("algorithm", [&] {
    const uint32_t line = written == nullptr ? node.line : written->line;
    if (algorithm.quality.type.empty() && (written == nullptr || !written->find("quality")))
      reader.at_key("quality", [&] { reader.error(line, "missing; expected a mapping"); });
    if (algorithm.stages.empty() || stages == nullptr)
      return reader.at_key("stages", [&] { reader.error(line, "expected at least one stage"); });
    const Stage& first = algorithm.stages.front();
    if (first.kind == "judge" || !first.enabled) {
      reader.at_key("stages[0]", [&] {
        reader.error(stages->items[0].line, "expected an enabled stage of the kind native");
      });
    }
    for (size_t i = 0; i < algorithm.stages.size(); ++i) {
      reader.at_key(fmt::format("stages[{}].model", i), [&] {
        check_stage_model(reader, stages->items[i].line, decision, algorithm.stages[i]);
      });
    }
  });
}

void check_apis(Reader& reader, const yaml::Node& node, const Config& config) {
  check_recipe_api(reader, "routing.", config.routing, true);
  for (size_t i = 0; i < config.recipes.size(); ++i) {
    check_recipe_api(reader, fmt::format("recipes[{}].routing.", i), config.recipes[i].routing,
                     config.recipes[i].name == kDefaultRecipe);
  }
  for (size_t i = 0; i < config.entrypoints.size(); ++i) {
    reader.at_key(fmt::format("entrypoints[{}]", i), [&] {
      check_entrypoint_api(reader, node.find("entrypoints")->items[i], config,
                           config.entrypoints[i]);
    });
  }
  check_published(reader, node, config);
}

}  // namespace signalbox::config
