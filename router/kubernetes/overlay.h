#pragma once
// An IntelligentPool and an IntelligentRoute, as the models and the routing of a configuration
// file.
//
// Of the file everything stays but what the two speak of: providers.defaults.default_model,
// routing.modelCards, routing.signals and routing.decisions are theirs; prices and ways of
// reasoning go to the file's models of the same name, whose servers the file knows.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/yaml.h"

namespace signalbox::kubernetes {

/// The text of a file with the resources laid over it. What they say of ${VARIABLES} is text: who
/// may write a resource need not be allowed to read the environment. Errors: kInvalid naming the
/// kind and the path.
Result<std::string> lay_over(std::string_view file, std::string_view name, const yaml::Node& pool,
                             const yaml::Node& route);

}  // namespace signalbox::kubernetes
