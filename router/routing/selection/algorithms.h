#pragma once
// The algorithms that choose one model, one file each. Formulas are those of the vLLM Semantic
// Router unless noted otherwise. Every configuration must outlive the result.

#include "engine/engine.h"
#include "router/routing/selection/selection.h"

namespace signalbox::selection {

using Made = Result<std::unique_ptr<const Selector>>;

/// Chooses the best of a domain's model_scores. The domain must either match or give the decision
/// its name, and it must have scores for candidates. Otherwise, if every candidate has a weight, it
/// draws one by weight (our addition). Otherwise it takes the first.
std::unique_ptr<const Selector> static_choice(const std::vector<config::DomainSignal>& domains);

/// Draws one, each with the same probability.
std::unique_ptr<const Selector> random_choice();

/// Chooses the fastest: the mean of TPOT / least TPOT and TTFT / least TTFT at their percentiles. A
/// candidate without measurements is tried first, by one request at a time (our addition: the
/// Semantic Router never measures it).
std::unique_ptr<const Selector> latency_aware(const config::LatencyAware& config);

/// Chooses by a weighted sum of quality, speed, cheapness and idleness, each normalised over the
/// candidates within the bounds; an unknown value counts as one half. Speed is TPOT, or TTFT if no
/// TPOT is known.
std::unique_ptr<const Selector> multi_factor(const config::MultiFactor& config);

/// Chooses the greatest value: quality (0.8 if unknown) minus cost_quality_tradeoff * cost / 10;
/// the cost counts only with cost_aware_routing. The Semantic Router's cascade, which queries
/// several models, is not included.
std::unique_ptr<const Selector> automix(const config::AutoMix& config);

/// Chooses the candidate whose card is most similar to the request: 1 / (1 + exp(-cosine /
/// temperature)). Below min_similarity it takes the first candidate. A card consists of its
/// description, its capabilities (with use_capabilities or without a description), and the
/// description of the candidate's adapter. With require_descriptions, a candidate without a
/// description gives kInvalid. Embeds the cards.
Made router_dc(const config::RouterDc& config, std::span<const Candidate> candidates,
               const engine::TextEmbedder& embedder);

/// Chooses by a weighted sum of experience, router_dc and automix, raised by up to cost_weight for
/// a low cost. Nothing is learnt from outcomes: experience is the card's quality. Without an
/// embedder the sum omits router_dc.
Made hybrid(const config::HybridSelection& config, const config::RouterDc& router_dc,
            const config::AutoMix& automix, std::span<const Candidate> candidates,
            const engine::TextEmbedder* embedder);

/// Chooses by the votes of the k examples nearest to the request, among the examples of the
/// candidates; each counts 0.9 quality + 0.1 speed. `json` is a model that the Semantic Router
/// trained:
/// {"algorithm": "knn", "k": 5, "embeddings": [[...]], "labels": [MODEL], "qualities": [...]?,
/// "latencies": [...]?}. Errors call it `name`. With `k` 0 the model's own k is used. kInvalid for
/// a malformed model or one of another dimension than `dim`; kTooLarge.
Made knn(std::string json, std::string_view name, uint32_t k, int32_t dim);

/// Chooses the candidate with the greatest score of a model that the Semantic Router trained.
/// `method` is static:
///   kmeans  the scores of the nearest centroid: {"algorithm", "centroids": [[...]],
///           "cluster_models": [MODEL]}, or in format 2 "candidate_set" and "scores";
///   svm     a classifier for each model: {"linear_classifiers": [...]} or {"rbf_classifiers"}; in
///           format 2 a scikit-learn SVC of all models: {"model_names", "kernel_type", "svc":
///           {...}};
///   mlp     {"model_names", "layers": [{"type": "linear" | "relu" | "batch_norm" | "dropout"}]}.
/// Errors are those of knn().
Made trained(std::string_view method, std::string json, std::string_view name, int32_t dim);

}  // namespace signalbox::selection
