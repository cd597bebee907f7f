#pragma once
// The tokens that are added to a vocabulary: those of its class and those of its settings.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "tokenizer/hf/settings.h"
#include "tools/vocabulary/hf_sections.h"

namespace signalbox::tools {

/// The vocabulary that added tokens extend.
struct KnownPieces {
  std::unordered_map<std::string_view, int64_t> ids;  // views of the caller's pieces
  int64_t size = 0;                                   // the first id after the vocabulary
};

/// Returns the added tokens with their ids, by id. `known` are those that the class has by itself;
/// tokens of the settings follow, and replace known ones of the same content. Errors: kCorrupt for
/// an id that contradicts the vocabulary.
Result<std::vector<HfAddedToken>> join_added_tokens(const std::vector<HfAddedToken>& known,
                                                    const tokenizer::Settings& settings,
                                                    const KnownPieces& pieces);

}  // namespace signalbox::tools
