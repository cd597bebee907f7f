#pragma once
// What an ONNX file says, before anyone asks what it means: the nodes of its graph and the tensors
// that are constants in it. https://github.com/onnx/onnx/blob/main/onnx/onnx.proto

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "weights/tensor.h"

namespace signalbox::weights {

/// A constant of the graph. Views into the file, unless its values stood in a list of numbers.
struct OnnxTensor {
  std::string_view name;
  Dtype dtype = Dtype::kF32;
  Shape shape;
  std::span<const std::byte> bytes;  // as of a Tensor; empty while they lie in another file
  std::vector<std::byte> own;        // what bytes looks into, or empty

  bool external = false;  // the bytes are in the file `location`, from `offset` on
  std::string_view location;
  uint64_t offset = 0;
};

struct OnnxNode {
  std::string_view name;
  std::string_view op;      // "MatMul"
  std::string_view domain;  // "" for ONNX itself
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  int64_t axis = 1;          // its attribute, or ONNX's default for DequantizeLinear
  bool transpose_b = false;  // of Gemm
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;        // in the order of the file: a value is made before it is used
  std::vector<OnnxTensor> constants;  // initializers, and tensors of Constant nodes
};

/// Reads a ModelProto. The bytes must outlive the result. Every constant that is not external has
/// the bytes that its shape takes. Errors: kCorrupt with the place; kUnsupported for a graph inside
/// a graph, sparse and string constants, and types of elements that safetensors lacks.
Result<OnnxGraph> read_onnx_graph(std::string_view file);

}  // namespace signalbox::weights
