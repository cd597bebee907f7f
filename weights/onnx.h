#pragma once
// Reads the weights of an encoder exported to ONNX and restores their original names and layout.

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

/// Exporters keep the names of tensors that the graph uses unchanged (embeddings, norms, biases).
/// For a product they fold the transpose into the weight: "onnx::MatMul_1525" of shape (in, out).
/// Such a weight gets its name from its bias, or from the node that uses it
/// ("/encoder/layer.0/attention/self/query/MatMul"), and the shape (out, in).
///
/// Weights quantised to eight bits, with one scale for all or one per column, become F32. Constants
/// without a parameter's name are left out; a note lists the floating-point tensors among them.
///
/// Weights in other files are read from the directory of `path`. Errors name the file: kNotFound,
/// kIo, kCorrupt; kUnsupported for weights whose name cannot be determined, for weights fused by an
/// optimiser or packed in four bits, and for the cases listed at read_onnx_graph().
Result<TensorList> open_onnx(const std::filesystem::path& path);

/// open_onnx() for bytes, which must outlive the list. Weights in other files are an error. Errors
/// start with `name`.
Result<TensorList> parse_onnx(std::string_view file, std::string_view name);

}  // namespace signalbox::weights
