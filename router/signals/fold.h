#pragma once
// Text made comparable: case, white space, and where words end.

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox::router {

/// Writes `text` to `out` (replaced) with every run of white space as one space and, if `lower`,
/// every code point by its simple lower-case mapping. Bytes that are not UTF-8 become U+FFFD.
void fold(std::string_view text, bool lower, std::string& out);

/// True when a letter, digit, mark or underscore of a script that puts spaces between words starts
/// at (ends before) `position`. Chinese, Japanese, Thai and the like do not, and Korean appends its
/// particles to words: there a keyword may stand anywhere.
bool word_starts_at(std::string_view text, size_t position);
bool word_ends_at(std::string_view text, size_t position);

}  // namespace signalbox::router
