#pragma once
// trim_offsets of tokenizer.json: a token's range without the spaces at its ends. The reference
// counts them in the string of the token, as its vocabulary spells it, and then moves the ends of
// the range by as many code points of the original text, whatever these are.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace signalbox::tokenizer {

/// Spaces at the two ends of a token's string. A string of spaces alone has them at both.
struct Spaces {
  uint32_t leading = 0;
  uint32_t trailing = 0;
};

/// White space, and the letter that stands for the space in GPT-2's alphabet of visible bytes. In
/// that alphabet other white space is letters like any other.
Spaces spaces_of(std::string_view token);

/// spaces_of every piece, by its id.
std::vector<Spaces> spaces_of_pieces(const Vocabulary& vocabulary);

/// `range`, in bytes of `text`, moved together. `is_first`: no token is in front of it.
/// `add_prefix_space`: a single space of a token that is first, or at the beginning of the text, is
/// taken for one that was added, and stays.
Span trimmed(std::string_view text, Span range, Spaces spaces, bool is_first,
             bool add_prefix_space);

}  // namespace signalbox::tokenizer
