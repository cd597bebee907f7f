// The text is embedded once for all signals; each prototype then costs one dot product.

#include "router/signals/embedding.h"

#include <algorithm>
#include <string>

#include "router/signals/prototypes.h"

namespace signalbox::signals {
namespace {

using Aggregation = config::EmbeddingSignal::Aggregation;

class EmbeddedExamples : public EmbeddingSignals {
 public:
  EmbeddedExamples(const std::vector<config::EmbeddingSignal>& signals,
                   const config::EmbeddingModel& model)
      : signals_(signals), model_(model) {}

  Result<void> embed_candidates(const engine::TextEmbedder& embedder) {
    std::vector<std::string_view> texts;
    for (const config::EmbeddingSignal& signal : signals_)
      texts.insert(texts.end(), signal.candidates.begin(), signal.candidates.end());
    SIGNALBOX_TRY(const std::vector<float> all, embed_all(embedder, texts));  // (candidates, dim)
    const auto dim = static_cast<size_t>(embedder.dim());
    size_t begin = 0;
    for (const config::EmbeddingSignal& signal : signals_) {
      const size_t count = signal.candidates.size();
      const auto rows = std::span<const float>(all).subspan(begin * dim, count * dim);
      begin += count;
      const bool mean = signal.aggregation == Aggregation::kMean;
      means_.push_back(mean ? mean_of(rows, dim) : std::vector<float>{});
      unrelated_.push_back(mean ? unrelated_to(signal.candidates) : 0);
      config::PrototypeScoring scoring = model_.prototype_scoring;
      scoring.similarity_exponent = model_.exponent();
      banks_.emplace_back(mean ? std::span<const std::string>{} : signal.candidates, rows, scoring);
    }
    return {};
  }

  std::string_view type() const override { return "embedding"; }
  std::string_view lacks(size_t signal) const override {
    return reads_text(static_cast<uint32_t>(signal)) ? "" : "images and audio are not compared";
  }
  Needs needs() const override { return Needs::kEmbedder; }
  size_t size() const override { return signals_.size(); }
  std::string_view name(size_t signal) const override { return signals_[signal].name; }
  Wording wording() const override { return {"score", "nearest"}; }
  std::optional<double> threshold(size_t signal) const override {
    return signals_[signal].threshold;
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    for (uint32_t i = 0; i < signals_.size(); ++i)
      out[i].known = reads_text(i) || images_of(inputs.request()) == 0;
    const std::string_view text = inputs.request().user_text();
    if (text.empty()) return {};
    SIGNALBOX_TRY(const std::span<const float> query,
                  inputs.embedding(inputs.digest(type(), text)));
    const double unrelated = unrelated_to(std::span(&text, 1));
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      if (!reads_text(i)) continue;
      if (!means_[i].empty()) {
        out[i].score = similarity(
            beyond_language(cosine(query, means_[i]), unrelated, unrelated_[i]), model_.exponent());
        continue;
      }
      const PrototypeBank::Score score = banks_[i].score(query, unrelated);
      out[i].score = score.score;
      evidence.push_back({i, score.nearest, score.best});
    }
    choose(out);
    return {};
  }

 private:
  // The mean of the cosines equals the dot product with the mean vector.
  static std::vector<float> mean_of(std::span<const float> rows, size_t dim) {
    std::vector<float> mean(dim, 0.0f);
    const auto n = static_cast<float>(rows.size() / dim);
    for (size_t i = 0; i < rows.size(); ++i) mean[i % dim] += rows[i] / n;
    return mean;
  }

  // The mean of the texts' unrelated similarities; 0 if the thresholds are those of our model.
  template <class Texts>
  double unrelated_to(const Texts& texts) const {
    double sum = 0;
    if (model_.exponent() == 1) return sum;
    for (const std::string_view text : texts) sum += unrelated_similarity(text);
    return sum / static_cast<double>(texts.size());
  }

  // If no signal reaches its own threshold, soft matching accepts all that reach the shared one.
  void choose(std::span<Reading> out) const {
    bool is_any_hard = false;
    for (uint32_t i = 0; i < signals_.size(); ++i)
      is_any_hard = is_any_hard || (reads_text(i) && out[i].score >= signals_[i].threshold);
    if (!is_any_hard && !model_.soft_matching) return;
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const double least = is_any_hard ? signals_[i].threshold : model_.soft_threshold;
      if (!reads_text(i) || out[i].score < least) continue;
      out[i].matched = true;
      out[i].confidence = std::clamp(out[i].score, 0.0, 1.0);
    }
  }

  // A signal about images or audio does not match without them, and cannot be computed with them.
  bool reads_text(uint32_t signal) const {
    return signals_[signal].query_modality == config::EmbeddingSignal::Modality::kText;
  }
  static uint32_t images_of(const request::ChatRequest& request) {
    uint32_t images = 0;
    for (const request::ChatMessage& message : request.messages) images += message.images;
    return images;
  }

  const std::vector<config::EmbeddingSignal>& signals_;
  const config::EmbeddingModel& model_;
  std::vector<PrototypeBank> banks_;       // (signals)
  std::vector<std::vector<float>> means_;  // (signals), empty unless the aggregation is mean
  std::vector<double> unrelated_;          // (signals) of means_
};

}  // namespace

Result<std::unique_ptr<const SignalType>> EmbeddingSignals::create(
    const std::vector<config::EmbeddingSignal>& signals, const config::EmbeddingModel& model,
    const engine::TextEmbedder& embedder) {
  auto made = std::make_unique<EmbeddedExamples>(signals, model);
  SIGNALBOX_TRY_VOID(made->embed_candidates(embedder));
  return made;
}

}  // namespace signalbox::signals
