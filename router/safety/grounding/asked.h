#pragma once
// What the words of a sentence say of its figures: that they follow from others, or are set against
// them.

#include "router/safety/grounding/number.h"
#include "router/safety/grounding/text.h"

namespace signalbox::grounding {

/// Where in an answer that stands which is being asked about.
struct Asked {
  Asked(const ReadText& text, const Sentence& sentence);
  const ReadText& text;
  const Sentence& sentence;
  bool reckons;   // the sentence says so: "in total", "more than", "increased"
  bool compares;  // or sets figures against each other: "after", "between"
  bool denies;    // something, "not"
};

/// What a question asks for a part or a multiple with: 0.5 of "I only want to make half", 1 of
/// other words.
double asked_scale(const Token& token);

/// How many times as much an answer's word makes of all: 2 of "doubling", 1 of others.
double says_to_scale(const Token& token);

/// Whether a plain number tells an age: "aged 76", "was 20 when".
bool tells_age(const ReadText& text, const Quantity& quantity);

/// Whether the word says that something is to be reckoned: "total", "difference".
bool says_to_reckon(const Token& token);

}  // namespace signalbox::grounding
