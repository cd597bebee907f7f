#pragma once
// Decides whether two questions with similar embeddings have the same answer. Embeddings separate
// topics but not answers: "is it safe" and "is it not safe" are as near as paraphrases are.
//
// Both questions must contain the same content words in the same order. They may differ only in
// words known to be meaningless ("please", "could you tell me", "the") and in a few known synonyms
// ("buy", "purchase"). So everything unknown counts as a difference: names in lower case,
// opposites, words of languages without tables here. Lists of words that change an answer
// (opposites, names) were rejected: a gap in such a list gives a wrong answer, while a gap in these
// lists only gives a miss. Numbers, units and dates are parsed as in grounding: "2 km" equals
// "2,000 m".

#include <cstdint>
#include <string_view>

namespace signalbox::cache {

enum class Difference : uint8_t {
  kNone,
  kNegation,
  kNumbers,   // in numbers, units or dates
  kNames,     // in words with capitals
  kQuoted,    // in quotations and code
  kQuestion,  // in who, when or why; in the persons; in past or future
  kLanguage,
  kWords,
};

/// "negation" and the like; "none" for kNone.
std::string_view difference_name(Difference difference);

/// Longer texts, in bytes, always differ: kWords.
inline constexpr size_t kQuestionBytesMax = 8192;

/// Symmetric and thread-safe.
Difference difference(std::string_view a, std::string_view b);

}  // namespace signalbox::cache
