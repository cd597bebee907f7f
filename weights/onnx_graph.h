#pragma once
// The uninterpreted contents of an ONNX file: the nodes of its graph and its constant tensors.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// A constant of the graph: a view into the file, or owned bytes if its values were stored as a
/// list of numbers.
struct OnnxTensor {
  std::string_view name;
  Dtype dtype = Dtype::kF32;
  Shape shape;
  std::span<const std::byte> bytes;  // layout as in Tensor; empty while in another file
  std::vector<std::byte> own;        // owner of `bytes`, or empty

  bool external = false;  // the bytes are in the file `location`, starting at `offset`
  std::string_view location;
  uint64_t offset = 0;
};

struct OnnxNode {
  std::string_view name;
  std::string_view op;      // "MatMul"
  std::string_view domain;  // "" for ONNX's own operators
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  int64_t axis = 1;          // the attribute, or DequantizeLinear's default
  bool transpose_b = false;  // attribute of Gemm
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;        // in file order; a value is produced before it is used
  std::vector<OnnxTensor> constants;  // initializers, and tensors of Constant nodes
};

/// Parses a ModelProto. The bytes must outlive the result. The size of every constant that is not
/// external matches its shape. Errors: kCorrupt with the place; kUnsupported for nested graphs,
/// sparse and string constants, and element types that safetensors lacks.
Result<OnnxGraph> read_onnx_graph(std::string_view file);

}  // namespace signalbox::weights
