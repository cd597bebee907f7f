// Maps the names in adapter_model.safetensors to layers, and adds the products.

#include "weights/lora.h"

#include <algorithm>

#include "weights/lora_config.h"

namespace signalbox::weights {
namespace {

// A model with a head puts one of these in front of its encoder's names. "transformer." is T5's,
// and a bare DistilBERT has it, too, so all of them are removed from the names on both sides.
constexpr std::string_view kTrunkPrefixes[] = {"albert.",     "bert.",    "deberta.",
                                               "distilbert.", "electra.", "model.",
                                               "mpnet.",      "roberta.", "transformer."};

std::string_view without_prefix(std::string_view name) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  while (true) {
    const auto found = std::ranges::find_if(kTrunkPrefixes, begins);
    if (found == std::end(kTrunkPrefixes)) return name;
    name.remove_prefix(found->size());
  }
}

// Converts "base_model.model.classifier.modules_to_save.default.weight" to "classifier.weight".
std::string model_name(std::string_view name) {
  constexpr std::string_view kWrapper = "base_model.model.";
  if (name.starts_with(kWrapper)) name.remove_prefix(kWrapper.size());
  std::string out(name);
  for (const std::string_view part :
       {".modules_to_save.default.", ".modules_to_save.", ".base_layer."}) {
    if (const size_t at = out.find(part); at != std::string::npos) out.erase(at, part.size() - 1);
  }
  return out;
}

// The meaning of a tensor name in the weights file.
struct Part {
  enum class Kind { kA, kB, kReplacement, kUnknown } kind;
  std::string path;  // of the layer, or of the replaced tensor
};

Part part_of(std::string_view tensor) {
  const std::string name = model_name(tensor);
  const size_t at = name.find(".lora_");
  if (at == std::string::npos) return {Part::Kind::kReplacement, name};
  const std::string_view rest = std::string_view(name).substr(at);
  const bool is_a = rest.starts_with(".lora_A."), is_b = rest.starts_with(".lora_B.");
  const std::string_view end =
      rest.substr(std::min(rest.size(), std::string_view(".lora_A.").size()));
  if ((!is_a && !is_b) || (end != "weight" && end != "default.weight")) {
    return {Part::Kind::kUnknown, name};
  }
  return {is_a ? Part::Kind::kA : Part::Kind::kB, name.substr(0, at)};
}

Shape shape_of(const Tensor& tensor) {
  return {tensor.shape.begin(), tensor.shape.end()};
}

Result<void> check_dtype(std::string_view file, const Tensor& tensor) {
  switch (tensor.dtype) {
    case Dtype::kF32:
    case Dtype::kF16:
    case Dtype::kBF16:
      return {};
    default:
      return fail(Code::kUnsupported, "{}: tensor \"{}\" is {}; F32, F16 and BF16 are read", file,
                  tensor.name, dtype_name(tensor.dtype));
  }
}

Result<void> check_layer(const SafeTensors& file, const LoraConfig& config, LoraLayer& layer) {
  const bool has_a = !layer.a.name.empty(), has_b = !layer.b.name.empty();
  if (!has_a || !has_b) {
    return fail(Code::kCorrupt, "{}: \"{}\" has a lora_{} and no lora_{}", file.name(), layer.path,
                has_a ? "A" : "B", has_a ? "B" : "A");
  }
  const int32_t rank = config.rank_of(layer.path);
  const bool two = layer.a.shape.size() == 2 && layer.b.shape.size() == 2;
  if (!two || layer.rank() != rank || layer.b.shape[1] != rank || layer.in() > INT32_MAX ||
      layer.out() > INT32_MAX) {
    return fail(Code::kCorrupt, "{}: \"{}\" has shapes {} and {}, expected [{}, in] and [out, {}]",
                file.name(), layer.path, shape_text(layer.a.shape), shape_text(layer.b.shape), rank,
                rank);
  }
  layer.scale = config.scale_of(layer.path);
  return config.check(layer.path);
}

}  // namespace

Result<LoraAdapter> LoraAdapter::open(const std::filesystem::path& directory) {
  SIGNALBOX_TRY(const HfConfig config, HfConfig::open(directory / "adapter_config.json"));
  SIGNALBOX_TRY(SafeTensors file, SafeTensors::open(directory / "adapter_model.safetensors"));
  return read(config, std::move(file));
}

Result<LoraAdapter> LoraAdapter::read(const HfConfig& config, SafeTensors file) {
  SIGNALBOX_TRY(const LoraConfig rules, LoraConfig::read(config));
  LoraAdapter out(std::move(file));
  out.task_ = rules.task();
  for (const Tensor& tensor : out.file_.tensors()) {
    SIGNALBOX_TRY_VOID(check_dtype(out.name(), tensor));
    const Part part = part_of(tensor.name);
    if (part.kind == Part::Kind::kUnknown) {
      return fail(Code::kUnsupported,
                  "{}: tensor \"{}\" is not supported (supported: lora_A, lora_B)", out.name(),
                  tensor.name);
    }
    const std::string key(without_prefix(part.path));
    bool fresh = true;
    if (part.kind == Part::Kind::kReplacement) {
      fresh = out.replacements_.try_emplace(key, tensor).second;
    } else {
      LoraLayer& layer = out.layers_[key];
      layer.path = part.path;
      Tensor& place = part.kind == Part::Kind::kA ? layer.a : layer.b;
      fresh = place.name.empty();
      place = tensor;
    }
    if (fresh) continue;
    return fail(Code::kCorrupt, "{}: tensor \"{}\" appears twice, under another name", out.name(),
                tensor.name);
  }
  if (out.layers_.empty() && out.replacements_.empty()) {
    return fail(Code::kCorrupt, "{}: no tensors", out.name());
  }
  for (auto& [path, layer] : out.layers_) SIGNALBOX_TRY_VOID(check_layer(out.file_, rules, layer));
  return out;
}

const LoraLayer* LoraAdapter::layer(std::string_view path) const {
  const auto found = layers_.find(without_prefix(path));
  return found == layers_.end() ? nullptr : &found->second;
}

const Tensor* LoraAdapter::replacement(std::string_view name) const {
  const auto found = replacements_.find(without_prefix(name));
  return found == replacements_.end() ? nullptr : &found->second;
}

Result<void> LoraAdapter::check(const LoraLayer& layer, int64_t out, int64_t in) const {
  if (layer.out() == out && layer.in() == in) return {};
  return fail(Code::kCorrupt, "{}: \"{}\" is for a weight of shape {}, the model's is {}", name(),
              layer.path, shape_text(Shape{layer.out(), layer.in()}), shape_text(Shape{out, in}));
}

void add_product(const LoraLayer& layer, const kernels::Table& kernels, std::span<float> w) {
  const int64_t rank = layer.rank(), in = layer.in(), out = layer.out();
  SIGNALBOX_CHECK(static_cast<int64_t>(w.size()) == out * in);
  std::vector<float> a(rank * in), b(out * rank);
  widen(layer.a, 0, kernels, a);
  widen(layer.b, 0, kernels, b);
  for (int64_t o = 0; o < out; ++o) {
    float* row = w.data() + o * in;  // (in)
    for (int64_t k = 0; k < rank; ++k) {
      const float factor = layer.scale * b[o * rank + k];
      for (int64_t i = 0; i < in; ++i) row[i] += factor * a[k * in + i];
    }
  }
}

const LoraLayer* LoraUse::layer(std::string_view path) {
  const LoraLayer* found = adapter_->layer(path);
  if (found != nullptr) taken_.insert(found);
  return found;
}

const Tensor* LoraUse::replacement(std::string_view name) {
  const Tensor* found = adapter_->replacement(name);
  if (found != nullptr) taken_.insert(found);
  return found;
}

Result<void> LoraUse::complete() const {
  for (const auto& [path, layer] : adapter_->layers()) {
    if (taken_.contains(&layer)) continue;
    return fail(Code::kCorrupt, "{}: tensor \"{}\" belongs to a layer that the model does not have",
                adapter_->name(), layer.a.name);
  }
  for (const auto& [name, tensor] : adapter_->replacements()) {
    if (taken_.contains(&tensor)) continue;
    return fail(Code::kCorrupt, "{}: tensor \"{}\" replaces a tensor that the model does not have",
                adapter_->name(), tensor.name);
  }
  return {};
}

Result<TensorList> merge_lora(const TensorList& model, const LoraAdapter& adapter,
                              const kernels::Table& kernels) {
  constexpr std::string_view kWeight = ".weight";
  LoraUse use(adapter);
  TensorList out;
  std::set<const void*> placed;  // replacements that matched a tensor of the model
  for (const Tensor& tensor : model.tensors()) {
    const Tensor* replacement = use.replacement(tensor.name);
    const LoraLayer* layer = nullptr;
    if (tensor.name.ends_with(kWeight)) {
      layer = use.layer(tensor.name.substr(0, tensor.name.size() - kWeight.size()));
    }
    if (replacement != nullptr) placed.insert(replacement);
    const Tensor& from = replacement != nullptr ? *replacement : tensor;
    if (layer == nullptr) {
      SIGNALBOX_TRY_VOID(out.add(std::string(tensor.name), from.dtype, shape_of(from), from.bytes));
      continue;
    }
    SIGNALBOX_TRY_VOID(check_dtype("the model", from));
    const bool is_matrix = from.shape.size() == 2;
    SIGNALBOX_TRY_VOID(
        adapter.check(*layer, is_matrix ? from.shape[0] : 0, is_matrix ? from.shape[1] : 0));
    std::vector<std::byte> bytes(from.size() * sizeof(float));
    const std::span values(reinterpret_cast<float*>(bytes.data()), from.size());
    widen(from, 0, kernels, values);
    add_product(*layer, kernels, values);
    SIGNALBOX_TRY_VOID(
        out.add(std::string(tensor.name), Dtype::kF32, shape_of(from), std::move(bytes)));
  }
  for (const auto& [name, tensor] : adapter.replacements()) {  // adds a head that the model lacks
    if (placed.contains(&tensor)) continue;
    use.replacement(name);
    SIGNALBOX_TRY_VOID(
        out.add(model_name(tensor.name), tensor.dtype, shape_of(tensor), tensor.bytes));
  }
  SIGNALBOX_TRY_VOID(use.complete());
  return out;
}

}  // namespace signalbox::weights
