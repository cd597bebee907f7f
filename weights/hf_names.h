#pragma once
// Names that differ only in what wrapped the model when it was saved, or in its age.

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// Takes off "module." (of a model trained in parallel), "0." and "auto_model." (of a
/// sentence-transformers model) where a tensor's name begins with them, and calls the gamma and
/// beta of a LayerNorm weight and bias, which they were until 2019. kCorrupt when two tensors get
/// one name.
Result<void> to_hf_names(TensorList& tensors);

}  // namespace signalbox::weights
