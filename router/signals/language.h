#pragma once
// Detects the languages of a text.

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace signalbox::signals {

/// Shares of a text by language code ("en"), adding up to at most 1. A text without evidence is
/// English with a share of 0.5. Only the beginning of a long text is read.
using LanguageShares = std::map<std::string_view, double>;
LanguageShares language_shares(std::string_view text);

/// Returns the language of `text` if it is certain that the text is in none of the `supported`
/// languages; otherwise "". The code is static; "und" stands for a script of no known language.
/// Between related languages it may be the wrong one. Short texts are rarely certain; a text that
/// mixes languages on purpose may not be. docs/signals.md has the figures. Takes up to
/// 0.1 milliseconds for a window of 1 KB.
std::string_view unsupported_language(std::string_view text,
                                      std::span<const std::string> supported);

/// Returns true if the text is likely in none of the `supported` languages, and has no word that
/// only they have. One word of another language is enough, so this is no reason to refuse a text.
bool is_likely_unsupported(std::string_view text, std::span<const std::string> supported);

}  // namespace signalbox::signals
