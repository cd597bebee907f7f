// A decision's `algorithm`, and `global.router`, which has the defaults of algorithms.

#include <algorithm>
#include <array>

#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kAlgorithmNames =
    "static random router_dc hybrid latency_aware multi_factor automix knn kmeans svm mlp prompt "
    "confidence ratings remom fusion workflows cascade";
// Names in older files, and two that choose by a model that the router does not run.
constexpr auto kOtherAlgorithms = std::to_array<std::string_view>(
    {"elo", "rl_driven", "gmtrouter", "session_aware", "bandit", "thompson", "personalization",
     "router_r1", "decision", "hiershrink"});
constexpr std::string_view kNoPolicy =
    "\"policy\" chose the next stage by a file of measurements, and the Semantic Router has "
    "removed "
    "it; expected cascade with the same stages";

template <class Names>
bool has_name(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void read_algorithm_name(Reader& reader, const yaml::Node& node, std::string& out) {
  const auto scalar = reader.scalar(node, "an algorithm");
  if (!scalar) return;
  out = scalar->text;
  const std::vector<std::string_view> known = split_words(kAlgorithmNames);
  if (has_name(known, out)) return;
  if (has_name(kOtherAlgorithms, out)) {
    reader.does_without(node.line, fmt::format("\"{}\" is read as static", out));
    out = "static";
    return;
  }
  if (out == "policy") return reader.error(node.line, std::string(kNoPolicy));
  reader.error(node.line, fmt::format("unknown algorithm \"{}\"{}", out, suggestion(out, known)));
}

constexpr Key algorithm_name(At<std::string> at, std::string_view why) {
  Key key = word(at, kAlgorithmNames, why).read_by<read_algorithm_name>();
  key.is_exact = true;
  return key;
}

template <class S>
constexpr Key on_error(std::string_view why) {
  return word(FIELD(S, on_error), kOnErrorWords, why);
}

// --- algorithms that choose one model ---

constexpr std::string_view kNoTraining = "nothing is trained";

constexpr Key kRouterDcKeys[] = {
    positive(FIELD(RouterDc, temperature),
             "Temperature of the softmax over the models. Default: 0.07."),
    count(FIELD(RouterDc, dimension_size), "Numbers of an embedding.")
        .no_effect("embeddings have the width of the embedding model"),
    number(FIELD(RouterDc, min_similarity), -1, 1,
           "Least similarity of the best model; below it the first model is used. Default: 0.3."),
    boolean(FIELD(RouterDc, use_query_contrastive), "Contrastive loss over queries in training.")
        .no_effect(kNoTraining)
        .unless("false no off"),
    boolean(FIELD(RouterDc, use_model_contrastive), "Contrastive loss over models in training.")
        .no_effect(kNoTraining)
        .unless("false no off"),
    boolean(FIELD(RouterDc, require_descriptions), "Every model needs a description."),
    boolean(FIELD(RouterDc, use_capabilities),
            "Add the capabilities of a model to its description. Default: true."),
};
constexpr Section kRouterDc{kRouterDcKeys};

constexpr Key kAutoMixKeys[] = {
    boolean(FIELD(AutoMix, enable_cascade),
            "Verify each reply and continue with the next model if it is doubtful, instead of "
            "choosing one model."),
    share(FIELD(AutoMix, verification_threshold),
          "Least confidence in a reply, for the cascade. Default: 0.7."),
    count(FIELD(AutoMix, max_escalations),
          "Greatest number of further models, for the cascade. Default: 2."),
    boolean(FIELD(AutoMix, cost_aware_routing), "Subtract costs from quality. Default: true."),
    number(FIELD(AutoMix, cost_quality_tradeoff),
           "Weight of costs: 0 considers only quality, 1 subtracts costs in full. Default: 0.3."),
    share(FIELD(AutoMix, discount_factor), "Discount of later steps.")
        .no_effect("the order of the cascade is fixed, so that nothing is discounted"),
    boolean(FIELD(AutoMix, use_logprob_verification),
            "Verify replies by their log probabilities, for the cascade. Default: true."),
    boolean(FIELD(AutoMix, enable_self_verification),
            "Let the model grade its own reply, for the cascade. It takes precedence."),
};
constexpr Section kAutoMix{kAutoMixKeys};

constexpr Key kHybridKeys[] = {
    positive(FIELD(HybridSelection, experience_weight), "Weight of earlier outcomes. Default: 0.3.")
        .also("elo_weight"),
    positive(FIELD(HybridSelection, router_dc_weight), "Weight of `router_dc`. Default: 0.3."),
    positive(FIELD(HybridSelection, automix_weight), "Weight of `automix`. Default: 0.2."),
    positive(FIELD(HybridSelection, cost_weight), "Weight of low costs. Default: 0.2."),
    number(FIELD(HybridSelection, quality_gap_threshold),
           "Gain in quality that a larger model needs.")
        .not_built("the weighted sums alone decide"),
    boolean(FIELD(HybridSelection, normalize_scores),
            "Scale each score to the range from 0 to 1. Default: true."),
};
constexpr Section kHybrid{kHybridKeys};

constexpr std::string_view kInTheFile = "the file of the trained model determines it";

constexpr Key kMlSelectorKeys[] = {
    count(FIELD(MlSelector, k), "Neighbours, for `knn`."),
    count(FIELD(MlSelector, num_clusters), "Clusters, for `kmeans`.").no_effect(kInTheFile),
    number(FIELD(MlSelector, efficiency_weight), "Weight of efficiency, for `kmeans`.")
        .no_effect(kInTheFile),
    string(FIELD(MlSelector, kernel), "Kernel, for `svm`.").no_effect(kInTheFile),
    number(FIELD(MlSelector, gamma), "Width of the kernel, for `svm`.").no_effect(kInTheFile),
    string(FIELD(MlSelector, device), "Device, for `mlp`.")
        .no_effect("the router computes on the processor")
        .unless("cpu"),
    string(FIELD(MlSelector, pretrained_path), "File of the trained model."),
};
constexpr Section kMlSelector{kMlSelectorKeys};

constexpr std::string_view kOwnEmbedder = "the router's own embedding model compares requests";

// Newer files have the selectors in `ml`.
constexpr Key kAlgorithmMlKeys[] = {
    object(FIELD(Algorithm, knn), kMlSelector, "The same as `knn`."),
    object(FIELD(Algorithm, kmeans), kMlSelector, "The same as `kmeans`."),
    object(FIELD(Algorithm, svm), kMlSelector, "The same as `svm`."),
    object(FIELD(Algorithm, mlp), kMlSelector, "The same as `mlp`."),
    unread("models_path", "Folder of trained selectors.", "`pretrained_path` names the file"),
    unread("model_type", "Embedding model.", kOwnEmbedder),
    unread("embedding_dim", "Numbers of an embedding.", kOwnEmbedder),
};
constexpr Section kAlgorithmMl{kAlgorithmMlKeys};

constexpr Key kLatencyAwareKeys[] = {
    integer(FIELD(LatencyAware, tpot_percentile), 0, 100,
            "Percentile of the time per output token to compare. 0: do not compare it."),
    integer(FIELD(LatencyAware, ttft_percentile), 0, 100,
            "Percentile of the time to the first token to compare. 0: do not compare it."),
    string(FIELD(LatencyAware, description), "For people."),
};
constexpr Section kLatencyAware{kLatencyAwareKeys};

using FactorWeights = MultiFactor::Weights;

constexpr Key kFactorWeightsKeys[] = {
    positive(FIELD(FactorWeights, quality), "Weight of the card's `quality_score`."),
    positive(FIELD(FactorWeights, latency), "Weight of low latency."),
    positive(FIELD(FactorWeights, cost), "Weight of low costs."),
    positive(FIELD(FactorWeights, load), "Weight of low load."),
};
constexpr Section kFactorWeights{kFactorWeightsKeys};

using Slo = MultiFactor::Slo;

constexpr Key kSloKeys[] = {
    positive(FIELD(Slo, max_tpot_ms), "Greatest time per output token, in milliseconds."),
    positive(FIELD(Slo, max_ttft_ms), "Greatest time to the first token, in milliseconds."),
    positive(FIELD(Slo, max_cost_per_1m), "Greatest price of a million tokens."),
    count(FIELD(Slo, max_inflight), "Greatest number of requests in flight."),
};
constexpr Section kSlo{kSloKeys};

constexpr Choice kOnNoCandidates[] = {{"cheapest", MultiFactor::OnNoCandidates::kCheapest},
                                      {"first", MultiFactor::OnNoCandidates::kFirst},
                                      {"fail", MultiFactor::OnNoCandidates::kFail}};

constexpr Key kMultiFactorKeys[] = {
    object(FIELD(MultiFactor, weights), kFactorWeights, "Weights of the factors. Default: 0.25."),
    object(FIELD(MultiFactor, slo), kSlo, "Limits that exclude a model. 0 (default): no limit."),
    integer(FIELD(MultiFactor, latency_percentile), 0, 100,
            "Percentile of the latencies to compare. Default: 95."),
    choice(FIELD(MultiFactor, on_no_candidates), kOnNoCandidates,
           "Reaction if every model is excluded. Default: `cheapest`."),
    unread("objective", "Strategy of the comparison.", "the factors are weighted"),
    unread("quality", "Index of benchmarks.", "`quality_score` of the card is the quality"),
    unread("latency_metric", "Latency to compare.", "the time per output token is compared"),
    unread("expected_output_tokens", "Length of a reply.", "prices of a million tokens compare"),
};
constexpr Section kMultiFactor{kMultiFactorKeys};

constexpr Key kPromptSelectionKeys[] = {
    string(FIELD(PromptSelection, model), "Model that chooses. Default: the first of `modelRefs`."),
    string(FIELD(PromptSelection, instructions), "Instructions for the choice."),
    count(FIELD(PromptSelection, timeout_seconds), "Time limit of the call, in seconds."),
};
constexpr Section kPromptSelection{kPromptSelectionKeys};

// --- algorithms that call several models ---

constexpr Key kLoopBudgetKeys[] = {
    count(FIELD(LoopBudget, max_calls), "Greatest number of calls."),
    integer(FIELD(LoopBudget, max_tokens), 0, int64_t{1} << 40,
            "Greatest number of tokens, of prompts and replies together."),
    positive(FIELD(LoopBudget, max_cost), "Greatest cost at the prices of the models."),
    integer(FIELD(LoopBudget, max_seconds), 0, 86'400, "Greatest time, in seconds."),
    duration(FIELD(LoopBudget, deadline), 1ms, 24h, "The same, such as `500ms`. It precedes."),
};

constexpr Key kRatingsKeys[] = {
    count(FIELD(Ratings, max_concurrent), "Calls at a time. Default: global.integrations.looper."),
    on_error<Ratings>("Reaction if a model fails: leave it out (`skip`, default) or `fail`."),
};
constexpr Section kRatings{kRatingsKeys};

constexpr Key kRemomKeys[] = {
    numbers(FIELD(Remom, breadth_schedule),
            "Calls of each round, 1 to 64; at most 8 rounds. A synthesis follows."),
    word(FIELD(Remom, model_distribution), "weighted equal round_robin first_only",
         "How to distribute the calls over the models: by `weight` (default), in turn, or all to "
         "the "
         "first."),
    positive(FIELD(Remom, temperature),
             "Temperature of the calls. Default: 1. 0: as the request has it."),
    boolean(FIELD(Remom, include_reasoning), "Pass reasoning to the next round."),
    word(FIELD(Remom, compaction_strategy), "full last_n_tokens",
         "How to shorten replies for the next round: not at all (default), or to their end."),
    integer(FIELD(Remom, compaction_tokens), 0, 1'000'000,
            "Length of a shortened reply, in tokens of four bytes. Default: 1000."),
    string(FIELD(Remom, synthesis_template),
           "Prompt of the later rounds, with {{original}} and {{responses}}, or an instruction in "
           "front of them."),
    string(FIELD(Remom, synthesis_model),
           "Model of the synthesis. Default: the first of `modelRefs`."),
    count(FIELD(Remom, max_concurrent), "Calls at a time."),
    count(FIELD(Remom, max_completion_tokens), "Greatest length of a reply, in tokens."),
    count(FIELD(Remom, round_timeout_seconds), "Time limit of a round, in seconds."),
    count(FIELD(Remom, min_successful_responses),
          "Replies after which a round ends without the others. 0 (default): it waits for all."),
    on_error<Remom>("Reaction if a call fails: continue (`skip`, default) or `fail`."),
    integer(FIELD(Remom, shuffle_seed), INT64_MIN, INT64_MAX,
            "Seed of the order of replies. Default: 42."),
    boolean(FIELD(Remom, include_intermediate_responses),
            "Show the rounds in whole replies, as `reasoning_mom_responses`. Default: true."),
    count(FIELD(Remom, max_responses_per_round),
          "Replies of a round that the next one reads. 0 (default): all."),
};
constexpr Section kRemom{kRemomKeys};

using FusionOverride = Fusion::Override;

constexpr Key kFusionOverrideKeys[] = {
    text(FIELD(FusionOverride, model), "Model of the panel.").required(),
    positive(FIELD(FusionOverride, temperature), "Temperature of its calls."),
    count(FIELD(FusionOverride, max_completion_tokens),
          "Greatest length of its replies, in tokens."),
};
constexpr Section kFusionOverride{kFusionOverrideKeys};

using FusionGrounding = Fusion::Grounding;

constexpr Key kFusionGroundingKeys[] = {
    boolean(FIELD(FusionGrounding, enabled), "Score the replies of the panel.")
        .not_built("the judge reads the replies without scores")
        .unless("false no off"),
    word(FIELD(FusionGrounding, reference), "hybrid context panel",
         "Reference for the scores: the context, the panel, or both."),
    word(FIELD(FusionGrounding, policy), "weight annotate filter", "Use of the scores."),
    share(FIELD(FusionGrounding, min_score), "Least score of a reply, for `filter`."),
    count(FIELD(FusionGrounding, min_keep), "Replies to keep in any case, for `filter`."),
    number(FIELD(FusionGrounding, nli_contradiction_penalty), "Weight of a contradiction."),
    on_error<FusionGrounding>("Reaction if scoring fails."),
};
constexpr Section kFusionGrounding{kFusionGroundingKeys};

void check_fusion(Reader& reader, const yaml::Node& node, Fusion& out) {
  const std::string& target = out.quorum_fallback_target;
  const yaml::Node* at = given(node, "quorum_fallback_target");
  reader.at_key("quorum_fallback_target", [&] {
    if (at == nullptr) {
      if (out.falls_back())
        reader.error(node.line, "missing; expected the model that answers then");
    } else if (!out.falls_back()) {
      reader.notice(at->line, "has no effect without `quorum_failure_policy: fallback`");
    } else if (reader.config.providers.find(target) == nullptr) {
      reader.error(at->line, fmt::format("unknown model \"{}\"", target));
    } else if (has_name(out.analysis_models, target)) {
      reader.error(at->line,
                   fmt::format("\"{}\" is a model of the panel; expected another one", target));
    }
  });
  if (out.falls_back() && out.on_error == "fail") {
    reader.at_key("quorum_failure_policy", [&] {
      reader.notice(node.find("quorum_failure_policy")->line,
                    "one failed call fails the request without a fallback, by `on_error: fail`");
    });
  }
}

constexpr Key kFusionKeys[] = {
    string(FIELD(Fusion, model), "Model that judges. Default: the first of the panel."),
    texts(FIELD(Fusion, analysis_models), "Models of the panel. Default: `modelRefs`."),
    word(FIELD(Fusion, analysis_mode), "separate one_call none",
         "The judge's work: an analysis and then the answer (`separate`, default), or one call."),
    list(FIELD(Fusion, analysis_overrides), kFusionOverride, "Settings of single panel models."),
    count(FIELD(Fusion, max_concurrent), "Calls at a time."),
    count(FIELD(Fusion, max_completion_tokens), "Greatest length of a reply, in tokens."),
    count(FIELD(Fusion, round_timeout_seconds), "Time limit of the panel, in seconds."),
    count(FIELD(Fusion, min_successful_responses), "Replies that the panel needs. Default: 1."),
    positive(FIELD(Fusion, temperature),
             "Temperature of the calls. Default: as the request has it."),
    boolean(FIELD(Fusion, include_analysis),
            "Show the judge's analysis in whole replies, in `fusion`. Default: true."),
    boolean(FIELD(Fusion, include_intermediate_responses),
            "Show the panel's replies in whole replies, in `fusion`. Default: true."),
    on_error<Fusion>("Reaction if a call fails: continue (`skip`, default) or `fail`."),
    string(FIELD(Fusion, analysis_template),
           "Prompt of the analysis, with {{original}} and {{responses}}."),
    string(FIELD(Fusion, synthesis_template),
           "Prompt of the judge, with {{original}}, {{responses}} and {{analysis}}."),
    string(FIELD(Fusion, judge_prompt_version), "Name of the prompt, shown in the reply."),
    object(FIELD(Fusion, grounding), kFusionGrounding, "Scores of the replies."),
    word(FIELD(Fusion, quorum_failure_policy), "fail fallback",
         "Reaction if the panel has fewer replies than `min_successful_responses`: the request "
         "fails (default), or another model answers."),
    string(FIELD(Fusion, quorum_fallback_target), "That other model, for `fallback`."),
};
constexpr Section kFusion{kFusionKeys, checked<check_fusion>};

using WorkflowPlanner = Workflows::Planner;

constexpr Key kWorkflowPlannerKeys[] = {
    string(FIELD(WorkflowPlanner, model), "Model that plans."),
    count(FIELD(WorkflowPlanner, max_completion_tokens),
          "Greatest length of the plan, in tokens. Default: 2048."),
    positive(FIELD(WorkflowPlanner, temperature), "Temperature of the call."),
    count(FIELD(WorkflowPlanner, timeout_seconds), "Time limit of the call, in seconds."),
};
constexpr Section kWorkflowPlanner{kWorkflowPlannerKeys};

constexpr Key kWorkflowsKeys[] = {
    word(FIELD(Workflows, mode), "static dynamic", "A fixed plan, or one that a model makes."),
    string(FIELD_AS("template", Workflows, planner_template), "Template of the plan.")
        .no_effect("there is one template")
        .unless("micro_agent"),
    object(FIELD(Workflows, planner), kWorkflowPlanner, "The planner, for mode `dynamic`."),
    anything(FIELD(Workflows, roles),
             "Steps for mode `static`: a list of `name`, `models`, `prompt` and `access_list`."),
    anything(
        FIELD_AS("final", Workflows, final_step),
        "`model` and `prompt` of the answer, for mode `static`. Default: the result of the last "
        "role."),
    integer(FIELD(Workflows, max_steps), 0, 64,
            "Greatest number of steps of a plan that a model makes. Default: 3."),
    integer(FIELD(Workflows, max_parallel), 0, 64, "Calls at a time. Default: 2."),
    count(FIELD(Workflows, max_completion_tokens), "Greatest length of a reply, in tokens."),
    count(FIELD(Workflows, round_timeout_seconds), "Time limit of a step, in seconds."),
    count(FIELD(Workflows, min_successful_responses),
          "Results after which a step ends without the others. 0 (default): it waits for all."),
    positive(FIELD(Workflows, temperature),
             "Temperature of the calls. Default: as the request has it."),
    boolean(FIELD(Workflows, include_intermediate_responses),
            "Show the steps in whole replies, in `flow`. Default: true."),
    on_error<Workflows>(
        "Reaction if a call fails: `fail`, continue without the step (`skip`), or by default "
        "continue if the step has another result."),
};
constexpr Section kWorkflows{kWorkflowsKeys};

constexpr Key kAlgorithmKeys[] = {
    algorithm_name(FIELD(Algorithm, type),
                   "The algorithm. Default: `static`, which uses the first of `modelRefs`."),
    on_error<Algorithm>("Reaction if the algorithm fails."),
    integer(FIELD(Algorithm, minimum_candidates), 0, 1'000,
            "Different models that must be able to serve a request; with fewer it gets 400. "
            "Default: 1."),
    object(same<Algorithm>("ml"), kAlgorithmMl, "Trained selectors in newer files."),
    object(FIELD(Algorithm, router_dc), kRouterDc, "Similarity of the request to model cards."),
    object(FIELD(Algorithm, automix), kAutoMix, "Quality against costs."),
    object(FIELD(Algorithm, hybrid), kHybrid, "Weighted sum of several algorithms."),
    object(FIELD(Algorithm, latency_aware), kLatencyAware, "The fastest model."),
    object(FIELD(Algorithm, multi_factor), kMultiFactor, "Quality, latency, costs and load."),
    object(FIELD(Algorithm, prompt), kPromptSelection, "Another model chooses."),
    object(FIELD(Algorithm, knn), kMlSelector, "Nearest neighbours in training data."),
    object(FIELD(Algorithm, kmeans), kMlSelector, "Nearest cluster."),
    object(FIELD(Algorithm, svm), kMlSelector, "Support vector machine."),
    object(FIELD(Algorithm, mlp), kMlSelector, "Small neural network."),
    unread("decision", "A model that chooses.", "`static` is used"),
    object(FIELD(Algorithm, confidence), kConfidence,
           "Models from small to large until one is confident."),
    object(FIELD(Algorithm, ratings), kRatings, "All models side by side."),
    object(FIELD(Algorithm, remom), kRemom, "Rounds of replies, then a synthesis."),
    object(FIELD(Algorithm, fusion), kFusion, "A panel of models and a judge."),
    object(FIELD(Algorithm, workflows), kWorkflows, "Steps of a plan."),
    object(FIELD(Algorithm, quality), kQuality, "Figures that an answer of `cascade` needs."),
    named(FIELD(Algorithm, stages), kStage, "Models that `cascade` calls in turn."),
    object(FIELD(Algorithm, budget), kLoopBudget,
           "Bounds on the calls of a request, instead of those of global.integrations.looper. "
           "Signalbox only."),
};

// --- global.router ---

void add_auto_name(Reader& reader, const yaml::Node& node, std::vector<std::string>& names) {
  std::string name;
  read_text(reader, node, name);
  if (!name.empty() && !has_name(names, name)) names.push_back(std::move(name));
}

void add_auto_names(Reader& reader, const yaml::Node& node, std::vector<std::string>& names) {
  std::vector<std::string> more;
  read_texts(reader, node, more);
  for (std::string& name : more) {
    if (!has_name(names, name)) names.push_back(std::move(name));
  }
}

constexpr Key kStreamedBodyKeys[] = {
    boolean(FIELD(StreamedBody, enabled), "Read bodies as they arrive."),
    integer(FIELD(StreamedBody, max_bytes), 0, int64_t{1} << 40, "Greatest size, in bytes."),
    count(FIELD(StreamedBody, timeout_sec), "Time limit of a body, in seconds."),
};
constexpr Section kStreamedBody{kStreamedBodyKeys};

constexpr Key kSkipProcessingKeys[] = {
    boolean(FIELD(SkipProcessing, enabled), "Clients may skip the router by a header."),
};
constexpr Section kSkipProcessing{kSkipProcessingKeys};

using MlSelection = ModelSelection::Ml;

constexpr Key kMlSelectionKeys[] = {
    string(FIELD(MlSelection, models_path), "Folder of trained selectors."),
    count(FIELD(MlSelection, embedding_dim), "Numbers of an embedding.")
        .no_effect("embeddings have the width of the embedding model"),
    unread("model_type", "Embedding model.", kOwnEmbedder),
    object(FIELD(MlSelection, knn), kMlSelector, "Nearest neighbours."),
    object(FIELD(MlSelection, kmeans), kMlSelector, "Nearest cluster."),
    object(FIELD(MlSelection, svm), kMlSelector, "Support vector machine."),
    object(FIELD(MlSelection, mlp), kMlSelector, "Small neural network."),
};
constexpr Section kMlSelection{kMlSelectionKeys};

constexpr Key kModelSelectionKeys[] = {
    boolean(FIELD(ModelSelection, enabled), "Use `method` for decisions without an algorithm."),
    algorithm_name(FIELD(ModelSelection, method), "Algorithm of decisions that name none."),
    object(FIELD(ModelSelection, router_dc), kRouterDc, "Similarity to model cards."),
    object(FIELD(ModelSelection, automix), kAutoMix, "Quality against costs."),
    object(FIELD(ModelSelection, hybrid), kHybrid, "Weighted sum of several algorithms."),
    unread("momentum", "Difficulty of a conversation.", "each request is routed on its own"),
    object(FIELD(ModelSelection, ml), kMlSelection, "Trained selectors."),
};
constexpr Section kModelSelection{kModelSelectionKeys};

using LearningAdaptation = Learning::Adaptation;

constexpr Key kLearningAdaptationKeys[] = {
    boolean(FIELD(LearningAdaptation, enabled), "Prefer models with good outcomes. Default: true."),
    word(FIELD(LearningAdaptation, candidate_set), "decision tier global", "Models to choose from.")
        .not_built("the decision's own models are the candidates")
        .unless("decision"),
    word(FIELD(LearningAdaptation, strategy), "routing_sampling linucb linear_thompson",
         "How to choose: `routing_sampling` tries models at random, good ones more often. "
         "`linucb` and `linear_thompson` learn which models suit which requests. Default: by their "
         "share of good outcomes alone."),
    number(FIELD(LearningAdaptation, exploration), 0, 10,
           "Weight of the uncertainty, for `linucb` and `linear_thompson`. 0 tries nothing. "
           "Default: 0.5. Signalbox only."),
};
constexpr Section kLearningAdaptation{kLearningAdaptationKeys};

void check_header_name(Reader& reader, const yaml::Node& node, std::string& name) {
  if (name.empty() || is_header_name(name)) return;  // an empty one has been reported
  reader.error(node.line, fmt::format("expected the name of a header, found \"{}\"", name));
}

using LearningHeaders = Learning::Headers;

constexpr Key kLearningHeadersKeys[] = {
    text(FIELD(LearningHeaders, session), "Names the session. Default: `x-session-id`.")
        .then<check_header_name>(),
    text(FIELD(LearningHeaders, conversation),
         "Names the conversation. Default: `x-conversation-id`.")
        .then<check_header_name>(),
};
constexpr Section kLearningHeaders{kLearningHeadersKeys};

using LearningIdentity = Learning::Identity;

constexpr Key kLearningIdentityKeys[] = {
    object(FIELD(LearningIdentity, headers), kLearningHeaders, "The headers with identifiers."),
};
constexpr Section kLearningIdentity{kLearningIdentityKeys};

using LearningTuning = Learning::Tuning;

constexpr Key kLearningTuningKeys[] = {
    count(FIELD(LearningTuning, idle_timeout_seconds),
          "Idle time after which the model may change freely, in seconds. 0: never. Default: 300."),
    count(FIELD(LearningTuning, min_turns_before_switch),
          "Turns that a model answers before another one may. Default: 1."),
    positive(FIELD(LearningTuning, switch_margin),
             "Advantage that a change of model needs beyond its cost. Default: 0.05."),
    positive(FIELD(LearningTuning, stability_weight),
             "Weight of the cost of a change of model. Default: 1."),
    unread("progress_gate", "Changes of model only after recent outcomes.",
           "the margin and the cost of a change decide"),
};
constexpr Section kLearningTuning{kLearningTuningKeys};

using LearningProtection = Learning::Protection;

constexpr Key kLearningProtectionKeys[] = {
    boolean(FIELD(LearningProtection, enabled), "Keep a conversation's model. Default: true."),
    word(FIELD(LearningProtection, scope), "conversation session",
         "The requests that share a model. Default: `conversation`."),
    object(FIELD(LearningProtection, identity), kLearningIdentity,
           "How to identify a conversation."),
    object(FIELD(LearningProtection, tuning), kLearningTuning, "How firmly to keep the model."),
};
constexpr Section kLearningProtection{kLearningProtectionKeys};

using LearningStore = Learning::StateStore;

constexpr Key kLearningStoreKeys[] = {
    word(FIELD(LearningStore, backend), "memory redis valkey",
         "`memory` (default), or `redis` or `valkey`, where routers share what they have learnt.")
        .then<read_valkey_as_redis>(),
    integer(FIELD(LearningStore, ttl_seconds), 1, 1'000'000'000,
            "Time for which a conversation is kept after its last request, in seconds. Default: "
            "86400."),
    integer(FIELD(LearningStore, timeout_ms), 0, 60'000,
            "Time limit of an exchange with Redis, in milliseconds. 0: the default, 500."),
    object(FIELD(LearningStore, redis), kRedis, "The server, for either.").also("valkey"),
};

void check_learning_store(Reader& reader, const yaml::Node& node, LearningStore& store) {
  check_store(reader, node, {"backend", store.backend, "conversations and outcomes"}, store.redis);
}

constexpr Section kLearningStore{kLearningStoreKeys, checked<check_learning_store>};

constexpr Key kLearningKeys[] = {
    boolean(FIELD(Learning, enabled), "Learn from conversations and outcomes. Default: false."),
    object(FIELD(Learning, adaptation), kLearningAdaptation, "Adaptation of the choice of models."),
    object(FIELD(Learning, protection), kLearningProtection,
           "Protection of a conversation's model."),
    object(FIELD(Learning, state_store), kLearningStore, "Store of conversations and outcomes."),
};
constexpr Section kLearning{kLearningKeys};

constexpr Key kRouterKeys[] = {
    key_of(FIELD_AS("auto_model_name", Config, auto_model_names), Kind::kString,
           "Another model name by which clients let the router choose.")
        .read_by<add_auto_name>(),
    texts(FIELD(Config, auto_model_names), "More automatic names.").read_by<add_auto_names>(),
    word(FIELD_AS("config_source", Config, router.config_source), "file kubernetes",
         "Source of models and routes. Default: `file`."),
    boolean(FIELD_AS("clear_route_cache", Config, router.clear_route_cache),
            "Let Envoy choose its route again after the router has changed the request."),
    choice(FIELD_AS("strategy", Config, routing.strategy), kStrategies,
           "Default of `routing.strategy`."),
    object(FIELD_AS("streamed_body", Config, router.streamed_body), kStreamedBody,
           "Limits of bodies that are read as they arrive.")
        .not_built("global.services.http limits bodies"),
    boolean(FIELD_AS("include_config_models_in_list", Config, router.include_config_models_in_list),
            "List the models in `/v1/models` beside the names that are decided on. Requests may "
            "name them in any case. Default: true."),
    object(FIELD_AS("skip_processing", Config, router.skip_processing), kSkipProcessing,
           "Requests that skip the router."),
    object(FIELD_AS("agentic_facts", Config, router.agentic_facts), kAgenticFacts,
           "Facts about the agent behind a request, for signals of this name."),
    boolean(FIELD_AS("entropy_reasoning", Config, router.entropy_reasoning),
            "If a domain decides, its uncertainty switches reasoning. Signalbox only."),
    boolean(FIELD_AS("guards_named_models", Config, router.guards_named_models),
            "Actions and guards hold for named models, too. Default: true. Signalbox only."),
    boolean(FIELD_AS("masks_named_models", Config, router.masks_named_models),
            "pii_mask holds for named models, too. Default: true. Signalbox only."),
    object(FIELD_AS("model_selection", Config, router.model_selection), kModelSelection,
           "Defaults of the algorithms of decisions."),
    object(FIELD_AS("learning", Config, router.learning), kLearning, "Learning from outcomes."),
    unread("fallback", "Further models after a failure.", "`reliability.fallback_models` holds"),
};

}  // namespace

constinit const Section kAlgorithm{kAlgorithmKeys};
constinit const Section kLoopBudget{kLoopBudgetKeys};
constinit const Section kRouter{kRouterKeys};

}  // namespace signalbox::config
