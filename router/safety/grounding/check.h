#pragma once
// The check without a model: looks up the figures, dates, names and addresses of an answer.

#include <vector>

#include "router/safety/grounding/evidence.h"
#include "router/safety/grounding/grounding.h"
#include "router/safety/grounding/sentence_index.h"

namespace signalbox::grounding {

/// Each list is in the order of the answer.
struct CheckedFacts {
  std::vector<Span> spans;               // the context lacks them, and should have them
  std::vector<Span> unchecked;           // the context lacks them, but may imply them
  std::vector<text::ByteSpan> verified;  // figures and dates that the context contains
};

/// `index` holds the sentences of the context, which is the first text of `evidence`.
CheckedFacts check_facts(const Evidence& evidence, const SentenceIndex& index,
                         const text::ReadText& answer);

}  // namespace signalbox::grounding
