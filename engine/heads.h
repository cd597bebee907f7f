#pragma once
// A head computes logits from a trunk's hidden states: at most one dense layer with its activation
// and norm, then the classifier. All supported architectures have this form. Our own heads can also
// classify a text by its strongest part instead of its mean, because one decisive line would have
// little effect on the mean (multiple instance learning; Dietterich et al., 1997).

#include <filesystem>
#include <optional>
#include <vector>

#include "engine/activation.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/linear.h"
#include "engine/trunk.h"
#include "kernels/kernels.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

class Head {
 public:
  /// Opens the head named in config.json's `architectures`. Weights come from `file` and class
  /// names from the mapping files in `directory`. Returns nullopt for a bare encoder. `kernels`
  /// must outlive the head; `file` need not. With `adapter`, the adapter's task determines the head
  /// and its tensors take precedence over those of `file`; `directory` is then the adapter's and
  /// provides the class names instead of `config`. Errors: kUnsupported for another architecture or
  /// option; kCorrupt.
  static Result<std::optional<Head>> open(const std::filesystem::path& directory,
                                          const weights::HfConfig& config,
                                          const weights::SafeTensors& file,
                                          const kernels::Table& kernels, const TrunkShape& trunk,
                                          weights::LoraUse* adapter = nullptr);

  const HeadInfo& info() const { return info_; }
  int32_t classes() const { return classifier_.out(); }

  /// Computes logits from hidden states x (batch.tokens(), hidden): (sequences, classes) or
  /// (tokens, classes).
  std::vector<float> logits(const Batch& batch, const float* x) const;

  /// Converts the logits of one sequence or token to scores (classes) in place.
  void to_scores(std::span<float> logits) const;

 private:
  friend class HeadReader;

  explicit Head(const kernels::Table& kernels) : kernels_(&kernels) {}
  int32_t parts_of(int32_t tokens) const;
  int32_t length_without_padding(const Batch& batch, int32_t sequence) const;
  std::vector<float> pooled(const Batch& batch, const float* x) const;
  std::vector<float> network(int32_t rows, const float* x) const;
  std::vector<float> strongest(const Batch& batch, const std::vector<float>& of_parts) const;

  const kernels::Table* kernels_;
  HeadInfo info_;
  Pooling pooling_ = Pooling::kFirst;  // for a sequence head
  int32_t padding_ = -1;               // id that does not count at a text's end; -1: none
  int32_t part_ = 0;                   // tokens per part for pooling; 0: the whole sequence
  int32_t step_ = 0;                   // distance between the beginnings of consecutive parts
  bool normalizes_ = false;            // scale the pooled vector to length 1
  std::optional<Linear> dense_;        // hidden to hidden
  Activation activation_ = Activation::kGelu;
  std::optional<Norm> norm_;
  float norm_eps_ = 0;
  Linear classifier_;  // hidden to classes
  Arena arena_;        // memory of the layers
};

/// Pools x (tokens, hidden) into out (hidden); requires tokens > 0.
void pool(const kernels::Table& kernels, Pooling pooling, int32_t tokens, int32_t hidden,
          const float* x, float* out);

}  // namespace signalbox::engine
