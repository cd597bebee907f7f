#pragma once
// Environment variables in configuration values.

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::config {

/// Replaces ${NAME} by the variable's value and ${NAME:-text} by its value or, when it is unset or
/// empty, by the text.
/// $${ stands for a literal ${. Values are not expanded again. kInvalid for an unset variable
/// without a default and for a ${ that does not end or holds no name.
Result<std::string> substitute_environment(std::string_view text);

}  // namespace signalbox::config
