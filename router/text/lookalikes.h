#pragma once
// Letters of other scripts that look like Latin letters.

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::text {

/// Returns the text with Latin letters in words that are written with look-alikes of them; nullopt
/// unless at least three words mix both. Takes linear time.
std::optional<std::string> latin_letters(std::string_view text);

}  // namespace signalbox::text
