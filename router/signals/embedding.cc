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
    for (const config::EmbeddingSignal& signal : signals_) {
      for (const auto* list : {&signal.candidates, &signal.negative_candidates})
        texts.insert(texts.end(), list->begin(), list->end());
    }
    SIGNALBOX_TRY(const std::vector<float> all, embed_all(embedder, texts));  // (candidates, dim)
    const auto dim = static_cast<size_t>(embedder.dim());
    size_t begin = 0;
    const auto add = [&](const config::EmbeddingSignal& signal,
                         const std::vector<std::string>& list, std::vector<Examples>& out) {
      const auto rows = std::span<const float>(all).subspan(begin * dim, list.size() * dim);
      begin += list.size();
      out.push_back(examples_of(signal, list, rows));
    };
    for (const config::EmbeddingSignal& signal : signals_) {
      add(signal, signal.candidates, positive_);
      add(signal, signal.negative_candidates, negative_);
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
      const PrototypeBank::Score score = compare(query, unrelated, positive_[i]);
      out[i].score = score.score - compare(query, unrelated, negative_[i]).score;
      if (!score.nearest.empty()) evidence.push_back({i, score.nearest, score.best});
    }
    choose(out);
    return {};
  }

 private:
  // The candidates of a signal, or its negative ones.
  struct Examples {
    PrototypeBank bank;       // empty if the aggregation is mean
    std::vector<float> mean;  // empty unless it is
    double unrelated = 0;     // of the mean; 0 if the exponent is 1
    double exponent = 1;
  };

  Examples examples_of(const config::EmbeddingSignal& signal, const std::vector<std::string>& texts,
                       std::span<const float> rows) const {
    config::PrototypeScoring scoring = signal.prototype_scoring.value_or(model_.prototype_scoring);
    // The exponent does not apply to a difference of similarities, as in the margin of complexity.
    scoring.similarity_exponent = signal.negative_candidates.empty() ? model_.exponent() : 1;
    const bool mean = signal.aggregation == Aggregation::kMean && !texts.empty();
    return {PrototypeBank(mean ? std::span<const std::string>{} : texts, rows, scoring),
            mean ? mean_of(rows, rows.size() / texts.size()) : std::vector<float>{},
            mean && scoring.similarity_exponent != 1 ? unrelated_to(texts) : 0,
            scoring.similarity_exponent};
  }

  // Without examples the score is 0.
  PrototypeBank::Score compare(std::span<const float> query, double unrelated,
                               const Examples& examples) const {
    if (examples.mean.empty()) return examples.bank.score(query, unrelated);
    const double of_mean = cosine(query, examples.mean);
    return {.score = similarity(beyond_language(of_mean, unrelated, examples.unrelated),
                                examples.exponent),
            .nearest = {}};
  }

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

  // A signal about images or audio does not match a request without them, and is unavailable for a
  // request with them.
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
  std::vector<Examples> positive_, negative_;  // (signals)
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
