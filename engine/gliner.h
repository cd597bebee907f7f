#pragma once
// The head of GLiNER: from the hidden states of labels and words to a logit for each span of words
// and each label.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/gliner_config.h"
#include "engine/linear.h"
#include "engine/lstm.h"
#include "engine/parallel.h"
#include "kernels/kernels.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

inline constexpr int32_t kNoToken = -1;

/// The tokens of one sequence that the head reads.
struct GlinerLayout {
  std::vector<int32_t> labels;  // (labels)
  std::vector<int32_t> words;   // (words): the first token of each, or kNoToken without tokens
};

/// Immutable, thread-safe. All its layers are in single precision, except those of words and labels
/// that the file has packed.
class GlinerHead {
 public:
  /// `width` is that of the encoder's hidden states. `kernels` must outlive the head, and so must
  /// `file` if it has packed matrices. Errors: kCorrupt with the tensor's name.
  static Result<GlinerHead> open(const GlinerConfig& config, int32_t width,
                                 const weights::SafeTensors& file, const kernels::Table& kernels);

  /// Returns logits (words, width_max, labels) for hidden states x (tokens, width). Row [w][k] is
  /// the span of the k + 1 words from w on; rows of spans that end after the last word are 0.
  /// The bits do not depend on the number of threads.
  std::vector<float> logits(const float* x, const GlinerLayout& layout, Workers& workers) const;

 private:
  /// Two layers with max(0, x) between them.
  struct Mlp {
    Linear up, down;
  };
  class Reader;

  explicit GlinerHead(const kernels::Table& kernels) : kernels_(&kernels) {}
  Buffer<float> gather(const float* x, std::span<const int32_t> tokens, Workers& workers) const;
  void multiply(const Linear& layer, int32_t rows, const float* x, float* y) const;
  Buffer<float> apply(const Linear& layer, int32_t rows, const float* x, Workers& workers) const;
  Buffer<float> apply(const Mlp& mlp, int32_t rows, const float* x, Workers& workers) const;
  struct Scorer;
  Scorer scorer(int32_t labels, const float* of_labels, Workers& workers) const;

  const kernels::Table* kernels_;
  int32_t width_ = 0;                 // of the encoder's hidden states
  int32_t hidden_ = 0;                // of words, labels and spans
  int32_t width_max_ = 0;             // words of a span
  std::optional<Linear> projection_;  // width to hidden
  std::vector<BiLstm> lstm_;          // (layers): hidden to hidden
  Mlp start_, end_;                   // hidden to 4 hidden to hidden
  Mlp label_;                         // hidden to 4 hidden to hidden
  // The two layers of spans, 2 hidden to 4 hidden to hidden, as logits() uses them.
  Linear span_start_, span_end_;  // hidden to 4 hidden: the first layer's halves
  Linear span_down_;              // hidden to 4 hidden: the second layer, transposed
  Buffer<float> span_bias_;       // (hidden): of the second layer
  Arena arena_;                   // memory of the layers
};

}  // namespace signalbox::engine
