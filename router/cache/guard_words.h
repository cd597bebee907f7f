#pragma once
// The word tables of the cache's guard. They are English; words of other languages always count.

#include <span>
#include <string>
#include <string_view>

namespace signalbox::cache {

/// A way to begin a question, as words separated by spaces, and its meaning: "" or words again.
/// "a|b" matches either word; "a?" is optional.
struct Opening {
  std::string_view pattern;
  std::string_view meaning;
};

/// If one opening is a prefix of another, the longer one comes first.
std::span<const Opening> openings();

/// True for words that no answer depends on: articles, forms of "be", "of", "please".
bool is_filler(std::string_view lower);
bool is_negation(std::string_view lower);

/// Returns the basic form of a word by its ending, or the first of its synonyms.
std::string basic_form(std::string_view lower);

}  // namespace signalbox::cache
