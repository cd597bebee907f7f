// The text is embedded once for all signals; what remains is one dot product a prototype.

#include "router/signals/embedding.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>

namespace signalbox::router {
namespace {

using Aggregation = config::EmbeddingSignal::Aggregation;

constexpr double kPrototypeSimilarity = 0.9;
constexpr double kBestWeight = 0.75;
constexpr size_t kCandidatesBatch = 16;

double dot(const float* a, const float* b, size_t dim) {
  return std::inner_product(a, a + dim, b, 0.0f);
}

struct Prototype {
  uint32_t signal;
  std::string_view text;  // the candidate it is
};

struct Scratch {
  std::span<const float> query;      // (dim)
  std::vector<double> best, second;  // (signals) similarities
  std::vector<std::string_view> nearest;
  std::vector<uint32_t> ranked;
};

class Signals : public EmbeddingSignals {
 public:
  Signals(const std::vector<config::EmbeddingSignal>& signals, const config::EmbeddingModel& model,
          const engine::TextEmbedder& embedder)
      : signals_(signals),
        model_(model),
        embedder_(embedder),
        dim_(static_cast<size_t>(embedder.dim())) {}

  Result<void> embed_candidates() {
    SIGNALBOX_TRY(const std::vector<float> all, embed_all());  // (candidates, dim)
    const float* rows = all.data();
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const size_t n = signals_[i].candidates.size();
      if (signals_[i].aggregation == Aggregation::kMean) {
        add_mean(i, {rows, n * dim_});
      } else {
        add_prototypes(i, {rows, n * dim_});
      }
      rows += n * dim_;
    }
    return {};
  }

  std::string_view type() const override { return "embedding"; }
  Needs needs() const override { return Needs::kEmbedder; }
  size_t size() const override { return signals_.size(); }
  std::string_view name(size_t signal) const override { return signals_[signal].name; }

  Wording wording() const override { return {"score", "nearest"}; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const std::string_view text = inputs.request().user_text();
    if (text.empty()) return {};
    static thread_local Scratch scratch;
    SIGNALBOX_TRY(scratch.query, inputs.embedding(text));
    score(scratch, out);
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      if (!scratch.nearest[i].empty()) evidence.push_back({i, scratch.nearest[i], scratch.best[i]});
    }
    choose(scratch, out);
    return {};
  }

 private:
  // The candidates of all signals, one after the other, (candidates, dim). This is most of the
  // start-up time, so every processor takes batches.
  Result<std::vector<float>> embed_all() const {
    std::vector<std::string_view> texts;
    for (const config::EmbeddingSignal& signal : signals_) {
      texts.insert(texts.end(), signal.candidates.begin(), signal.candidates.end());
    }
    std::vector<float> out(texts.size() * dim_);
    const size_t batches = (texts.size() + kCandidatesBatch - 1) / kCandidatesBatch;
    std::atomic<size_t> next = 0;
    std::mutex mutex;  // guards status
    Result<void> status;
    const auto work = [&] {
      for (size_t batch = next++; batch < batches; batch = next++) {
        const size_t begin = batch * kCandidatesBatch;
        const size_t count = std::min(kCandidatesBatch, texts.size() - begin);
        Result<void> done = embedder_.embed(std::span(texts).subspan(begin, count),
                                            std::span(out).subspan(begin * dim_, count * dim_));
        if (done) continue;
        const std::lock_guard lock(mutex);
        status = std::move(done);
      }
    };
    {
      std::vector<std::jthread> others;
      const size_t threads = std::min<size_t>(batches, std::thread::hardware_concurrency());
      for (size_t i = 1; i < threads; ++i) others.emplace_back(work);
      work();
    }
    if (!status) return tl::unexpected<Error>(std::move(status).error());
    return out;
  }

  // The mean of cosines is the cosine with the mean.
  void add_mean(uint32_t signal, std::span<const float> candidates) {
    std::vector<float> mean(dim_, 0.0f);
    const size_t n = candidates.size() / dim_;
    for (size_t i = 0; i < candidates.size(); ++i)
      mean[i % dim_] += candidates[i] / static_cast<float>(n);
    add(signal, {}, mean.data());
  }

  // The first candidate of each group of near-identical ones, so that two paraphrases do not count
  // as the best two.
  void add_prototypes(uint32_t signal, std::span<const float> candidates) {
    const size_t first = prototypes_.size();
    for (size_t c = 0; c < signals_[signal].candidates.size(); ++c) {
      const float* row = candidates.data() + c * dim_;
      bool close = false;
      for (size_t p = first; p < prototypes_.size() && !close; ++p) {
        close = dot(row, vectors_.data() + p * dim_, dim_) >= kPrototypeSimilarity;
      }
      if (!close) add(signal, signals_[signal].candidates[c], row);
    }
  }

  void add(uint32_t signal, std::string_view text, const float* row) {
    prototypes_.push_back({signal, text});
    vectors_.insert(vectors_.end(), row, row + dim_);
  }

  void score(Scratch& scratch, std::span<Reading> out) const {
    constexpr double kLowest = -1;
    scratch.best.assign(signals_.size(), kLowest);
    scratch.second.assign(signals_.size(), kLowest);
    scratch.nearest.assign(signals_.size(), {});
    for (size_t p = 0; p < prototypes_.size(); ++p) {
      const double similarity = dot(scratch.query.data(), vectors_.data() + p * dim_, dim_);
      const uint32_t signal = prototypes_[p].signal;
      if (similarity > scratch.best[signal]) {
        scratch.second[signal] = scratch.best[signal];
        scratch.best[signal] = similarity;
        scratch.nearest[signal] = prototypes_[p].text;
      } else {
        scratch.second[signal] = std::max(scratch.second[signal], similarity);
      }
    }
    std::vector<Prototype>::const_iterator at = prototypes_.begin();
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const auto begin = at;
      while (at != prototypes_.end() && at->signal == i) ++at;
      const double runner_up = at - begin > 1 ? scratch.second[i] : scratch.best[i];
      out[i].score =
          kBestWeight * scratch.best[i] + (1 - kBestWeight) * 0.5 * (scratch.best[i] + runner_up);
    }
  }

  // Thresholds, then soft matching, then top_k.
  void choose(Scratch& scratch, std::span<Reading> out) const {
    std::vector<uint32_t>& ranked = scratch.ranked;
    ranked.clear();
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      if (out[i].score >= signals_[i].threshold) ranked.push_back(i);
    }
    if (ranked.empty() && model_.soft_matching) {
      for (uint32_t i = 0; i < signals_.size(); ++i) {
        if (out[i].score >= model_.soft_threshold) ranked.push_back(i);
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](uint32_t a, uint32_t b) { return out[a].score > out[b].score; });
    const auto top_k = static_cast<size_t>(model_.top_k);
    if (top_k != 0 && ranked.size() > top_k) ranked.resize(top_k);
    for (const uint32_t i : ranked) {
      out[i].matched = true;
      out[i].confidence = std::clamp(out[i].score, 0.0, 1.0);
    }
  }

  const std::vector<config::EmbeddingSignal>& signals_;
  const config::EmbeddingModel& model_;
  const engine::TextEmbedder& embedder_;
  size_t dim_;
  std::vector<Prototype> prototypes_;  // grouped by signal
  std::vector<float> vectors_;         // (prototypes, dim)
};

}  // namespace

Result<std::unique_ptr<const SignalType>> EmbeddingSignals::create(
    const std::vector<config::EmbeddingSignal>& signals, const config::EmbeddingModel& model,
    const engine::TextEmbedder& embedder) {
  auto made = std::make_unique<Signals>(signals, model, embedder);
  SIGNALBOX_TRY_VOID(made->embed_candidates());
  return made;
}

}  // namespace signalbox::router
