#pragma once
// The terms of texts: words in lower case and, for scripts without spaces between words, pairs of
// neighbouring characters. A hash stands for a term.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::word_search {

using Term = uint32_t;

/// The text in the form in which texts are compared: in lower case, with composed letters.
std::string normal_of(std::string_view text);

/// Appends the terms of the text, which is below 4 GiB, in their order and with repetitions.
void add_terms(std::string_view text, std::vector<Term>& out);

/// A term that is searched for.
struct QueryTerm {
  Term term;
  /// It has a digit and at least three bytes, as numbers of parts and codes of errors have.
  bool is_code;
};

/// The different terms of all texts, at most kQueryTermsMax, from the beginning of each text.
std::vector<QueryTerm> query_terms(std::span<const std::string_view> texts);
inline constexpr size_t kQueryTermsMax = 256;

}  // namespace signalbox::word_search
