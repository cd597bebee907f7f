#pragma once
// Examples of a class as vectors, and the similarity of a text to them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "router/config/signals.h"

namespace signalbox::signals {

/// Returns the embeddings of the texts, (texts, dim). Uses all processors, because this is most of
/// the start-up time.
Result<std::vector<float>> embed_all(const engine::TextEmbedder& embedder,
                                     std::span<const std::string_view> texts);

/// Returns the cosine of two L2-normalised vectors.
double cosine(std::span<const float> a, std::span<const float> b);

/// Returns the similarity that is compared with a threshold: the cosine to the power of `exponent`,
/// and 0 for a negative cosine unless the exponent is 1.
double similarity(double cosine, double exponent);

/// Returns the mean cosine of unrelated texts in the language of this one. An English model sees
/// little of other languages, and takes their texts for similar.
double unrelated_similarity(std::string_view text);

/// Returns the cosine of two texts above the smaller of their unrelated similarities, scaled so
/// that equal texts have 1.
double beyond_language(double cosine, double unrelated_a, double unrelated_b);

/// Immutable and thread-safe.
class PrototypeBank {
 public:
  struct Score {
    double score = 0;
    double best = 0;           // similarity of the nearest prototype
    std::string_view nearest;  // text of the nearest prototype; "" in an empty bank
  };

  /// A prototype represents the examples within cluster_similarity_threshold of it, so that two
  /// paraphrases do not count as the best two. If there are too many prototypes, those that
  /// represent the most examples remain. The score of a text is best_weight * best + (1 -
  /// best_weight) * mean of the top_m best, 0 in an empty bank. If `enabled` is false, every
  /// example is a prototype and the score is the best similarity. Similarities have the
  /// similarity_exponent. `texts` must outlive the bank;
  /// `vectors` is (texts, dim).
  PrototypeBank(std::span<const std::string> texts, std::span<const float> vectors,
                const config::PrototypeScoring& scoring);

  /// `unrelated` is unrelated_similarity() of the query, which counts if the exponent is not 1:
  /// only then are the thresholds of another model.
  Score score(std::span<const float> query, double unrelated = 0) const;

 private:
  size_t dim_ = 0;
  std::vector<std::string_view> texts_;  // (prototypes)
  std::vector<float> vectors_;           // (prototypes, dim)
  std::vector<double> unrelated_;        // (prototypes)
  double best_weight_ = 1;
  double exponent_ = 1;
  size_t top_m_ = 1;
};

/// Builds a bank for each list of examples. Embeds all of them in one run.
Result<std::vector<PrototypeBank>> build_banks(
    const engine::TextEmbedder& embedder, std::span<const std::vector<std::string>* const> examples,
    const config::PrototypeScoring& scoring);

}  // namespace signalbox::signals
