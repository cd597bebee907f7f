#pragma once
// Merges an IntelligentPool and an IntelligentRoute into a configuration file, as its models and
// its routing.
//
// Everything in the file stays, except for the parts that the two resources define. They replace
// providers.defaults.default_model, routing.modelCards, routing.signals and routing.decisions.
// Prices and reasoning families are merged into the file's models of the same name, whose servers
// the file defines.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/yaml.h"

namespace signalbox::kubernetes {

/// Returns the text of a file merged with the resources. A ${VARIABLE} in a resource stays plain
/// text, because the author of a resource need not be allowed to read the environment. Errors:
/// kInvalid naming the kind and the path.
Result<std::string> lay_over(std::string_view file, std::string_view name, const yaml::Node& pool,
                             const yaml::Node& route);

}  // namespace signalbox::kubernetes
