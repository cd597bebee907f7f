#pragma once
// Formats a count with its noun.

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox {

/// Returns "1 model" or "2 models". `one` is a singular noun that takes an s in the plural.
inline std::string counted(size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace signalbox
