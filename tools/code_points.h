#pragma once
// Converts byte offsets to code point offsets, which users and other languages count in.

#include <cstdint>
#include <string_view>
#include <vector>

namespace signalbox::tools {

/// For each byte of the text, and for its end: the number of code points that begin before it.
/// Shape: (text.size() + 1).
std::vector<uint32_t> code_points_before(std::string_view text);

}  // namespace signalbox::tools
