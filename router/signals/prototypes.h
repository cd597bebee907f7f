#pragma once
// Examples of a class as vectors, and how near a text is to them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/config/signals.h"

namespace signalbox::signals {

/// The embeddings of texts one after the other, (texts, dim). Uses every processor: this is most of
/// the start-up time.
Result<std::vector<float>> embed_all(const engine::TextEmbedder& embedder,
                                     std::span<const std::string_view> texts);

/// The cosine of two L2-normalised vectors.
double cosine(std::span<const float> a, std::span<const float> b);

/// Immutable and thread-safe.
class PrototypeBank {
 public:
  struct Score {
    double score = 0;
    double best = 0;           // similarity of the nearest prototype
    std::string_view nearest;  // its text; "" in an empty bank
  };

  /// A prototype stands for the examples within cluster_similarity_threshold of it, so that two
  /// paraphrases do not count as the best two; of too many prototypes those that stand for most
  /// examples remain. A text's score is best_weight * best + (1 - best_weight) * mean of the top_m
  /// best, 0 in an empty bank. With `enabled` off every example is a prototype and the score is the
  /// best similarity. `texts` outlive the bank; vectors is (texts, dim).
  PrototypeBank(std::span<const std::string> texts, std::span<const float> vectors,
                const config::PrototypeScoring& scoring);

  Score score(std::span<const float> query) const;

 private:
  size_t dim_ = 0;
  std::vector<std::string_view> texts_;  // (prototypes)
  std::vector<float> vectors_;           // (prototypes, dim)
  double best_weight_ = 1;
  size_t top_m_ = 1;
};

/// Builds a bank for each list of examples, embedding all of them at once.
Result<std::vector<PrototypeBank>> build_banks(
    const engine::TextEmbedder& embedder, std::span<const std::vector<std::string>* const> examples,
    const config::PrototypeScoring& scoring);

}  // namespace signalbox::signals
