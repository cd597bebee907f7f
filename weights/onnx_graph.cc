// Parsers in the order of nesting: model, graph, node, tensor.

#include "weights/onnx_graph.h"

#include <charconv>
#include <cstring>
#include <functional>

#include "base/protobuf.h"

namespace signalbox::weights {
namespace {

using protobuf::Field;
using protobuf::Reader;
using protobuf::WireType;

// Limits memory: a node of a few bytes becomes a structure of two hundred.
constexpr size_t kNodesMax = 1 << 20;
constexpr size_t kConstantsMax = 1 << 20;

template <class Visit>
Result<void> for_each_field(std::string_view message, const Visit& visit) {
  Reader reader(message);
  while (true) {
    SIGNALBOX_TRY(const std::optional<Field> field, reader.next());
    if (!field) return {};
    SIGNALBOX_TRY_VOID(visit(*field));
  }
}

Result<void> set(std::string_view& out, const Field& field) {
  SIGNALBOX_TRY(out, field.bytes());
  return {};
}

Result<void> set(int64_t& out, const Field& field) {
  SIGNALBOX_TRY(const uint64_t value, field.varint());
  out = static_cast<int64_t>(value);
  return {};
}

// TensorProto.DataType
Result<Dtype> dtype_of(int64_t type) {
  switch (type) {
    case 1:
      return Dtype::kF32;
    case 2:
      return Dtype::kU8;
    case 3:
      return Dtype::kI8;
    case 5:
      return Dtype::kI16;
    case 6:
      return Dtype::kI32;
    case 7:
      return Dtype::kI64;
    case 9:
      return Dtype::kBool;
    case 10:
      return Dtype::kF16;
    case 11:
      return Dtype::kF64;
    case 16:
      return Dtype::kBF16;
    default:
      return fail(Code::kUnsupported, "data_type {} is not supported", type);
  }
}

// Appends the low bytes of every number of a repeated field (packed or not), up to bytes_max in
// total.
Result<void> append_varints(std::vector<std::byte>& out, size_t element, size_t bytes_max,
                            const Field& field) {
  const auto append = [&](uint64_t value) -> Result<void> {
    if (bytes_max - out.size() < element) {
      return fail(Code::kCorrupt, "more than the maximum of {} numbers", bytes_max / element);
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), bytes, bytes + element);
    return {};
  };
  if (field.type() == WireType::kVarint) {
    SIGNALBOX_TRY(const uint64_t value, field.varint());
    return append(value);
  }
  SIGNALBOX_TRY(const std::string_view packed, field.bytes());
  uint64_t value = 0;
  int shift = 0;
  for (const char c : packed) {
    const auto byte = static_cast<unsigned char>(c);
    if (shift > 63) return fail(Code::kCorrupt, "an unterminated varint");
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    SIGNALBOX_TRY_VOID(append(value));
    value = 0;
    shift = 0;
  }
  if (shift != 0) return fail(Code::kCorrupt, "an unterminated varint");
  return {};
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Collects the fields of one TensorProto; finish() builds the tensor.
class TensorMessage {
 public:
  Result<OnnxTensor> read(std::string_view message) {
    auto done = for_each_field(message, [this](const Field& f) { return take(f); });
    if (done) done = finish();
    if (!done) return fail_in(fmt::format("tensor \"{}\"", out_.name), std::move(done).error());
    return std::move(out_);
  }

 private:
  Result<void> take(const Field& field) {
    switch (field.number()) {
      case 1:  // dims
        return dims(field);
      case 2:
        return set(type_, field);
      case 3:
        return fail(Code::kUnsupported, "a tensor in segments is not supported");
      case 4:  // float_data
        return numbers(field, field.type() == WireType::kFixed32);
      case 5:  // int32_data, also used for types of up to two bytes
      case 7:  // int64_data
        lists_.push_back(field);
        return {};
      case 8:
        return set(out_.name, field);
      case 9:
        has_raw_ = true;
        return set(raw_, field);
      case 13:
        return external(field);
      case 14: {
        SIGNALBOX_TRY(const uint64_t where, field.varint());
        out_.external = where == 1;
        return {};
      }
      default:
        return {};
    }
  }

  Result<void> dims(const Field& field) {
    std::vector<std::byte> numbers;
    constexpr size_t kDimsMax = 64;  // limit before the shape is checked
    const size_t room = kDimsMax - out_.shape.size();
    auto read = append_varints(numbers, sizeof(int64_t), room * sizeof(int64_t), field);
    if (!read) return fail_in("dims", std::move(read).error());
    for (size_t at = 0; at < numbers.size(); at += sizeof(int64_t)) {
      int64_t extent = 0;
      std::memcpy(&extent, numbers.data() + at, sizeof extent);
      out_.shape.push_back(extent);
    }
    return {};
  }

  // Packed float_data is used in place; single numbers are collected.
  Result<void> numbers(const Field& field, bool single) {
    if (single) {
      SIGNALBOX_TRY(const float value, field.float32());
      const auto* bytes = reinterpret_cast<const std::byte*>(&value);
      out_.own.insert(out_.own.end(), bytes, bytes + sizeof value);
      return {};
    }
    if (!floats_.empty()) return fail(Code::kUnsupported, "float_data in pieces is not supported");
    return set(floats_, field);
  }

  Result<void> external(const Field& field) {
    SIGNALBOX_TRY(const std::string_view entry, field.bytes());
    std::string_view key;
    std::string_view value;
    SIGNALBOX_TRY_VOID(for_each_field(entry, [&](const Field& f) -> Result<void> {
      if (f.number() == 1) return set(key, f);
      if (f.number() == 2) return set(value, f);
      return {};
    }));
    if (key == "location") out_.location = value;
    if (key != "offset" && key != "length") return {};
    uint64_t number = 0;
    const char* end = value.data() + value.size();
    if (const auto read = std::from_chars(value.data(), end, number);
        read.ec != std::errc{} || read.ptr != end) {
      return fail(Code::kCorrupt, "external_data: {}: expected a number", key);
    }
    if (key == "offset") out_.offset = number;
    return {};
  }

  Result<void> finish() {
    SIGNALBOX_TRY(out_.dtype, dtype_of(type_));
    SIGNALBOX_TRY(const uint64_t expected, shape_bytes(out_.dtype, out_.shape));
    if (out_.external) {
      if (!out_.location.empty()) return {};
      return fail(Code::kCorrupt, "external_data: location is missing");
    }
    const bool is_f32 = out_.dtype == Dtype::kF32;
    if (is_f32 ? !lists_.empty() : !floats_.empty() || !out_.own.empty()) {
      return fail(Code::kCorrupt, "{}, and numbers of another type", dtype_name(out_.dtype));
    }
    if (out_.dtype == Dtype::kF64 && !has_raw_) {
      return fail(Code::kUnsupported, "double_data is not supported");
    }
    for (const Field& list : lists_) {
      SIGNALBOX_TRY_VOID(append_varints(out_.own, dtype_bytes(out_.dtype), expected, list));
    }
    if (has_raw_) {
      out_.own.clear();
      out_.bytes = as_bytes(raw_);
    } else if (!floats_.empty() && out_.own.empty()) {
      out_.bytes = as_bytes(floats_);
    } else {
      out_.bytes = out_.own;
    }
    if (out_.bytes.size() == expected) return {};
    return fail(Code::kCorrupt, "{} of shape {} takes {} bytes, found {}", dtype_name(out_.dtype),
                shape_text(out_.shape), expected, out_.bytes.size());
  }

  OnnxTensor out_;
  int64_t type_ = 0;
  bool has_raw_ = false;
  std::string_view raw_;
  std::string_view floats_;
  std::vector<Field> lists_;
};

class GraphReader {
 public:
  Result<OnnxGraph> read(std::string_view graph) {
    SIGNALBOX_TRY_VOID(for_each_field(graph, [this](const Field& f) { return take(f); }));
    return std::move(out_);
  }

 private:
  Result<void> take(const Field& field) {
    if (field.number() == 15) {
      return fail(Code::kUnsupported, "a sparse initializer is not supported");
    }
    if (field.number() != 1 && field.number() != 5) return {};
    SIGNALBOX_TRY(const std::string_view message, field.bytes());
    return field.number() == 1 ? add_node(message) : add_constant(message, {});
  }

  // `name` is the output of a Constant node. An initializer has its own name.
  Result<void> add_constant(std::string_view message, std::string_view name) {
    if (out_.constants.size() == kConstantsMax) {
      return fail(Code::kTooLarge, "more than {} constants", kConstantsMax);
    }
    SIGNALBOX_TRY(OnnxTensor tensor, TensorMessage().read(message));
    if (!name.empty()) tensor.name = name;
    out_.constants.push_back(std::move(tensor));
    return {};
  }

  Result<void> add_node(std::string_view message) {
    if (out_.nodes.size() == kNodesMax)
      return fail(Code::kTooLarge, "more than {} nodes", kNodesMax);
    OnnxNode node;
    std::string_view constant;
    SIGNALBOX_TRY_VOID(for_each_field(message, [&](const Field& field) -> Result<void> {
      switch (field.number()) {
        case 1:
          return set(node.inputs.emplace_back(), field);
        case 2:
          return set(node.outputs.emplace_back(), field);
        case 3:
          return set(node.name, field);
        case 4:
          return set(node.op, field);
        case 5:
          return attribute(field, node, constant);
        case 7:
          return set(node.domain, field);
        default:
          return {};
      }
    }));
    if (node.op == "Constant" && !constant.empty() && node.outputs.size() == 1) {
      return add_constant(constant, node.outputs[0]);
    }
    out_.nodes.push_back(std::move(node));
    return {};
  }

  static Result<void> attribute(const Field& field, OnnxNode& node, std::string_view& constant) {
    SIGNALBOX_TRY(const std::string_view message, field.bytes());
    std::string_view name;
    std::string_view tensor;
    int64_t number = 0;
    bool has_graph = false;
    SIGNALBOX_TRY_VOID(for_each_field(message, [&](const Field& f) -> Result<void> {
      if (f.number() == 1) return set(name, f);
      if (f.number() == 3) return set(number, f);
      if (f.number() == 5) return set(tensor, f);
      has_graph = has_graph || f.number() == 6 || f.number() == 11;
      return {};
    }));
    if (has_graph) {
      return fail(Code::kUnsupported,
                  "node \"{}\": attribute \"{}\": a graph in a graph is not supported", node.name,
                  name);
    }
    if (name == "axis") node.axis = number;
    if (name == "transB") node.transpose_b = number != 0;
    if (name == "value") constant = tensor;
    return {};
  }

  OnnxGraph out_;
};

}  // namespace

Result<OnnxGraph> read_onnx_graph(std::string_view file) {
  std::string_view graph;
  bool found = false;
  SIGNALBOX_TRY_VOID(for_each_field(file, [&](const Field& field) -> Result<void> {
    if (field.number() != 7) return {};
    if (found) return fail(Code::kCorrupt, "two graphs");
    found = true;
    return set(graph, field);
  }));
  if (!found) return fail(Code::kCorrupt, "no graph");
  return GraphReader().read(graph);
}

}  // namespace signalbox::weights
