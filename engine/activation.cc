// A table of names, and the kernel behind each.

#include "engine/activation.h"

#include <algorithm>
#include <array>
#include <string>

namespace signalbox::engine {
namespace {

struct Named {
  std::string_view name;
  Activation activation;
};

constexpr std::array kActivations = {Named{"gelu", Activation::kGelu},
                                     Named{"gelu_new", Activation::kGeluTanh},
                                     Named{"gelu_fast", Activation::kGeluTanh},
                                     Named{"gelu_pytorch_tanh", Activation::kGeluTanh},
                                     Named{"relu", Activation::kRelu},
                                     Named{"tanh", Activation::kTanh},
                                     Named{"gelu_python", Activation::kGelu},
                                     Named{"gelu_python_tanh", Activation::kGeluTanh},
                                     Named{"gelu_accurate", Activation::kGeluTanh}};

}  // namespace

Result<Activation> read_activation(const weights::HfObject& config, std::string_view key,
                                   std::string_view fallback) {
  SIGNALBOX_TRY(const std::string name, config.string(key, fallback));
  return activation_of(config, key, name);
}

Result<Activation> activation_of(const weights::HfObject& config, std::string_view key,
                                 std::string_view name) {
  const auto found = std::ranges::find(kActivations, name, &Named::name);
  if (found != kActivations.end()) return found->activation;
  std::string known;
  for (const Named& each : kActivations)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: {})", config.where(key),
              name, known);
}

void activate(const kernels::Table& kernels, Activation activation, int64_t n, float* x) {
  switch (activation) {
    case Activation::kGelu:
      kernels.gelu(n, x);
      return;
    case Activation::kGeluTanh:
      kernels.gelu_tanh(n, x);
      return;
    case Activation::kRelu:
      kernels.relu(n, x);
      return;
    case Activation::kTanh:
      kernels.tanh(n, x);
      return;
  }
}

}  // namespace signalbox::engine
