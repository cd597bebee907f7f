#pragma once
// A count with its noun, as a person would say it.

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox {

/// "1 model", "2 models": `one` is the noun in the singular, whose plural takes an s.
inline std::string counted(size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

}  // namespace signalbox
