#pragma once
// Detects the languages of a text.

#include <map>
#include <string_view>

namespace signalbox::signals {

/// Shares of a text by language code ("en"), adding up to at most 1. A text without evidence is
/// English with a share of 0.5. Only the beginning of a long text is read.
using LanguageShares = std::map<std::string_view, double>;
LanguageShares language_shares(std::string_view text);

}  // namespace signalbox::signals
