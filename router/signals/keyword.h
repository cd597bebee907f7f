#pragma once
// Signals of type keyword: words and phrases in the last message of the user.

#include <memory>
#include <vector>

#include "router/config/signals.h"
#include "router/signals/signal.h"

namespace signalbox::signals {

/// With method regex (the name is upstream's) a keyword matches as a whole word, upper and lower
/// case alike unless case_sensitive, and white space in it matches any white space. A boundary is
/// asked for only where the keyword itself ends in a character of a script that separates words, so
/// "c++" and Chinese keywords match inside longer text. The other methods and `patterns` are
/// described in keyword_matcher.h; fuzzy_match adds the fuzzy method to another. Confidence is
/// 0.5 + 0.5 * occurring / all keywords for AND and OR; 1 for NOR, which matches when nothing
/// occurs. Score: the share of keywords that occur.
class KeywordSignals : public SignalType {
 public:
  /// kTooLarge when there are too many keywords; kInvalid for one that is nothing but white space
  /// and for a pattern that RE2 refuses.
  static Result<std::unique_ptr<const SignalType>> create(
      const std::vector<config::KeywordSignal>& signals);
};

}  // namespace signalbox::signals
