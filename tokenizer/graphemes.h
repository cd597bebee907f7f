#pragma once
// Extended grapheme clusters (UAX 29) as the reference finds them: Unicode 17 (crate
// unicode-segmentation 1.13). The properties are utf8proc's, of Unicode 15, with the differences as
// short tables in graphemes.cc; utf8proc's own state machine is not used because it lacks the rule
// for Indic conjuncts.

#include <cstdint>
#include <string_view>

namespace signalbox::tokenizer {

/// Where the cluster that begins at `begin` ends. `begin` is where a cluster begins: 0, or the end
/// of another. Precondition: begin < text.size(); text is valid UTF-8. Thread-safe.
uint32_t grapheme_end(std::string_view text, uint32_t begin);

}  // namespace signalbox::tokenizer
