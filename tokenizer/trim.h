#pragma once
// trim_offsets of tokenizer.json: a token's range without the spaces at its ends. The reference
// counts the spaces in the token's string as spelled in the vocabulary. It then moves the ends of
// the range by the same number of code points of the original text, regardless of what they are.

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/models/vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// The number of spaces at the two ends of a token's string. A string of only spaces counts them at
/// both ends.
struct Spaces {
  uint32_t leading = 0;
  uint32_t trailing = 0;
};

/// Counts white space, and the letter for the space in GPT-2's byte alphabet. In that alphabet
/// other white space maps to ordinary letters.
Spaces spaces_of(std::string_view token);

/// Returns spaces_of() for every piece, indexed by id.
std::vector<Spaces> spaces_of_pieces(const Vocabulary& vocabulary);

/// Returns `range` (bytes of `text`) without the spaces. `is_first`: no token precedes it.
/// `add_prefix_space`: keep a single leading space of a token that is first or at the beginning of
/// the text, because it counts as the added space.
Span trimmed(std::string_view text, Span range, Spaces spaces, bool is_first,
             bool add_prefix_space);

}  // namespace signalbox::tokenizer
