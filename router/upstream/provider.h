#pragma once
// The providers of models in the words of OpenTelemetry's conventions for generative AI.

#include <string>

#include "router/config/config.h"

namespace signalbox::upstream {

/// Returns the value of gen_ai.provider.name: the provider whose domain has the host of the model's
/// first backend; of another server the type that the file names, such as "vllm"; without one the
/// API that it has, "openai" or "anthropic"; "signalbox" for the built-in echo.
std::string provider_of(const config::Model& model);

}  // namespace signalbox::upstream
