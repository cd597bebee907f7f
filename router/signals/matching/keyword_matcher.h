#pragma once
// Keyword matching methods. Each matcher holds the keywords of all signals that use its method, and
// scans a text once.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/signals.h"
#include "router/signals/matching/evidence.h"
#include "router/text/normalize.h"

namespace signalbox::signals {

/// Approximate methods read at most this much of a text.
inline constexpr size_t kNearBytesMax = size_t{256} << 10;

/// A keyword of the configuration.
struct Keyword {
  uint32_t signal;
  std::string_view text;
};

/// The text of one request in the forms that matchers need, each computed on first use. Of a text
/// longer than kNearBytesMax it holds one form at a time, and forgets the other.
class KeywordText {
 public:
  void reset(std::string_view text);
  std::string_view original() const { return original_; }
  /// The text with every run of white space as one space, and in lower case if `lower`. The view
  /// of a long text is valid until the other form is requested.
  std::string_view normalized(bool lower);
  /// The beginning of normalized(), at most kNearBytesMax bytes, and its units.
  std::string_view beginning(bool lower);
  const std::vector<text::TextUnit>& units(bool lower);
  /// Forgets the text, and gives back the memory that a long one took.
  void release();
  /// The memory that the forms take now.
  size_t memory_bytes() const;

 private:
  struct Form {
    bool is_normalized = false;
    bool is_begun = false;  // `beginning` is known
    bool is_split = false;
    std::string text;
    std::string beginning;  // of a long text only
    std::vector<text::TextUnit> units;
  };
  bool is_long() const { return original_.size() > kNearBytesMax; }

  std::string_view original_;
  std::array<Form, 2> forms_;
};

/// The work space of the thread, with a text in it. Only one may exist on a thread at a time. The
/// memory that a long text took is given back at the end.
class LentKeywordText {
 public:
  explicit LentKeywordText(std::string_view text);
  ~LentKeywordText();
  LentKeywordText(const LentKeywordText&) = delete;
  LentKeywordText& operator=(const LentKeywordText&) = delete;
  KeywordText& operator*() const { return text_; }

 private:
  KeywordText& text_;
};

/// Collects the keywords that were found in one request.
class KeywordHits {
 public:
  KeywordHits(std::span<const Keyword> keywords, std::vector<bool>& seen,
              std::vector<uint32_t>& matched, std::vector<Evidence>& evidence)
      : keywords_(keywords), seen_(seen), matched_(matched), evidence_(evidence) {}

  bool has(uint32_t keyword) const { return seen_[keyword]; }
  /// Counts a keyword once. `score` is its similarity, 0 to 1 (BM25: its score).
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

/// First add() all keywords, then finish(); after that it is immutable and thread-safe.
class KeywordMatcher {
 public:
  virtual ~KeywordMatcher() = default;
  /// kInvalid for a keyword that could never be found. `signal` must outlive the matcher.
  virtual Result<void> add(uint32_t keyword, std::string_view text,
                           const config::KeywordSignal& signal) = 0;
  virtual Result<void> finish() = 0;
  virtual void match(KeywordText& text, KeywordHits& hits) const = 0;
};

/// Finds whole words and phrases as they are written.
std::unique_ptr<KeywordMatcher> literal_matcher(bool lower);
/// Finds RE2 patterns.
std::unique_ptr<KeywordMatcher> pattern_matcher();
/// Compares a keyword with stretches of the text that have as many words, or one more or fewer.
/// With the Levenshtein distance d in code points, a stretch matches if 1 - d / (length of the
/// longer one) is at least fuzzy_threshold / 100 (80 if it is 0). A fuzzy_threshold of 1 to 10 is
/// the greatest d, as in older files of the Semantic Router; d must be less than the keyword's
/// length.
std::unique_ptr<KeywordMatcher> fuzzy_matcher(bool lower);
/// Okapi BM25 (k1 1.2, b 0.75; Robertson and Zaragoza 2009) with the words of the text as the query
/// and the signal's keywords as the documents; matches from bm25_threshold up.
std::unique_ptr<KeywordMatcher> bm25_matcher(bool lower);
/// Jaccard similarity of the n-grams (ngram_arity code points, padded with arity - 1 spaces on both
/// sides) of a keyword and of as many words of the text; matches from ngram_threshold up.
std::unique_ptr<KeywordMatcher> ngram_matcher(bool lower);

/// Normalizes a keyword and removes spaces at its ends; kInvalid if nothing is left.
Result<std::string> normalize_keyword(std::string_view keyword, bool lower);

}  // namespace signalbox::signals
