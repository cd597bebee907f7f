#pragma once
// The functions that networks apply to the values of a layer, by their names in configurations.

#include <cstdint>

#include "base/error.h"
#include "kernels/kernels.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// kGelu is the exact form, kGeluTanh its approximation by tanh.
enum class Activation : uint8_t { kGelu, kGeluTanh, kRelu, kTanh };

/// Returns the function that a configuration names, or the one named `fallback` if the key is
/// missing. kUnsupported for another function.
Result<Activation> read_activation(const weights::HfObject& config, std::string_view key,
                                   std::string_view fallback);

/// Returns the function of that name, which stands in the configuration at `key`. kUnsupported for
/// another function.
Result<Activation> activation_of(const weights::HfObject& config, std::string_view key,
                                 std::string_view name);

/// In place: x (n).
void activate(const kernels::Table& kernels, Activation activation, int64_t n, float* x);

}  // namespace signalbox::engine
