#pragma once
// Reads English whose letters were moved along the alphabet, as ROT13 does, or whose lines were
// reversed.

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::text {

/// Returns the text with such words and lines in their plain form; nullopt if it has none. Takes
/// linear time.
std::optional<std::string> rearranged(std::string_view text);

}  // namespace signalbox::text
