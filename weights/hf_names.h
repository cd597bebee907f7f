#pragma once
// Normalises tensor names that depend on the wrapper or the age of the saved model.

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// Removes the prefixes "module." (from parallel training), "0." and "auto_model." (from
/// sentence-transformers). Renames the gamma and beta of a LayerNorm, the names used until 2019, to
/// weight and bias. Returns kCorrupt if two tensors get the same name.
Result<void> to_hf_names(TensorList& tensors);

}  // namespace signalbox::weights
