#pragma once
// Letters of other scripts that look like Latin letters.

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::text {

struct LatinText {
  std::string mixed;  // with Latin letters in words that mix them with look-alikes
  std::string all;    // also in words of look-alikes only, which may be words of another language
};

/// Returns the text with Latin letters in words that are written with look-alikes of them; nullopt
/// unless at least three words mix both. Takes linear time.
std::optional<LatinText> latin_letters(std::string_view text);

}  // namespace signalbox::text
