#pragma once
// A head reads the hidden states of a trunk and gives logits: at most one dense layer with its
// activation and norm, then the classifier. Every architecture that is built is an instance of
// that. One of ours may judge a text by its strongest part instead of its mean, in which a line
// that matters would drown (multiple instance learning; Dietterich et al., 1997).

#include <filesystem>
#include <optional>
#include <vector>

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
  /// The head that config.json's `architectures` names, read from `file` and named by the mapping
  /// files in `directory`; none for a bare encoder. Looks into `kernels`, which outlive it, and not
  /// into `file`. With `adapter`, the head that its task asks for, with its tensors before those of
  /// the file; `directory` is the adapter's, and its classes are named there and not in `config`.
  /// Errors: kUnsupported for another architecture or option, kCorrupt.
  static Result<std::optional<Head>> open(const std::filesystem::path& directory,
                                          const weights::HfConfig& config,
                                          const weights::SafeTensors& file,
                                          const kernels::Table& kernels, const TrunkShape& trunk,
                                          weights::LoraUse* adapter = nullptr);

  const HeadInfo& info() const { return info_; }
  int32_t classes() const { return classifier_.out(); }

  /// Hidden states x (batch.tokens(), hidden) to logits, (sequences, classes) or (tokens, classes).
  std::vector<float> logits(const Batch& batch, const float* x) const;

  /// In place, the logits of one sequence or token to scores, (classes).
  void to_scores(std::span<float> logits) const;

 private:
  enum class Activation : uint8_t { kGelu, kTanh, kRelu };
  friend class HeadReader;

  explicit Head(const kernels::Table& kernels) : kernels_(&kernels) {}
  int32_t parts_of(int32_t tokens) const;
  std::vector<float> pooled(const Batch& batch, const float* x) const;
  std::vector<float> network(int32_t rows, const float* x) const;
  std::vector<float> strongest(const Batch& batch, const std::vector<float>& of_parts) const;
  void activate(int32_t rows, float* y) const;

  const kernels::Table* kernels_;
  HeadInfo info_;
  Pooling pooling_ = Pooling::kFirst;  // of a sequence head
  int32_t part_ = 0;                   // tokens pooled at a time; 0: all of a sequence
  int32_t step_ = 0;                   // from the begin of a part to that of the next
  bool normalizes_ = false;            // the pooled vector to length 1
  std::optional<Linear> dense_;        // hidden to hidden
  Activation activation_ = Activation::kGelu;
  std::optional<Norm> norm_;
  float norm_eps_ = 0;
  Linear classifier_;  // hidden to classes
  Arena arena_;        // what the layers look into
};

/// Writes to out (hidden) what `pooling` makes of x (tokens, hidden); tokens > 0.
void pool(const kernels::Table& kernels, Pooling pooling, int32_t tokens, int32_t hidden,
          const float* x, float* out);

}  // namespace signalbox::engine
