// Each layer is a matrix in single precision, an optional bias and an activation.

#include "engine/dense_layers.h"

#include <array>
#include <optional>

#include "engine/tensor_reader.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

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

}  // namespace

Result<DenseLayers> DenseLayers::open(std::span<const std::filesystem::path> directories,
                                      int32_t width, const kernels::Table& kernels) {
  constexpr int32_t kWidthMax = 1 << 16;
  DenseLayers out;
  for (const std::filesystem::path& directory : directories) {
    SIGNALBOX_TRY(const auto file, weights::HfConfig::open(directory / "config.json"));
    const weights::HfObject config = file.root();
    SIGNALBOX_TRY(const int32_t in, config.integer("in_features", 1, kWidthMax));
    SIGNALBOX_TRY(const int32_t columns, config.integer("out_features", 1, kWidthMax));
    SIGNALBOX_TRY(const bool bias, config.boolean("bias", true));
    SIGNALBOX_TRY(const auto activation, read_dense_activation(config));
    if (in != out.width_after(width)) {
      return fail(Code::kCorrupt, "{}: {}, but the vectors before this layer have {} values",
                  config.where("in_features"), in, out.width_after(width));
    }
    SIGNALBOX_TRY(const auto tensors, weights::SafeTensors::open(directory / "model.safetensors"));
    TensorReader reader(tensors, kernels, "");
    Linear linear = reader.linear("linear", in, columns, bias);
    if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
    out.layers_.push_back({std::move(linear), activation});
    out.arenas_.push_back(reader.take_arena());
  }
  return out;
}

void DenseLayers::apply(const kernels::Table& kernels, std::vector<float>& x) const {
  Operands unused;  // for packed formats
  for (const Layer& layer : layers_) {
    std::vector<float> y(layer.linear.out());
    layer.linear.apply(kernels, 1, x.data(), kernels::Finish::kStore, unused, y.data());
    if (layer.activation) {
      activate(kernels, *layer.activation, static_cast<int64_t>(y.size()), y.data());
    }
    x = std::move(y);
  }
}

}  // namespace signalbox::engine
