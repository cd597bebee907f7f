#pragma once
// How many things a text enumerates: "red, green and blue" are three, and so is a list of three
// items.

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "router/safety/grounding/text.h"

namespace signalbox::grounding {

/// Looks into the texts. Filling is linear in them.
class Enumerations {
 public:
  void add(const ReadText& text);

  /// Whether a sentence that enumerates so many shares a word with this one.
  bool hold(size_t count, const ReadText& text, const Sentence& sentence) const;

 private:
  using Words = std::unordered_set<std::string_view>;
  void note(size_t count, const ReadText& text, const Sentence& sentence);

  std::unordered_map<size_t, Words> words_;  // by count, of the sentences that have it
};

/// Whether the sentence begins with the mark of a list's item.
/// A row of a table: "| 5 | 6 |", "Oslo | 5 | 6".
bool is_row(const ReadText& text, const Sentence& sentence);

bool is_item(const ReadText& text, const Sentence& sentence);

/// A word without the ending of its plural.
std::string_view stem_of(std::string_view lower);

}  // namespace signalbox::grounding
