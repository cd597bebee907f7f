#pragma once
// The ways in which keywords are compared with a text. Each matcher holds the keywords of all
// signals that are compared in its way, and walks over a text once.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/signals.h"
#include "router/signals/matching/evidence.h"
#include "router/text/normalize.h"

namespace signalbox::signals {

/// Methods that compare with what is only near look at so much of a text.
inline constexpr size_t kNearBytesMax = size_t{256} << 10;

/// A keyword of the configuration: which signal's, and as it is written there.
struct Keyword {
  uint32_t signal;
  std::string_view text;
};

/// The text of one request in the forms that matchers ask for, made when first asked for.
class KeywordText {
 public:
  void reset(std::string_view text);
  std::string_view original() const { return original_; }
  /// Spaces as one, and in lower case if `lower`.
  std::string_view folded(bool lower);
  /// The beginning of folded(), kNearBytesMax at most, and its units.
  std::string_view near(bool lower);
  const std::vector<text::TextUnit>& units(bool lower);

 private:
  struct Form {
    bool folded = false;
    bool split = false;
    std::string text;
    std::vector<text::TextUnit> units;
  };
  std::string_view original_;
  std::array<Form, 2> forms_;
};

/// The keywords that were found in one request.
class KeywordHits {
 public:
  KeywordHits(std::span<const Keyword> keywords, std::vector<bool>& seen,
              std::vector<uint32_t>& matched, std::vector<Evidence>& evidence)
      : keywords_(keywords), seen_(seen), matched_(matched), evidence_(evidence) {}

  bool has(uint32_t keyword) const { return seen_[keyword]; }
  /// Counts a keyword once; `score`: how near it was, 0 to 1.
  void add(uint32_t keyword, double score) {
    if (seen_[keyword]) return;
    seen_[keyword] = true;
    ++matched_[keywords_[keyword].signal];
    evidence_.push_back({keywords_[keyword].signal, keywords_[keyword].text, score});
  }

 private:
  std::span<const Keyword> keywords_;
  std::vector<bool>& seen_;         // (keywords)
  std::vector<uint32_t>& matched_;  // (signals)
  std::vector<Evidence>& evidence_;
};

/// Filled, finished, then immutable and thread-safe.
class KeywordMatcher {
 public:
  virtual ~KeywordMatcher() = default;
  /// kInvalid for a keyword that could never be found. `signal` outlives the matcher.
  virtual Result<void> add(uint32_t keyword, std::string_view text,
                           const config::KeywordSignal& signal) = 0;
  virtual Result<void> finish() = 0;
  virtual void match(KeywordText& text, KeywordHits& hits) const = 0;
};

/// Whole words and phrases, as they are written.
std::unique_ptr<KeywordMatcher> literal_matcher(bool lower);
/// RE2 patterns.
std::unique_ptr<KeywordMatcher> pattern_matcher();
/// Levenshtein's distance d in code points between a keyword and as many words of the text, give or
/// take one: found from 1 - d / (the longer's length) = fuzzy_threshold / 100 (80 when it is 0) up.
std::unique_ptr<KeywordMatcher> fuzzy_matcher(bool lower);
/// Okapi BM25 (k1 1.2, b 0.75; Robertson and Zaragoza 2009) of the text's words as a query over the
/// signal's keywords as documents: found from bm25_threshold up.
std::unique_ptr<KeywordMatcher> bm25_matcher(bool lower);
/// Shared n-grams of ngram_arity code points (with arity - 1 spaces around) over all n-grams of a
/// keyword and as many words of the text: found from ngram_threshold up.
std::unique_ptr<KeywordMatcher> ngram_matcher(bool lower);

/// The keyword folded, without spaces around; kInvalid when nothing is left.
Result<std::string> folded_keyword(std::string_view keyword, bool lower);

}  // namespace signalbox::signals
