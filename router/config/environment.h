#pragma once
// Environment variables in configuration values.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::config {

struct FromEnvironment {
  std::string value;
  std::string name;
};

/// Replaces ${NAME} by the variable's value and ${NAME:-text} by its value or, when it is unset or
/// empty, by the text.
/// $${ stands for a literal ${. Values are not expanded again. kInvalid for an unset variable
/// without a default and for a ${ that does not end or holds no name.
/// `used` gets each variable whose value was put in.
Result<std::string> substitute_environment(std::string_view text,
                                           std::vector<FromEnvironment>* used = nullptr);

}  // namespace signalbox::config
