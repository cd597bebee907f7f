// Holds back one word, because the next part may join it.

#include "tokenizer/split/delimiters.h"

namespace signalbox::tokenizer {

bool Joiner::joins(bool is_delimiter) const {
  switch (behavior_) {
    case Behavior::kContiguous:
      return is_delimiter == delimiter_before_;
    case Behavior::kMergedWithPrevious:
      return is_delimiter && !delimiter_before_;
    case Behavior::kMergedWithNext:
      return !is_delimiter && delimiter_before_;
    case Behavior::kRemoved:
    case Behavior::kIsolated:
      break;
  }
  return false;
}

void Joiner::add(Span part, bool is_delimiter) {
  if (holds_ && joins(is_delimiter)) {
    held_.end = part.end;
  } else {
    finish();
    held_ = part;
    holds_ = behavior_ != Behavior::kRemoved || !is_delimiter;
  }
  delimiter_before_ = is_delimiter;
}

void Joiner::finish() {
  if (holds_ && held_.begin < held_.end) words_.push_back(held_);
  holds_ = false;
}

}  // namespace signalbox::tokenizer
