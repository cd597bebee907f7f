#pragma once
// Reads English whose letters were moved along the alphabet, as ROT13 does, or whose lines were
// reversed.

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::text {

struct Rearranged {
  std::string text;
  bool is_complete = false;  // no plain word was changed, so the source need not be read
};

/// Returns the text with such words and lines in their plain form; nullopt if it has none. Takes
/// linear time.
std::optional<Rearranged> rearranged(std::string_view text);

}  // namespace signalbox::text
