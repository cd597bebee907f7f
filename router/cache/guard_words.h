#pragma once
// The words that the guard of the cache knows. English; every word of another language counts.

#include <span>
#include <string>
#include <string_view>

namespace signalbox::cache {

/// A way to begin a question, as words with a space between, and what it comes to: "" or words
/// again. "a|b" is one of them, "a?" may be missing.
struct Opening {
  std::string_view pattern;
  std::string_view meaning;
};

/// Longer ones first where one begins like another.
std::span<const Opening> openings();

/// Says nothing that an answer depends on: articles, forms of "be", "of", "please".
bool is_filler(std::string_view lower);
bool is_negation(std::string_view lower);

/// The basic form of a word, by its ending, and the first of the words that say the same.
std::string basic_form(std::string_view lower);

}  // namespace signalbox::cache
