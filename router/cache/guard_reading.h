#pragma once
// What a question says, apart from how it is put.

#include <string>
#include <string_view>
#include <vector>

#include "router/text/facts.h"

namespace signalbox::cache {

/// A word that says something, in its basic form.
struct Said {
  std::string word;
  bool name = false;  // written with a capital that no sentence's beginning explains
  size_t moved = 0;   // 1: "in", "for" or the like stands before it
  bool operator==(const Said& other) const { return word == other.word; }
};

struct Reading {
  std::vector<std::string> quoted;  // quotations and code, byte by byte
  std::vector<text::Quantity> quantities;
  std::vector<text::Date> dates;
  std::vector<Said> words;           // a quantity or a date is "#" among them
  std::vector<std::string> kinds;    // of the question, sorted: "how", "when", "why"
  std::vector<std::string> persons;  // sorted: "my", "you"
  bool past = false, future = false;
};

/// The text has no more than kQuestionBytesMax.
Reading read_question(std::string_view text);

}  // namespace signalbox::cache
