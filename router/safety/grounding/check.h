#pragma once
// The layer without a model: every number, date, unit and name of an answer against the evidence.

#include <vector>

#include "router/safety/grounding/evidence.h"
#include "router/safety/grounding/grounding.h"

namespace signalbox::grounding {

struct CheckedFacts {
  std::vector<GroundingSpan> unsupported;  // in the order of the answer
  std::vector<ByteSpan> verified;          // numbers and dates that are as the evidence has them
};

CheckedFacts check_facts(const Evidence& evidence, const ReadText& answer);

}  // namespace signalbox::grounding
