#pragma once
// Names of JSON members at servers that ignore case, such as those with Go's encoding/json.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/ascii.h"

namespace signalbox {

/// Returns the name in lower case, or nullopt if it has no other case. U+017F (a long s) and U+212A
/// (the sign of Kelvin) become "s" and "k", as by Unicode's simple case folding: no other character
/// beyond ASCII folds to an ASCII letter.
inline std::optional<std::string> in_lower_case(std::string_view name) {
  constexpr std::string_view kLongS = "\u017f", kKelvin = "\u212a";
  const auto may_change = [](char c) {
    return ascii::is_upper(c) || static_cast<signed char>(c) < 0;
  };
  if (std::none_of(name.begin(), name.end(), may_change)) return std::nullopt;
  std::string out;
  for (size_t at = 0; at < name.size();) {
    const std::string_view rest = name.substr(at);
    if (rest.starts_with(kLongS)) {
      out += 's';
      at += kLongS.size();
    } else if (rest.starts_with(kKelvin)) {
      out += 'k';
      at += kKelvin.size();
    } else {
      out += ascii::lower(rest.front());
      ++at;
    }
  }
  if (out == name) return std::nullopt;
  return out;
}

}  // namespace signalbox
