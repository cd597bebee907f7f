// One pass over the nodes follows each constant through nodes that only forward it (Identity, Cast,
// Transpose, DequantizeLinear) to the product that uses it. Constants not used by any product keep
// their names.

#include "weights/onnx.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "weights/dequantise.h"
#include "weights/onnx_graph.h"
#include "weights/shard_index.h"
#include "weights/strided.h"

namespace signalbox::weights {
namespace {

constexpr std::string_view kQuantized = "_quantized";  // suffixes used by ONNX Runtime's quantiser
constexpr std::string_view kScale = "_scale";
constexpr std::string_view kZeroPoint = "_zero_point";

// Widening 8 to 32 bits gives a factor of four. A file above this limit copies the same constant
// repeatedly.
constexpr uint64_t kCopiesMax = 8;

// Unsupported operators: their constants are weights in a fused or packed form.
constexpr std::array<std::string_view, 10> kRefusedOperators = {"Attention",
                                                                "QAttention",
                                                                "MultiHeadAttention",
                                                                "MatMulNBits",
                                                                "MatMulBnb4",
                                                                "MatMulFpQ4",
                                                                "GatherBlockQuantized",
                                                                "QLinearMatMul",
                                                                "QGemm",
                                                                "EmbedLayerNormalization"};

// Accepts "encoder.layer.0.output.dense.bias", but not "onnx::Add_12", "/Constant_output_0" or
// "val_3".
bool is_parameter(std::string_view name) {
  return name.find('.') != std::string_view::npos && name.find("::") == std::string_view::npos &&
         name.find('/') == std::string_view::npos;
}

bool is_floating(Dtype dtype) {
  return dtype == Dtype::kF32 || dtype == Dtype::kF16 || dtype == Dtype::kBF16 ||
         dtype == Dtype::kF64;
}

// Converts "/encoder/layer.0/output/dense/MatMul" to "encoder.layer.0.output.dense". Empty without
// a path.
std::string module_of(std::string_view node) {
  const size_t last = node.rfind('/');
  if (!node.starts_with('/') || last == 0 || last == std::string_view::npos) return "";
  std::string out(node.substr(1, last - 1));
  std::ranges::replace(out, '/', '.');
  return out;
}

std::string_view without_suffix(std::string_view text, std::string_view suffix);

// Returns true for "a.query_1.weight", the name of the second product of the layer "a.query".
bool is_later_use(std::string_view name, std::string_view first) {
  constexpr std::string_view kWeight = ".weight";
  const std::string_view layer = without_suffix(first, kWeight);
  if (!name.starts_with(layer)) return false;
  const std::string_view rest = without_suffix(name.substr(layer.size()), kWeight);
  return rest.size() > 1 && rest[0] == '_' &&
         rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

std::string_view without_suffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

struct Quantisation {
  size_t scale;                      // index of a constant
  std::optional<size_t> zero_point;  // index of a constant
  int64_t axis;                      // axis of the scale if it has more than one element
};

// A value of the graph that comes from a constant.
struct Source {
  size_t constant;
  bool transposed = false;
  std::optional<Quantisation> quantised;
};

class Importer {
 public:
  explicit Importer(const OnnxGraph& graph) : graph_(graph) {}

  Result<TensorList> run() {
    SIGNALBOX_TRY_VOID(index());
    for (const OnnxNode& node : graph_.nodes) SIGNALBOX_TRY_VOID(walk(node));
    for (size_t i = 0; i < graph_.constants.size(); ++i) SIGNALBOX_TRY_VOID(add_rest(i));
    return std::move(out_);
  }

 private:
  Result<void> index() {
    for (size_t i = 0; i < graph_.constants.size(); ++i) {
      const std::string_view name = graph_.constants[i].name;
      bytes_ += graph_.constants[i].bytes.size();
      if (sources_.emplace(name, Source{i, false, {}}).second) continue;
      return fail(Code::kCorrupt, "constant \"{}\" appears twice", name);
    }
    for (const OnnxNode& node : graph_.nodes) {
      for (const std::string_view input : node.inputs) {
        // empty: an optional input that is absent
        if (!input.empty()) users_[input].push_back(&node);
      }
    }
    return {};
  }

  const Source* source_of(const OnnxNode& node, size_t input) const {
    if (input >= node.inputs.size()) return nullptr;
    const auto found = sources_.find(node.inputs[input]);
    return found == sources_.end() ? nullptr : &found->second;
  }

  const OnnxTensor& constant(const Source& source) const {
    return graph_.constants[source.constant];
  }

  Result<void> walk(const OnnxNode& node) {
    const bool refused = std::ranges::find(kRefusedOperators, node.op) != kRefusedOperators.end();
    for (size_t i = 0; refused && i < node.inputs.size(); ++i) {
      if (source_of(node, i) == nullptr) continue;
      return fail(
          Code::kUnsupported,
          "node \"{}\": weights of {} are not supported: export the model without optimisation, "
          "as floating point or in eight bits",
          node.name, node.op);
    }
    if (node.op == "MatMul") return product(node, 1, false);
    if (node.op == "Gemm") return product(node, 1, node.transpose_b);
    if (node.op == "MatMulInteger" || node.op == "DynamicQuantizeMatMul") return product_i8(node);
    return forward_constant(node);
  }

  // A node whose only input is a constant produces the same constant under another name.
  Result<void> forward_constant(const OnnxNode& node) {
    const Source* found = source_of(node, 0);
    if (found == nullptr || node.outputs.size() != 1) return {};
    Source source = *found;
    if (node.op == "Transpose" && constant(source).shape.size() == 2) {
      source.transposed = !source.transposed;
    } else if (node.op == "DequantizeLinear") {
      SIGNALBOX_TRY(source.quantised, quantisation_of(node));
      if (!source.quantised) return {};
    } else if (node.op == "Identity") {
      // Only one of several equal parameters is stored; Identity nodes give it the other names.
      const OnnxTensor& tensor = constant(source);
      if (is_parameter(node.outputs[0]) && is_parameter(tensor.name) && !source.quantised) {
        SIGNALBOX_TRY_VOID(emit(std::string(node.outputs[0]), source, source.transposed));
      }
    } else if (node.op != "Cast") {
      return {};
    }
    if (sources_.emplace(node.outputs[0], source).second) return {};
    return fail(Code::kCorrupt, "node \"{}\": its output \"{}\" appears twice", node.name,
                node.outputs[0]);
  }

  Result<std::optional<Quantisation>> quantisation_of(const OnnxNode& node) const {
    const Source* scale = source_of(node, 1);
    const Source* zero = source_of(node, 2);
    if (scale == nullptr) return std::optional<Quantisation>();
    return std::optional(
        Quantisation{scale->constant,
                     zero == nullptr ? std::nullopt : std::optional(zero->constant), node.axis});
  }

  // Handles y = x W with W in `input`: (in, out), or (out, in) if `rows_are_outputs`.
  Result<void> product(const OnnxNode& node, size_t input, bool rows_are_outputs) {
    const Source* source = source_of(node, input);
    if (source == nullptr || constant(*source).shape.size() != 2) return {};
    return add_weight(node, *source, source->transposed == rows_are_outputs);
  }

  // An integer product is scaled later in the graph, so its scale is found by name.
  Result<void> product_i8(const OnnxNode& node) {
    const Source* source = source_of(node, 1);
    if (source == nullptr || constant(*source).shape.size() != 2) return {};
    Source weight = *source;
    SIGNALBOX_TRY(weight.quantised, quantisation_by_name(constant(weight).name, 1));
    return add_weight(node, weight, !weight.transposed);
  }

  Result<Quantisation> quantisation_by_name(std::string_view name, int64_t axis) const {
    const std::string base(without_suffix(name, kQuantized));
    const auto scale = sources_.find(fmt::format("{}{}", base, kScale));
    if (base == name || scale == sources_.end()) {
      return fail(Code::kUnsupported, "constant \"{}\": its scale \"{}{}\" is missing", name, base,
                  kScale);
    }
    const auto zero = sources_.find(fmt::format("{}{}", base, kZeroPoint));
    return Quantisation{
        scale->second.constant,
        zero == sources_.end() ? std::nullopt : std::optional(zero->second.constant), axis};
  }

  // Adds the weight of a product. It is (in, out) if `transposes`.
  Result<void> add_weight(const OnnxNode& node, const Source& source, bool transposes) {
    const std::string name = weight_name(node, constant(source).name);
    if (name.empty()) {
      return fail(Code::kUnsupported,
                  "constant \"{}\", used by node \"{}\" ({}): neither name identifies the "
                  "weight",
                  constant(source).name, node.name, node.op);
    }
    const auto [before, is_new] = weights_.emplace(source.constant, name);
    if (is_new) return emit(name, source, transposes);
    if (before->second == name || is_later_use(name, before->second)) return {};
    return fail(Code::kUnsupported,
                "constant \"{}\" is both \"{}\" and \"{}\", which is not supported",
                constant(source).name, before->second, name);
  }

  // Returns the weight's own name, or the name derived from its bias or its node.
  std::string weight_name(const OnnxNode& node, std::string_view constant_name) const {
    const std::string_view own = without_suffix(constant_name, kQuantized);
    if (is_parameter(own) && own.ends_with(".weight")) return std::string(own);
    std::string module = bias_module(node);
    if (module.empty()) module = module_of(node.name);
    return module.empty() ? "" : module + ".weight";
  }

  // Returns "encoder.layer.0.output.dense" if exactly that module's bias is added to the product.
  std::string bias_module(const OnnxNode& node) const {
    std::string_view value = node.outputs.empty() ? "" : node.outputs[0];
    std::string module = module_of_bias(node);  // a Gemm has the bias as an input
    constexpr int kSteps = 4;  // at most Cast and two Mul are between an integer product and its
                               // bias
    for (int step = 0; step < kSteps && module.empty(); ++step) {
      const auto users = users_.find(value);
      if (users == users_.end() || users->second.size() != 1) return "";
      const OnnxNode& next = *users->second[0];
      if (next.op == "Add") return module_of_bias(next);
      if ((next.op != "Cast" && next.op != "Mul") || next.outputs.size() != 1) return "";
      value = next.outputs[0];
    }
    return module;
  }

  std::string module_of_bias(const OnnxNode& node) const {
    for (const std::string_view input : node.inputs) {
      const auto source = sources_.find(input);
      if (source == sources_.end()) continue;
      const std::string_view name = without_suffix(constant(source->second).name, kQuantized);
      const auto users = users_.find(input);
      if (!is_parameter(name) || !name.ends_with(".bias") || users->second.size() != 1) continue;
      return std::string(without_suffix(name, ".bias"));
    }
    return "";
  }

  // Adds a constant that is not the weight of a product.
  Result<void> add_rest(size_t i) {
    const OnnxTensor& tensor = graph_.constants[i];
    if (weights_.contains(i)) return {};
    const std::string_view base = without_suffix(tensor.name, kQuantized);
    if (base != tensor.name && is_parameter(base)) {
      Source source{i, false, {}};
      SIGNALBOX_TRY(source.quantised, quantisation_by_name(tensor.name, 0));
      return emit(std::string(base), source, false);
    }
    if (is_companion(tensor.name)) return {};
    if (is_parameter(tensor.name)) return emit(std::string(tensor.name), {i, false, {}}, false);
    if (is_floating(tensor.dtype) && tensor.bytes.size() > dtype_bytes(tensor.dtype)) {
      out_.note(fmt::format("left out \"{}\", {} {}: a constant without a parameter's name",
                            tensor.name, dtype_name(tensor.dtype), shape_text(tensor.shape)));
    }
    return {};
  }

  // Returns true for the scale or zero point of a quantised constant.
  bool is_companion(std::string_view name) const {
    for (const std::string_view suffix : {kScale, kZeroPoint}) {
      if (!name.ends_with(suffix)) continue;
      const std::string_view base = without_suffix(name, suffix);
      if (sources_.contains(fmt::format("{}{}", base, kQuantized))) return true;
    }
    return false;
  }

  Result<void> emit(const std::string& name, const Source& source, bool transposes) {
    const OnnxTensor& tensor = constant(source);
    Dtype dtype = tensor.dtype;
    std::span<const std::byte> bytes = tensor.bytes;
    std::vector<std::byte> own;
    if (source.quantised) {
      auto widened = dequantise(
          tensor, graph_.constants[source.quantised->scale],
          source.quantised->zero_point ? &graph_.constants[*source.quantised->zero_point] : nullptr,
          source.quantised->axis);
      if (!widened) {
        return fail_in(fmt::format("constant \"{}\"", tensor.name), std::move(widened).error());
      }
      own = *std::move(widened);
      bytes = own;
      dtype = Dtype::kF32;
    } else {
      own = tensor.own;  // copied, because the graph is destroyed
      bytes = own.empty() ? tensor.bytes : std::span<const std::byte>(own);
    }
    Shape shape = tensor.shape;
    if (transposes) {
      std::swap(shape[0], shape[1]);
      if (!bytes.empty()) {
        own = gather(bytes, dtype_bytes(dtype), 0, shape, std::array<int64_t, 2>{1, shape[0]});
      }
    }
    if (own.empty()) return out_.add(name, dtype, std::move(shape), bytes);
    copied_ += own.size();
    if (copied_ > kCopiesMax * bytes_) {
      return fail(Code::kTooLarge, "with \"{}\", copies of constants take {} bytes of {}", name,
                  copied_, bytes_);
    }
    return out_.add(name, dtype, std::move(shape), std::move(own));
  }

  const OnnxGraph& graph_;
  std::unordered_map<std::string_view, Source> sources_;  // by value name
  std::unordered_map<std::string_view, std::vector<const OnnxNode*>> users_;
  std::unordered_map<size_t, std::string> weights_;  // weights of products: constant to name
  uint64_t bytes_ = 0;                               // total of all constants
  uint64_t copied_ = 0;                              // bytes copied by transposing and widening
  TensorList out_;
};

// Maps each external file once.
Result<std::vector<MappedFile>> open_external(OnnxGraph& graph, const std::filesystem::path& path) {
  std::vector<MappedFile> files;
  std::unordered_map<std::string_view, size_t> opened;
  for (OnnxTensor& tensor : graph.constants) {
    if (!tensor.external) continue;
    const std::string where = fmt::format("tensor \"{}\": external_data", tensor.name);
    if (!opened.contains(tensor.location)) {
      auto beside = file_beside(path, tensor.location);
      if (!beside) return fail_in(where, std::move(beside).error());
      SIGNALBOX_TRY(MappedFile file, MappedFile::open(*beside));
      opened.emplace(tensor.location, files.size());
      files.push_back(std::move(file));
    }
    const MappedFile& file = files[opened.at(tensor.location)];
    SIGNALBOX_TRY(const uint64_t bytes, shape_bytes(tensor.dtype, tensor.shape));
    if (tensor.offset > file.size() || bytes > file.size() - tensor.offset) {
      return fail(Code::kCorrupt, "{}: {} bytes from {} on, \"{}\" has {}", where, bytes,
                  tensor.offset, tensor.location, file.size());
    }
    tensor.bytes = {file.data() + tensor.offset, bytes};
  }
  return files;
}

Result<TensorList> import(std::string_view bytes, const std::filesystem::path* path) {
  SIGNALBOX_TRY(OnnxGraph graph, read_onnx_graph(bytes));
  std::vector<MappedFile> files;
  if (path != nullptr) {
    SIGNALBOX_TRY(files, open_external(graph, *path));
  } else if (const auto found = std::ranges::find(graph.constants, true, &OnnxTensor::external);
             found != graph.constants.end()) {
    return fail(Code::kUnsupported, "tensor \"{}\": is in another file, which is not read",
                found->name);
  }
  SIGNALBOX_TRY(TensorList out, Importer(graph).run());
  for (MappedFile& file : files) out.keep(std::move(file));
  return out;
}

}  // namespace

Result<TensorList> open_onnx(const std::filesystem::path& path) {
  SIGNALBOX_TRY(MappedFile file, MappedFile::open(path));
  auto out = import(file.text(), &path);
  if (!out) return fail_in(path.string(), std::move(out).error());
  out->keep(std::move(file));
  return out;
}

Result<TensorList> parse_onnx(std::string_view file, std::string_view name) {
  auto out = import(file, nullptr);
  if (!out) return fail_in(name, std::move(out).error());
  return out;
}

}  // namespace signalbox::weights
