// A decision's `algorithm`: one table for each way of choosing, or of answering together.

#include "router/config/algorithms.h"

#include <algorithm>
#include <array>

#include "router/config/sections.h"

namespace signalbox::config {
namespace {

constexpr auto kAlgorithms = std::to_array<std::string_view>(
    {"static", "router_dc", "hybrid", "latency_aware", "multi_factor", "automix", "knn", "kmeans",
     "svm", "mlp", "prompt", "confidence", "ratings", "remom", "fusion", "workflows"});
// What older files have; outcomes are learnt from globally since v0.3.
constexpr auto kRemovedAlgorithms = std::to_array<std::string_view>(
    {"elo", "rl_driven", "gmtrouter", "session_aware", "bandit", "thompson", "personalization"});
constexpr auto kBuiltAlgorithms = std::to_array<std::string_view>(
    {"static", "router_dc", "hybrid", "latency_aware", "multi_factor", "automix", "knn"});
constexpr auto kSeveral =
    std::to_array<std::string_view>({"confidence", "ratings", "remom", "fusion", "workflows"});
const std::vector<std::string_view> kOnError{"skip", "fail", "fallback"};

const Section<MultiFactor::Weights>& weights_section() {
  using W = MultiFactor::Weights;
  static const Section<W> section{{
      optional("quality", positive(&W::quality), "of quality_score"),
      optional("latency", positive(&W::latency), "of being fast"),
      optional("cost", positive(&W::cost), "of being cheap"),
      optional("load", positive(&W::load), "of having little to do"),
  }};
  return section;
}

const Section<MultiFactor::Slo>& slo_section() {
  using S = MultiFactor::Slo;
  static const Section<S> section{{
      optional("max_tpot_ms", positive(&S::max_tpot_ms), "time of a token"),
      optional("max_ttft_ms", positive(&S::max_ttft_ms), "time to the first token"),
      optional("max_cost_per_1m", positive(&S::max_cost_per_1m), "price of a million tokens"),
      optional("max_inflight", count(&S::max_inflight), "requests at a time"),
  }};
  return section;
}

const Section<LatencyAware>& latency_aware_section() {
  using L = LatencyAware;
  static const Section<L> section{{
      optional("tpot_percentile", integer(&L::tpot_percentile, 0, 100), "of the time of a token"),
      optional("ttft_percentile", integer(&L::ttft_percentile, 0, 100),
               "of the time to the first token"),
      optional("description", string(&L::description), "for people"),
  }};
  return section;
}

const Section<MultiFactor>& multi_factor_section() {
  using M = MultiFactor;
  using On = M::OnNoCandidates;
  static const Section<M> section{{
      optional("weights", object(&M::weights, weights_section), "of the factors"),
      optional("slo", object(&M::slo, slo_section), "bounds that rule a model out"),
      optional("latency_percentile", integer(&M::latency_percentile, 0, 100),
               "of the latencies that count"),
      optional("on_no_candidates",
               choice(&M::on_no_candidates,
                      {{"cheapest", On::kCheapest}, {"first", On::kFirst}, {"fail", On::kFail}}),
               "when every model is ruled out"),
  }};
  return section;
}

const Section<PromptSelection>& prompt_section() {
  using P = PromptSelection;
  static const Section<P> section{{
      optional("model", string(&P::model), "that chooses"),
      optional("instructions", string(&P::instructions), "how"),
      optional("timeout_seconds", count(&P::timeout_seconds), "for its answer"),
  }};
  return section;
}

const Section<ConfidenceCascade::HybridWeights>& hybrid_weights_section() {
  using W = ConfidenceCascade::HybridWeights;
  static const Section<W> section{{
      optional("logprob_weight", positive(&W::logprob_weight), "of the mean log-probability"),
      optional("margin_weight", positive(&W::margin_weight), "of the margin to the second best"),
  }};
  return section;
}

const Section<ConfidenceCascade>& confidence_section() {
  using C = ConfidenceCascade;
  static const Section<C> section{{
      optional("confidence_method", string(&C::confidence_method),
               "avg_logprob, margin, hybrid, self_verify or automix_entailment"),
      optional("threshold", number(&C::threshold), "confidence that ends the cascade"),
      optional("hybrid_weights", object(&C::hybrid_weights, hybrid_weights_section), "of hybrid"),
      optional("on_error", word(&C::on_error, kOnError), "when a model fails"),
      optional("escalation_order", string(&C::escalation_order), "small_to_large, ..."),
      optional("cost_quality_tradeoff", number(&C::cost_quality_tradeoff), "0: quality; 1: cost"),
      optional("token_filter", string(&C::token_filter), "which tokens count"),
      optional("verifier_server_url", string(&C::verifier_server_url), "of automix_entailment"),
      optional("verifier_timeout_seconds", count(&C::verifier_timeout_seconds), "for its answer"),
  }};
  return section;
}

const Section<Ratings>& ratings_section() {
  static const Section<Ratings> section{{
      optional("max_concurrent", count(&Ratings::max_concurrent), "models asked at a time"),
      optional("on_error", word(&Ratings::on_error, kOnError), "when one fails"),
  }};
  return section;
}

const Section<Remom>& remom_section() {
  using R = Remom;
  static const Section<R> section{{
      optional("breadth_schedule", numbers(&R::breadth_schedule), "calls of each round"),
      optional("model_distribution", string(&R::model_distribution), "of the calls over models"),
      optional("temperature", positive(&R::temperature), "of the calls"),
      optional("include_reasoning", boolean(&R::include_reasoning), "pass reasoning on"),
      optional("compaction_strategy", string(&R::compaction_strategy), "what of a reply goes on"),
      optional("compaction_tokens", count(&R::compaction_tokens), "how much of it"),
      optional("synthesis_template", string(&R::synthesis_template), "prompt of the last round"),
      optional("synthesis_model", string(&R::synthesis_model), "its model"),
      optional("max_concurrent", count(&R::max_concurrent), "calls at a time"),
      optional("max_completion_tokens", count(&R::max_completion_tokens), "of a call"),
      optional("round_timeout_seconds", count(&R::round_timeout_seconds), "of a round"),
      optional("min_successful_responses", count(&R::min_successful_responses), "of a round"),
      optional("on_error", word(&R::on_error, kOnError), "when a call fails"),
      optional("shuffle_seed", integer(&R::shuffle_seed, INT64_MIN, INT64_MAX), "of the order"),
      optional("include_intermediate_responses", boolean(&R::include_intermediate_responses),
               "show the rounds in the reply"),
      optional("max_responses_per_round", count(&R::max_responses_per_round), "that are shown"),
  }};
  return section;
}

const Section<Fusion::Override>& override_section() {
  using O = Fusion::Override;
  static const Section<O> section{{
      required("model", text(&O::model), "whose calls"),
      optional("temperature", positive(&O::temperature), "of its calls"),
      optional("max_completion_tokens", count(&O::max_completion_tokens), "of its calls"),
  }};
  return section;
}

const Section<Fusion::Grounding>& grounding_section() {
  using G = Fusion::Grounding;
  static const Section<G> section{{
      optional("enabled", boolean(&G::enabled), "score the panel's replies"),
      optional("reference", word(&G::reference, {"hybrid", "context", "panel"}), "against what"),
      optional("policy", word(&G::policy, {"weight", "annotate", "filter"}), "what scores do"),
      optional("min_score", share(&G::min_score), "of filter: below it a reply is dropped"),
      optional("min_keep", count(&G::min_keep), "of filter: replies that stay in any case"),
      optional("nli_contradiction_penalty", number(&G::nli_contradiction_penalty),
               "weight of a contradiction"),
      optional("on_error", word(&G::on_error, kOnError), "when scoring fails"),
  }};
  return section;
}

const Section<Fusion>& fusion_section() {
  using F = Fusion;
  static const Section<F> section{{
      optional("model", string(&F::model), "the judge"),
      optional("analysis_models", texts(&F::analysis_models), "the panel"),
      optional("analysis_overrides", list(&F::analysis_overrides, override_section),
               "what differs for one of it"),
      optional("max_concurrent", count(&F::max_concurrent), "calls at a time"),
      optional("max_completion_tokens", count(&F::max_completion_tokens), "of a call"),
      optional("round_timeout_seconds", count(&F::round_timeout_seconds), "of the panel"),
      optional("min_successful_responses", count(&F::min_successful_responses), "of the panel"),
      optional("temperature", positive(&F::temperature), "of the calls"),
      optional("include_analysis", boolean(&F::include_analysis), "show the judge's analysis"),
      optional("include_intermediate_responses", boolean(&F::include_intermediate_responses),
               "show the panel's replies"),
      optional("on_error", word(&F::on_error, kOnError), "when a call fails"),
      optional("analysis_template", string(&F::analysis_template), "prompt of the analysis"),
      optional("synthesis_template", string(&F::synthesis_template), "prompt of the judge"),
      optional("judge_prompt_version", string(&F::judge_prompt_version), "which built-in prompt"),
      optional("grounding", object(&F::grounding, grounding_section), "scores for the replies"),
  }};
  return section;
}

const Section<Workflows::Planner>& planner_section() {
  using P = Workflows::Planner;
  static const Section<P> section{{
      optional("model", string(&P::model), "that plans"),
      optional("max_completion_tokens", count(&P::max_completion_tokens), "of the plan"),
      optional("temperature", positive(&P::temperature), "of the call"),
      optional("timeout_seconds", count(&P::timeout_seconds), "for the plan"),
  }};
  return section;
}

const Section<Workflows>& workflows_section() {
  using W = Workflows;
  static const Section<W> section{{
      optional("mode", word(&W::mode, {"static", "dynamic"}), "who makes the plan"),
      optional("template", string(&W::planner_template), "of the plan"),
      optional("planner", object(&W::planner, planner_section), "of mode dynamic"),
      optional("roles", anything(&W::roles), "of mode static: who does what"),
      optional("final", anything(&W::final_step), "of mode static: who sums up"),
      optional("max_steps", count(&W::max_steps), "of a plan"),
      optional("max_parallel", count(&W::max_parallel), "steps at a time"),
      optional("max_completion_tokens", count(&W::max_completion_tokens), "of a step"),
      optional("round_timeout_seconds", count(&W::round_timeout_seconds), "of a step"),
      optional("min_successful_responses", count(&W::min_successful_responses), "of a plan"),
      optional("temperature", positive(&W::temperature), "of the calls"),
      optional("include_intermediate_responses", boolean(&W::include_intermediate_responses),
               "show the steps in the reply"),
      optional("on_error", word(&W::on_error, kOnError), "when a step fails"),
  }};
  return section;
}

const Section<Algorithm>& algorithm_section() {
  using A = Algorithm;
  static const Section<A> section{{
      optional("type", algorithm_type(&A::type), "which; default: static, the first of modelRefs"),
      optional("on_error", word(&A::on_error, kOnError), "when it fails"),
      optional("router_dc", object(&A::router_dc, router_dc_section), "similarity to model cards"),
      optional("automix", object(&A::automix, automix_section), "value of quality against cost"),
      optional("hybrid", object(&A::hybrid, hybrid_section), "several of the others, weighted"),
      optional("latency_aware", object(&A::latency_aware, latency_aware_section), "the fastest"),
      optional("multi_factor", object(&A::multi_factor, multi_factor_section),
               "quality, latency, cost and load"),
      optional("prompt", object(&A::prompt, prompt_section), "another model chooses"),
      optional("knn", object(&A::knn, ml_selector_section), "nearest neighbours"),
      optional("kmeans", object(&A::kmeans, ml_selector_section), "nearest cluster"),
      optional("svm", object(&A::svm, ml_selector_section), "support vectors"),
      optional("mlp", object(&A::mlp, ml_selector_section), "a small network"),
      optional("confidence", object(&A::confidence, confidence_section),
               "from small to large until one is sure"),
      optional("ratings", object(&A::ratings, ratings_section), "all of them, side by side"),
      optional("remom", object(&A::remom, remom_section), "rounds of replies, then a synthesis"),
      optional("fusion", object(&A::fusion, fusion_section), "a panel and a judge"),
      optional("workflows", object(&A::workflows, workflows_section), "steps of a plan"),
  }};
  return section;
}

}  // namespace

const Section<RouterDc>& router_dc_section() {
  using R = RouterDc;
  static const Section<R> section{{
      optional("temperature", positive(&R::temperature), "of the softmax over models"),
      optional("dimension_size", count(&R::dimension_size),
               "of the embeddings; those of the embedding model are taken as they are"),
      optional("min_similarity", number(&R::min_similarity, -1, 1),
               "below it the default is taken"),
      optional("use_query_contrastive", boolean(&R::use_query_contrastive),
               "of how upstream trains; nothing is trained here"),
      optional("use_model_contrastive", boolean(&R::use_model_contrastive), "the same"),
      optional("require_descriptions", boolean(&R::require_descriptions),
               "every model needs a description"),
      optional("use_capabilities", boolean(&R::use_capabilities),
               "capabilities count as description"),
  }};
  return section;
}

const Section<AutoMix>& automix_section() {
  using A = AutoMix;
  static const Section<A> section{{
      optional("verification_threshold", share(&A::verification_threshold), "least confidence"),
      optional("max_escalations", count(&A::max_escalations), "to larger models"),
      optional("cost_aware_routing", boolean(&A::cost_aware_routing), "prices count"),
      optional("cost_quality_tradeoff", number(&A::cost_quality_tradeoff), "0: quality; 1: cost"),
      optional("discount_factor", share(&A::discount_factor), "of later steps"),
      optional("use_logprob_verification", boolean(&A::use_logprob_verification),
               "confidence from log-probabilities"),
  }};
  return section;
}

const Section<HybridSelection>& hybrid_section() {
  using H = HybridSelection;
  static const Section<H> section{{
      optional("experience_weight", positive(&H::experience_weight), "of outcomes so far")
          .alias("elo_weight"),
      optional("router_dc_weight", positive(&H::router_dc_weight), "of router_dc"),
      optional("automix_weight", positive(&H::automix_weight), "of automix"),
      optional("cost_weight", positive(&H::cost_weight), "of being cheap"),
      optional("quality_gap_threshold", number(&H::quality_gap_threshold),
               "of a larger model before it is taken")
          .not_built("the sums alone decide"),
      optional("normalize_scores", boolean(&H::normalize_scores), "to the range 0 to 1"),
  }};
  return section;
}

const Section<MlSelector>& ml_selector_section() {
  using M = MlSelector;
  static const Section<M> section{{
      optional("k", count(&M::k), "neighbours; of knn"),
      optional("num_clusters", count(&M::num_clusters), "of kmeans"),
      optional("efficiency_weight", number(&M::efficiency_weight), "of kmeans"),
      optional("kernel", string(&M::kernel), "of svm"),
      optional("gamma", number(&M::gamma), "of svm"),
      optional("device", string(&M::device), "of mlp"),
      optional("pretrained_path", string(&M::pretrained_path), "the trained model"),
  }};
  return section;
}

std::vector<std::string_view> algorithm_types() {
  return {kAlgorithms.begin(), kAlgorithms.end()};
}

void check_algorithm_type(Reader& reader, const yaml::Node& node, std::string_view type) {
  if (std::find(kAlgorithms.begin(), kAlgorithms.end(), type) != kAlgorithms.end()) return;
  if (std::find(kRemovedAlgorithms.begin(), kRemovedAlgorithms.end(), type) !=
      kRemovedAlgorithms.end()) {
    return reader.error(node.line, fmt::format("\"{}\" is no longer an algorithm; outcomes are "
                                               "learnt from by global.router.learning",
                                               type));
  }
  reader.error(node.line,
               fmt::format("unknown algorithm \"{}\"{}", type, suggestion(type, kAlgorithms)));
}

Value<Decision> algorithm_value() {
  return object(&Decision::algorithm, algorithm_section);
}

bool asks_several(std::string_view algorithm) {
  return std::find(kSeveral.begin(), kSeveral.end(), algorithm) != kSeveral.end();
}

bool is_built(std::string_view algorithm) {
  return std::find(kBuiltAlgorithms.begin(), kBuiltAlgorithms.end(), algorithm) !=
         kBuiltAlgorithms.end();
}

}  // namespace signalbox::config
