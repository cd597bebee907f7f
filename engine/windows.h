#pragma once
// Where a long text is cut for a model that reads a part at a time. A passage that somebody has put
// into another text is read best by itself, so pieces end where the text itself has an end.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// The text in pieces of at most `room` of its tokens that together hold all of it; none of a text
/// without tokens. A piece ends, if it can in its second half, after a blank line, else a line,
/// else a sentence, else a word; the last of these counts. The next begins at the first of the best
/// such places among the `overlap` tokens before that end, which may be the end itself. `offsets`:
/// (tokens), bytes of the text, rising. Precondition: 0 <= overlap < room / 2.
std::vector<std::string_view> cut_windows(std::string_view text,
                                          std::span<const tokenizer::Span> offsets, size_t room,
                                          size_t overlap);

}  // namespace signalbox::engine
