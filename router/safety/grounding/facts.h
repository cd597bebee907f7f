#pragma once
// All quantities, dates and names of a stretch of text, in their order. Both sides are read with
// this: what an answer claims, and what a context offers.

#include <span>
#include <vector>

#include "router/safety/grounding/date.h"
#include "router/safety/grounding/number.h"
#include "router/safety/grounding/text.h"

namespace signalbox::grounding {

/// A run of capitalised words ("Marie Curie", "University of Chicago"), an acronym, or a word with
/// digits in it ("GPT4", "3.10.1"). The first word of a sentence begins one only if another
/// capitalised word follows or it is an acronym.
struct Name {
  uint32_t first_token = 0, last_token = 0;  // half-open
  bool code = false;                         // a word with digits in it
};

struct Facts {
  std::vector<Quantity> quantities;
  std::vector<Quantity> compounds;  // of two that stand among them: "1 hour 30 minutes"
  std::vector<Date> dates;
  std::vector<Name> names;
};

/// Of one sentence. Left out: marks of list items, citations ("[3]"), addresses of pages.
/// `headings`: names too of lines whose words all have capitals, where a capital says nothing.
void read_facts(const ReadText& text, const Sentence& sentence, bool headings, Facts& out);

/// Words that say nothing by themselves: articles, pronouns, prepositions, and what begins
/// sentences.
bool is_common_word(std::string_view lower);

}  // namespace signalbox::grounding
