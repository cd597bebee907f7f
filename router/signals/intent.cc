// Signals of type intent. The nearest examples of all intents vote, each weighted by its
// similarity. A vote needs no training and no threshold per intent; a new intent is a few lines of
// examples.

#include <algorithm>
#include <numeric>

#include "router/signals/prototypes.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

class IntentSignals : public NamedSignals<config::IntentSignal> {
 public:
  using NamedSignals::NamedSignals;

  Result<void> embed(const engine::TextEmbedder& embedder) {
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      for (const std::string& example : signals_[i].examples) {
        owners_.push_back(i);
        texts_.push_back(example);
      }
    }
    dim_ = static_cast<size_t>(embedder.dim());
    SIGNALBOX_TRY(vectors_, embed_all(embedder, texts_));
    return {};
  }

  std::string_view type() const override { return "intent"; }
  Needs needs() const override { return Needs::kEmbedder; }
  Wording wording() const override { return {"share of votes", "nearest"}; }
  std::optional<double> threshold(size_t signal) const override {
    return signals_[signal].threshold;
  }
  std::optional<double> least_similarity(size_t signal) const override {
    return signals_[signal].min_similarity;
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const std::string_view text = inputs.request().user_text();
    if (text.empty()) return {};
    SIGNALBOX_TRY(const std::span<const float> query,
                  inputs.embedding(inputs.digest(type(), text)));
    std::vector<double> similarities(texts_.size());
    for (size_t e = 0; e < texts_.size(); ++e)
      similarities[e] = cosine(query, std::span(vectors_).subspan(e * dim_, dim_));
    std::vector<uint32_t> nearest(texts_.size());
    std::iota(nearest.begin(), nearest.end(), 0u);
    std::stable_sort(nearest.begin(), nearest.end(),
                     [&](uint32_t a, uint32_t b) { return similarities[a] > similarities[b]; });
    for (uint32_t i = 0; i < signals_.size(); ++i)
      out[i] = vote(i, nearest, similarities, evidence);
    return {};
  }

 private:
  Reading vote(uint32_t signal, const std::vector<uint32_t>& nearest,
               const std::vector<double>& similarities, std::vector<Evidence>& evidence) const {
    const config::IntentSignal& intent = signals_[signal];
    const size_t voters = std::min<size_t>(intent.neighbours, nearest.size());
    double all = 0;
    double own = 0;
    double best = -1;
    for (size_t v = 0; v < voters; ++v) {
      const uint32_t example = nearest[v];
      const double weight = std::max(similarities[example], 0.0);
      all += weight;
      if (owners_[example] != signal) continue;
      own += weight;
      if (best < 0) evidence.push_back({signal, texts_[example], similarities[example]});
      best = std::max(best, similarities[example]);
    }
    const double share = all > 0 ? own / all : 0;
    const bool matched = share >= intent.threshold && best >= intent.min_similarity;
    return {matched, matched ? share : 0, share};
  }

  size_t dim_ = 0;
  std::vector<uint32_t> owners_;         // (examples): index of the signal
  std::vector<std::string_view> texts_;  // (examples)
  std::vector<float> vectors_;           // (examples, dim)
};

}  // namespace

SignalTypeResult intent_signals(const std::vector<config::IntentSignal>& signals,
                                const engine::TextEmbedder& embedder) {
  auto made = std::make_unique<IntentSignals>(signals);
  SIGNALBOX_TRY_VOID(made->embed(embedder));
  return made;
}

}  // namespace signalbox::signals
