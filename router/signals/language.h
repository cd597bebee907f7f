#pragma once
// Which languages a text is written in.

#include <map>
#include <string_view>

namespace signalbox::signals {

/// Shares of a text by language code ("en"); they add up to 1 at most, or are English's with 0.5
/// where nothing says anything. Of a long text the beginning is read.
using LanguageShares = std::map<std::string_view, double>;
LanguageShares language_shares(std::string_view text);

}  // namespace signalbox::signals
