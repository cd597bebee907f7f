#pragma once
// Signals of type keyword: words and phrases in the user's last message.

#include <memory>
#include <vector>

#include "router/config/signals.h"
#include "router/signals/signal.h"

namespace signalbox::signals {

/// With method regex (the Semantic Router's name), a keyword matches as a whole word. Upper and
/// lower case are equal unless case_sensitive is set, and white space in a keyword matches any
/// white space. A word boundary is required only at an end of the keyword that is a word character
/// of a script that separates words, so "c++" and Chinese keywords match inside longer text.
/// keyword_matcher.h describes the other methods and `patterns`; fuzzy_match adds the fuzzy method
/// to another method. Confidence: 0.5 + 0.5 * occurring / all keywords for AND and OR; 1 for NOR,
/// which matches if no keyword occurs. Score: the share of keywords that occur.
class KeywordSignals : public SignalType {
 public:
  /// kTooLarge if there are too many keywords; kInvalid for a keyword of white space only and for a
  /// pattern that RE2 rejects. `source` is the file, for errors.
  static Result<std::unique_ptr<const SignalType>> create(
      const std::vector<config::KeywordSignal>& signals, std::string_view source = {});
};

}  // namespace signalbox::signals
