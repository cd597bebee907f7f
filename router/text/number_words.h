#pragma once
// The words and signs that make up numbers.

#include <optional>
#include <string_view>

#include "router/text/numeral.h"

namespace signalbox::text {

/// "million" is 1e6.
std::optional<double> scale_of(std::string_view word);

/// "third" is 3.
std::optional<double> ordinal_of(std::string_view word);

/// "third" and "thirds" are 3, "half" is 2.
std::optional<double> denominator_of(std::string_view word);

/// "½" is 0.5.
std::optional<double> fraction_sign(std::string_view sign);

/// The token after a hyphen inside a word ("twenty-three"), or `token`.
size_t skip_hyphen(const ReadText& text, size_t token);

/// Reads "one hundred and five thousand two hundred", "twenty-third", and years such as "nineteen
/// eighty-four". Returns false if there is no number.
bool read_cardinal(const ReadText& text, size_t token, Numeral& out);

}  // namespace signalbox::text
