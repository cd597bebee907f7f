#pragma once
// The algorithms that choose one model, one file each. Formulas are upstream's unless said
// otherwise. Configurations outlive the result everywhere.

#include "engine/engine.h"
#include "router/routing/selection/selection.h"

namespace signalbox::selection {

using Made = Result<std::unique_ptr<const Selector>>;

/// The best of the domain's model_scores, where a domain that the decision is named after, or that
/// matches, has scores for candidates. Else, where every candidate has a weight, one drawn by
/// weight (ours). Else the first.
std::unique_ptr<const Selector> static_choice(const std::vector<config::DomainSignal>& domains);

/// The fastest: mean of TPOT / least TPOT and TTFT / least TTFT at their percentiles. A candidate
/// that nothing is measured of is tried first, by one request at a time (ours: upstream never
/// measures it).
std::unique_ptr<const Selector> latency_aware(const config::LatencyAware& config);

/// Weighted sum of quality, speed, cheapness and idleness, each normalised over the candidates
/// within the bounds; what is unknown counts half. Speed is TPOT, or TTFT where no TPOT is known.
std::unique_ptr<const Selector> multi_factor(const config::MultiFactor& config);

/// The greatest value: quality (0.8 if unknown) less cost_quality_tradeoff * cost / 10, where
/// cost_aware_routing says that cost counts. Upstream's cascade, which asks several models, is not
/// part of it.
std::unique_ptr<const Selector> automix(const config::AutoMix& config);

/// The candidate whose card is nearest to the request: 1 / (1 + exp(-cosine / temperature)), the
/// first candidate below min_similarity. A card is its description, its capabilities where
/// use_capabilities says so or there is no description, and the description of the candidate's
/// adapter. kInvalid with require_descriptions for a candidate without. Embeds the cards.
Made router_dc(const config::RouterDc& config, std::span<const Candidate> candidates,
               const engine::TextEmbedder& embedder);

/// Weighted sum of experience, router_dc and automix, raised by up to cost_weight for being cheap.
/// Nothing is learnt from outcomes: experience is the card's quality. Without an embedder the sum
/// goes without router_dc.
Made hybrid(const config::HybridSelection& config, const config::RouterDc& router_dc,
            const config::AutoMix& automix, std::span<const Candidate> candidates,
            const engine::TextEmbedder* embedder);

/// The vote of the k examples nearest to the request, among those of candidates: each counts 0.9
/// quality + 0.1 speed. `json` is a model that upstream trained:
/// {"algorithm": "knn", "k": 5, "embeddings": [[...]], "labels": [MODEL], "qualities": [...]?,
/// "latencies": [...]?}; `name` stands for it in errors. `k` 0: the model's own. kInvalid for a
/// model that is none, or of another dimension than `dim`; kTooLarge.
Made knn(std::string json, std::string_view name, uint32_t k, int32_t dim);

}  // namespace signalbox::selection
