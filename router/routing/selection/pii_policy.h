#pragma once
// The types of personal data that a model may see.

#include <span>
#include <string>
#include <vector>

#include "router/config/providers.h"

namespace signalbox::selection {

/// True if the model must not see every type, so that a request must be searched before it goes
/// there.
bool restricts(const config::Model& model);

/// The types found in a request that the model must not see. Types compare without case.
std::vector<std::string> denied_types(const config::Model& model,
                                      std::span<const std::string> found);

}  // namespace signalbox::selection
