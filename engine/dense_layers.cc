// Each layer is a matrix in single precision, an optional bias and an activation.

#include "engine/dense_layers.h"

#include <array>
#include <optional>

#include "engine/read_options.h"
#include "engine/tensor_reader.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"
#include "weights/torch_pickle.h"

namespace signalbox::engine {
namespace {

// Names of PyTorch's classes.
constexpr std::array<std::pair<std::string_view, std::optional<Activation>>, 4> kDenseActivations{{
    {"Identity", std::nullopt},
    {"Tanh", Activation::kTanh},
    {"ReLU", Activation::kRelu},
    {"GELU", Activation::kGelu},
}};

Result<std::optional<Activation>> read_dense_activation(const weights::HfObject& config) {
  constexpr std::string_view kKey = "activation_function";
  SIGNALBOX_TRY(const std::string name, config.string(kKey, "torch.nn.modules.activation.Tanh"));
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  for (const auto& [known, activation] : kDenseActivations) {
    if (last == known) return activation;
  }
  return fail(Code::kUnsupported,
              "{}: \"{}\" is not supported (supported: Identity, Tanh, ReLU, GELU)",
              config.where(kKey), name);
}

// Older versions of sentence-transformers write PyTorch's format only.
Result<weights::SafeTensors> open_weights(const std::filesystem::path& directory) {
  const auto file = directory / "model.safetensors", older = directory / "pytorch_model.bin";
  if (std::filesystem::exists(file) || !std::filesystem::exists(older))
    return weights::SafeTensors::open(file);
  SIGNALBOX_TRY(weights::TensorList tensors, weights::open_torch(older));
  return weights::SafeTensors::of(older.string(), std::move(tensors));
}

}  // namespace

Result<DenseLayers> DenseLayers::open(std::span<const DenseStep> steps, int32_t width,
                                      const kernels::Table& kernels) {
  constexpr int32_t kWidthMax = 1 << 16;
  DenseLayers out;
  for (const auto& [directory, normalizes] : steps) {
    SIGNALBOX_TRY(const auto file, weights::HfConfig::open(directory / "config.json"));
    const weights::HfObject config = file.root();
    SIGNALBOX_TRY(const int32_t in, config.integer("in_features", 1, kWidthMax));
    SIGNALBOX_TRY(const int32_t columns, config.integer("out_features", 1, kWidthMax));
    SIGNALBOX_TRY(const bool bias, config.boolean("bias", true));
    SIGNALBOX_TRY(const auto activation, read_dense_activation(config));
    for (const char* key : {"module_input_name", "module_output_name"})
      SIGNALBOX_TRY_VOID(require(config, key, "sentence_embedding"));
    if (in != out.width_after(width)) {
      return fail(Code::kCorrupt, "{}: {}, but the vectors before this layer have {} values",
                  config.where("in_features"), in, out.width_after(width));
    }
    SIGNALBOX_TRY(const auto tensors, open_weights(directory));
    TensorReader reader(tensors, kernels, "");
    Linear linear = reader.linear("linear", in, columns, bias);
    if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
    out.layers_.push_back({normalizes, std::move(linear), activation});
    out.arenas_.push_back(reader.take_arena());
  }
  return out;
}

void DenseLayers::apply(const kernels::Table& kernels, std::vector<float>& x) const {
  Operands unused;  // for packed formats
  for (const Layer& layer : layers_) {
    if (layer.normalizes) kernels.l2_normalize(layer.linear.in(), x.data());
    std::vector<float> y(layer.linear.out());
    layer.linear.apply(kernels, 1, x.data(), kernels::Finish::kStore, unused, y.data());
    if (layer.activation) {
      activate(kernels, *layer.activation, static_cast<int64_t>(y.size()), y.data());
    }
    x = std::move(y);
  }
}

}  // namespace signalbox::engine
