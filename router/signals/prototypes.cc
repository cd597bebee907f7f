// Greedy clustering in the order of the examples: the first example of a cluster is its prototype.

#include "router/signals/prototypes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

#include "router/signals/language.h"
#include "router/signals/language_words.h"

namespace signalbox::signals {
namespace {

constexpr size_t kBatch = 16;

struct LanguageBias {
  std::string_view language;
  double unrelated;
};

// Measured with all-MiniLM-L6-v2 on 40 questions in each language.
constexpr LanguageBias kMeasured[] = {
    {"en", 0},    {"de", 0.24}, {"fr", 0.32}, {"es", 0.36}, {"it", 0.38}, {"pt", 0.39},
    {"id", 0.46}, {"zh", 0.54}, {"ja", 0.54}, {"ko", 0.62}, {"ar", 0.63}, {"hi", 0.77},
};
constexpr double kOfLatinLetters = 0.36;  // the mean of those above
constexpr double kOfOtherLetters = 0.54;  // the least of those above

double bias_of(std::string_view language) {
  const auto found = std::ranges::find(kMeasured, language, &LanguageBias::language);
  if (found != std::end(kMeasured)) return found->unrelated;
  const bool is_latin = std::ranges::any_of(
      kLatinLanguages, [&](const LanguageWords& each) { return each.language == language; });
  return is_latin ? kOfLatinLetters : kOfOtherLetters;
}

}  // namespace

double unrelated_similarity(std::string_view text) {
  const LanguageShares shares = language_shares(text);
  const auto english = shares.find("en");
  double out = 0;
  for (const auto& [language, share] : shares) {
    // A short English text may have only words that other languages have, too.
    const bool is_minor = english != shares.end() && share <= english->second;
    if (!is_minor) out += share * bias_of(language);
  }
  return out;
}

double beyond_language(double cosine, double unrelated_a, double unrelated_b) {
  const double unrelated = std::min(unrelated_a, unrelated_b);
  return (cosine - unrelated) / (1 - unrelated);
}

double cosine(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
}

double similarity(double cosine, double exponent) {
  if (exponent == 1) return cosine;
  return cosine <= 0 ? 0 : std::pow(cosine, exponent);
}

Result<std::vector<float>> embed_all(const engine::TextEmbedder& embedder,
                                     std::span<const std::string_view> texts) {
  const auto dim = static_cast<size_t>(embedder.dim());
  std::vector<float> out(texts.size() * dim);
  const size_t batches = (texts.size() + kBatch - 1) / kBatch;
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // guards status
  Result<void> status;
  const auto work = [&] {
    for (size_t batch = next++; batch < batches; batch = next++) {
      const size_t begin = batch * kBatch;
      const size_t count = std::min(kBatch, texts.size() - begin);
      Result<void> done = embedder.embed(texts.subspan(begin, count),
                                         std::span(out).subspan(begin * dim, count * dim));
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

PrototypeBank::PrototypeBank(std::span<const std::string> texts, std::span<const float> vectors,
                             const config::PrototypeScoring& scoring) {
  exponent_ = scoring.similarity_exponent;
  if (texts.empty()) return;
  dim_ = vectors.size() / texts.size();
  if (scoring.enabled) {
    best_weight_ = scoring.best_weight;
    top_m_ = std::max<size_t>(scoring.top_m, 1);
  }
  const auto row = [&](size_t i) { return vectors.subspan(i * dim_, dim_); };
  std::vector<size_t> kept;   // texts that are prototypes
  std::vector<size_t> sizes;  // number of examples that each represents
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto cluster =
        !scoring.enabled ? kept.end() : std::find_if(kept.begin(), kept.end(), [&](size_t p) {
          return cosine(row(i), row(p)) >= scoring.cluster_similarity_threshold;
        });
    if (cluster != kept.end()) {
      ++sizes[static_cast<size_t>(cluster - kept.begin())];
    } else {
      kept.push_back(i);
      sizes.push_back(1);
    }
  }
  std::vector<size_t> order(kept.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  const bool bounded = scoring.enabled && scoring.max_prototypes > 0;
  if (bounded && order.size() > scoring.max_prototypes) order.resize(scoring.max_prototypes);
  for (const size_t p : order) {
    texts_.push_back(texts[kept[p]]);
    unrelated_.push_back(exponent_ == 1 ? 0 : unrelated_similarity(texts_.back()));
    const auto vector = row(kept[p]);
    vectors_.insert(vectors_.end(), vector.begin(), vector.end());
  }
}

PrototypeBank::Score PrototypeBank::score(std::span<const float> query, double unrelated) const {
  Score out;
  if (texts_.empty()) return out;
  std::vector<double> similarities(texts_.size());
  for (size_t i = 0; i < texts_.size(); ++i)
    similarities[i] =
        similarity(beyond_language(cosine(query, std::span(vectors_).subspan(i * dim_, dim_)),
                                   unrelated, unrelated_[i]),
                   exponent_);
  const auto best = std::max_element(similarities.begin(), similarities.end());
  out.best = *best;
  out.nearest = texts_[static_cast<size_t>(best - similarities.begin())];
  const size_t top = std::min(top_m_, similarities.size());
  std::partial_sort(similarities.begin(), similarities.begin() + static_cast<ptrdiff_t>(top),
                    similarities.end(), std::greater<>());
  const double mean = std::accumulate(similarities.begin(),
                                      similarities.begin() + static_cast<ptrdiff_t>(top), 0.0) /
                      static_cast<double>(top);
  out.score = best_weight_ * out.best + (1 - best_weight_) * mean;
  return out;
}

Result<std::vector<PrototypeBank>> build_banks(
    const engine::TextEmbedder& embedder, std::span<const std::vector<std::string>* const> examples,
    const config::PrototypeScoring& scoring) {
  std::vector<std::string_view> texts;
  for (const auto* each : examples) texts.insert(texts.end(), each->begin(), each->end());
  SIGNALBOX_TRY(const std::vector<float> vectors, embed_all(embedder, texts));
  const auto dim = static_cast<size_t>(embedder.dim());
  std::vector<PrototypeBank> banks;
  size_t begin = 0;
  for (const auto* each : examples) {
    banks.emplace_back(
        *each, std::span<const float>(vectors).subspan(begin * dim, each->size() * dim), scoring);
    begin += each->size();
  }
  return banks;
}

}  // namespace signalbox::signals
