#pragma once
// Byte offsets to the offsets that people and other languages count in.

#include <cstdint>
#include <string_view>
#include <vector>

namespace signalbox::tools {

/// For each byte of the text, and its end: how many code points begin before it.
std::vector<uint32_t> code_points_before(std::string_view text);

}  // namespace signalbox::tools
