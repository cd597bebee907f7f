#pragma once
// Extended grapheme clusters (UAX 29) as in the reference: Unicode 17 (crate unicode-segmentation
// 1.13). The properties come from utf8proc (Unicode 15), with the differences as short tables in
// grapheme_tables.h. utf8proc's own state machine is not used because it lacks the rule for Indic
// conjuncts.

#include <cstdint>
#include <string_view>

namespace signalbox::tokenizer {

/// Returns the end of the cluster that begins at `begin`. `begin` must be a cluster boundary (0 or
/// the end of another cluster) and less than text.size(); the text must be valid UTF-8.
/// Thread-safe.
uint32_t grapheme_end(std::string_view text, uint32_t begin);

}  // namespace signalbox::tokenizer
