// Embeddings are L2-normalised, so a dot product is the cosine.

#include "router/routing/selection/router_dc.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "router/routing/selection/algorithms.h"

namespace signalbox::selection {
namespace {

// The minimum that keeps similarities from becoming 0 or 1. The Semantic Router divides by zero.
constexpr double kTemperatureMin = 1e-3;

std::string text_of(const config::RouterDc& config, const Candidate& candidate) {
  std::string out;
  const auto add = [&out](std::string_view part) {
    if (part.empty()) return;
    if (!out.empty()) out += ". ";
    out += part;
  };
  if (candidate.card == nullptr) return out;
  const config::ModelCard& card = *candidate.card;
  add(card.description);
  if (config.use_capabilities || card.description.empty()) {
    std::string capabilities;
    for (const std::string& each : card.capabilities)
      capabilities += (capabilities.empty() ? "" : ", ") + each;
    if (!capabilities.empty()) add(fmt::format("Capabilities: {}", capabilities));
  }
  for (const config::ModelCard::Lora& lora : card.loras) {
    if (lora.name == candidate.ref->lora_name) add(lora.description);
  }
  return out;
}

class RouterDc final : public Selector {
 public:
  RouterDc(const config::RouterDc& config, Cards cards)
      : config_(config), cards_(std::move(cards)) {}
  std::string_view method() const override { return "router_dc"; }
  bool needs_query() const override { return true; }

  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs& inputs) const override {
    if (inputs.query.empty())
      return Choice{0, "the first of its models: the request was not embedded"};
    const Scores scores = cards_.similarities(candidates, inputs.query);
    const size_t best = best_of(scores);
    if (!scores[best] || *scores[best] < config_.min_similarity) {
      return Choice{0, fmt::format("the first of its models: no card is similar enough ({})",
                                   describe_scores(candidates, scores))};
    }
    return Choice{best,
                  fmt::format("similarity of the card: {}", describe_scores(candidates, scores)),
                  scores};
  }

 private:
  const config::RouterDc config_;
  Cards cards_;
};

}  // namespace

Result<Cards> Cards::embed(const config::RouterDc& config, std::span<const Candidate> candidates,
                           const engine::TextEmbedder& embedder) {
  Cards out;
  out.temperature_ = std::max(config.temperature, kTemperatureMin);
  for (const Candidate& candidate : candidates) {
    const std::string text = text_of(config, candidate);
    if (text.empty() && config.require_descriptions) {
      return fail(Code::kInvalid,
                  "router_dc: require_descriptions: model \"{}\" has no card with a description",
                  candidate.model->name);
    }
    if (text.empty()) continue;
    std::vector<float> vector(static_cast<size_t>(embedder.dim()));
    const std::string_view view = text;
    SIGNALBOX_TRY_VOID(embedder.embed({&view, 1}, vector));
    out.vectors_.emplace(candidate.ref, std::move(vector));
  }
  return out;
}

Scores Cards::similarities(std::span<const Candidate> candidates,
                           std::span<const float> query) const {
  Scores out;
  for (const Candidate& candidate : candidates) {
    const auto found = vectors_.find(candidate.ref);
    if (found == vectors_.end()) {
      out.push_back(std::nullopt);
      continue;
    }
    const double cosine =
        std::inner_product(query.begin(), query.end(), found->second.begin(), 0.0);
    out.push_back(1 / (1 + std::exp(-cosine / temperature_)));
  }
  return out;
}

Made router_dc(const config::RouterDc& config, std::span<const Candidate> candidates,
               const engine::TextEmbedder& embedder) {
  SIGNALBOX_TRY(Cards cards, Cards::embed(config, candidates, embedder));
  return std::make_unique<RouterDc>(config, std::move(cards));
}

}  // namespace signalbox::selection
