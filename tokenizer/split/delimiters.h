#pragma once
// Handling of the delimiters found by a splitter: the SplitDelimiterBehavior of tokenizer.json.

#include <vector>

#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

enum class Behavior : uint8_t {
  kRemoved,
  kIsolated,            // each delimiter is a word
  kMergedWithPrevious,  // a delimiter directly after another is a word
  kMergedWithNext,      // a delimiter directly before another is a word
  kContiguous,          // adjacent delimiters form one word
};

/// Combines delimiters and the text between them into words.
class Joiner {
 public:
  Joiner(Behavior behavior, std::vector<Span>& words) : behavior_(behavior), words_(words) {}

  /// Adds the next part; it begins where the previous one ends. Two consecutive parts may both be
  /// text, and parts may be empty.
  void add(Span part, bool is_delimiter);
  /// Call after the last part.
  void finish();

 private:
  bool joins(bool is_delimiter) const;

  Behavior behavior_;
  std::vector<Span>& words_;
  Span held_;  // a word that the next part may join
  bool holds_ = false;
  bool delimiter_before_ = false;  // the previous part was a delimiter
};

/// The loop of a splitter: passes the matches in `word` and the text between them to a Joiner. With
/// `invert`, the matches are the text between delimiters.
class DelimiterWalk {
 public:
  DelimiterWalk(Behavior behavior, bool invert, Span word, std::vector<Span>& words)
      : joiner_(behavior, words), invert_(invert), begin_(word.begin), end_(word.end) {}

  /// Adds the next match, which must not begin before the end of the last one.
  void match(Span found) {
    if (begin_ < found.begin) joiner_.add({begin_, found.begin}, invert_);
    joiner_.add(found, !invert_);
    begin_ = found.end;
  }
  void finish() {
    if (begin_ < end_) joiner_.add({begin_, end_}, invert_);
    joiner_.finish();
  }

 private:
  Joiner joiner_;
  bool invert_;
  uint32_t begin_;
  uint32_t end_;
};

}  // namespace signalbox::tokenizer
