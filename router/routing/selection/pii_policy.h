#pragma once
// Which personal data a model may see.

#include <span>
#include <string>
#include <vector>

#include "router/config/providers.h"

namespace signalbox::selection {

/// Whether the model is not to see every type, so that a request has to be looked at before it goes
/// there.
bool restricts(const config::Model& model);

/// Of the types that were found in a request, those that the model may not see; types compare
/// without case.
std::vector<std::string> denied_types(const config::Model& model,
                                      std::span<const std::string> found);

}  // namespace signalbox::selection
