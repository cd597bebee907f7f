#pragma once
// Whether two questions whose embeddings are near ask the same. Embeddings tell topics apart, not
// answers: "is it safe" and "is it not safe" are as near as paraphrases are.
//
// Everything that a question says has to be said by the other too, in the same order; only words
// that are known to say nothing ("please", "could you tell me", "the") may differ, and a few that
// are known to say the same ("buy", "purchase"). So what is not known counts as a difference: names
// in small letters, opposites, words of a language that has no tables here. Lists of what changes
// an answer (opposites, names) were rejected: what they lack would be a wrong answer, what these
// lack is a miss. Numbers, units and dates are read as grounding reads them: "2 km" is "2,000 m".

#include <cstdint>
#include <string_view>

namespace signalbox::cache {

enum class Difference : uint8_t {
  kNone,
  kNegation,
  kNumbers,   // of numbers, units, dates
  kNames,     // of what is written with capitals
  kQuoted,    // of quotations and code
  kQuestion,  // who, when, why; who is spoken of; the past or the future
  kLanguage,
  kWords,
};

/// "negation" and the like; "none".
std::string_view difference_name(Difference difference);

/// Texts of more bytes are always different: kWords.
inline constexpr size_t kQuestionBytesMax = 8192;

/// Symmetric. Thread-safe.
Difference difference(std::string_view a, std::string_view b);

}  // namespace signalbox::cache
