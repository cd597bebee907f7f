#pragma once
// Reads all quantities, dates and names of a sentence, in order. Answers and contexts are both read
// with it.

#include <vector>

#include "router/text/date.h"
#include "router/text/quantity.h"
#include "router/text/read_text.h"

namespace signalbox::text {

/// A run of capitalised words ("Marie Curie", "University of Chicago"), an acronym, or a word with
/// digits ("GPT4", "3.10.1"). The first word of a sentence begins a name only if it is an acronym
/// or another capitalised word follows.
struct Name {
  uint32_t first_token = 0, last_token = 0;  // half-open
  bool code = false;                         // a word with digits
};

struct Facts {
  std::vector<Quantity> quantities;
  std::vector<Quantity> compounds;  // combine two of them: "1 hour 30 minutes"
  std::vector<Date> dates;
  std::vector<Name> names;
};

/// Reads one sentence. Skips marks of list items, citations ("[3]") and web addresses. `headings`:
/// read names also in lines whose words are all capitalised.
void read_facts(const ReadText& text, const Sentence& sentence, bool headings, Facts& out);

/// The token after the web address ("https://...", "www....") that begins with the token; `token`
/// itself if no address begins there.
size_t past_address(const ReadText& text, size_t token, size_t end);

/// True if the word is an article, pronoun, preposition or another word without content.
bool is_common_word(std::string_view lower);

/// True if the sentence begins with the mark of a list item: "- ", "1. ".
bool is_item(const ReadText& text, const Sentence& sentence);

/// A word without its plural ending.
std::string_view stem_of(std::string_view lower);

}  // namespace signalbox::text
