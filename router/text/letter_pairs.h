#pragma once
// Distinguishes English words from other rows of letters by their pairs of letters.

#include <string_view>

namespace signalbox::text {

/// Returns how likely English words begin, go on and end as this one does: a logarithm in half
/// units (e^0.5). It is 0 or less. Ignores case; requires ASCII letters only.
int word_likelihood(std::string_view word);

}  // namespace signalbox::text
