#pragma once
// Extracts the content of a question, independent of its wording.

#include <string>
#include <string_view>
#include <vector>

#include "router/text/facts.h"

namespace signalbox::cache {

/// A content word in its basic form.
struct ContentWord {
  std::string text;
  bool is_name = false;          // has a capital that is not due to the start of a sentence
  size_t after_preposition = 0;  // 1: "in", "for" or the like precedes it
  bool operator==(const ContentWord& other) const { return text == other.text; }
};

struct Reading {
  std::vector<std::string> quoted;  // quotations and code, byte for byte
  std::vector<text::Quantity> quantities;
  std::vector<text::Date> dates;
  std::vector<ContentWord> words;    // contains "#" for each quantity or date
  std::vector<std::string> kinds;    // of question, sorted: "how", "when", "why"
  std::vector<std::string> persons;  // sorted: "my", "you"
  bool past = false, future = false;
};

/// `text` has at most kQuestionBytesMax bytes.
Reading read_question(std::string_view text);

}  // namespace signalbox::cache
