#pragma once
// A text as the rules read it: what is written with other signs than ASCII's, written with those.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::router::pii {

struct Plain {
  std::string text;
  std::vector<size_t> begin, end;  // of what each byte of it stands for
};

/// With fullwidth digits, letters and signs of addresses, the ideographic space and the minus sign
/// written in ASCII, and without what has no width inside of numbers. None where that changes
/// nothing. In time linear in the text.
std::optional<Plain> plain(std::string_view text);

}  // namespace signalbox::router::pii
