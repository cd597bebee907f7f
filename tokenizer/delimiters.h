#pragma once
// What becomes of the delimiters that a splitter finds: the SplitDelimiterBehavior of
// tokenizer.json.

#include <vector>

#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

enum class Behavior : uint8_t {
  kRemoved,
  kIsolated,            // each is a word
  kMergedWithPrevious,  // but a delimiter right behind another is a word
  kMergedWithNext,      // but a delimiter right before another is a word
  kContiguous,          // delimiters that touch are one word
};

/// Turns a text that is cut into delimiters and what lies between them into words.
class Joiner {
 public:
  Joiner(Behavior behavior, std::vector<Span>& words) : behavior_(behavior), words_(words) {}

  /// The parts in order, each beginning where the one before it ends. Two that are no delimiters
  /// may follow each other, and any may be empty.
  void add(Span part, bool is_delimiter);
  /// After the last part.
  void finish();

 private:
  bool joins(bool is_delimiter) const;

  Behavior behavior_;
  std::vector<Span>& words_;
  Span held_;  // the word that the next part may join
  bool holds_ = false;
  bool delimiter_before_ = false;  // whether the part before was one
};

/// A splitter's loop: the parts of `word` between matches, and the matches, through a Joiner. With
/// `invert`, the matches are what lies between delimiters.
class DelimiterWalk {
 public:
  DelimiterWalk(Behavior behavior, bool invert, Span word, std::vector<Span>& words)
      : joiner_(behavior, words), invert_(invert), begin_(word.begin), end_(word.end) {}

  /// The next match, not before the end of the last.
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
