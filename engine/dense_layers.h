#pragma once
// The dense layers that a sentence-transformers directory applies to the pooled vector, such as
// EmbeddingGemma's `2_Dense` and `3_Dense`.

#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/activation.h"
#include "engine/linear.h"
#include "engine/pooling_config.h"
#include "kernels/kernels.h"

namespace signalbox::engine {

/// Immutable, thread-safe.
class DenseLayers {
 public:
  /// Without layers.
  DenseLayers() = default;
  /// Opens the layers in their order, each from its directory (config.json, model.safetensors or
  /// pytorch_model.bin). The first reads vectors of `width`. Errors: kUnsupported for another
  /// activation or another input; kCorrupt. Each names the file and the key or tensor.
  static Result<DenseLayers> open(std::span<const DenseStep> steps, int32_t width,
                                  const kernels::Table& kernels);

  /// Returns the width of the result for vectors of `width`.
  int32_t width_after(int32_t width) const {
    return layers_.empty() ? width : layers_.back().linear.out();
  }
  /// Replaces x by the result of all layers.
  void apply(const kernels::Table& kernels, std::vector<float>& x) const;

 private:
  struct Layer {
    bool normalizes;  // scales its input to length 1
    Linear linear;
    std::optional<Activation> activation;
  };

  std::vector<Layer> layers_;
  std::vector<Arena> arenas_;  // memory of the layers
};

}  // namespace signalbox::engine
