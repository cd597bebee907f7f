#pragma once
// Weights of an encoder that was exported to ONNX, under the names and in the layout that they had
// before the export.

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// Exporters keep the name of what the graph uses as it is (embeddings, norms, biases), and fold
/// the transpose into the weight of a product: "onnx::MatMul_1525" of shape (in, out). Such a
/// weight gets the name of its bias, or that of the node that uses it
/// ("/encoder/layer.0/attention/self/query/MatMul"), and the shape (out, in).
///
/// Weights that were quantised to eight bits, with one scale for all or one a column, become F32.
/// Constants without a name of a parameter are left out; those of them that are floating-point
/// tensors are noted.
///
/// Weights in other files are looked for beside `path`. Errors name the file: kNotFound, kIo;
/// kCorrupt; kUnsupported for weights without a name to be found, for weights that an optimiser
/// fused or packed in four bits, and as read_onnx_graph() says.
Result<TensorList> open_onnx(const std::filesystem::path& path);

/// The same from bytes, which must outlive the list; weights in other files are refused. `name`
/// goes in front of errors.
Result<TensorList> parse_onnx(std::string_view file, std::string_view name);

}  // namespace signalbox::weights
