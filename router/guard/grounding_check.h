#pragma once
// The layer without a model: every number, date, unit and name of an answer against the evidence.

#include <vector>

#include "router/guard/grounding.h"
#include "router/guard/grounding_evidence.h"

namespace signalbox::router::grounding {

/// What the evidence does not support, in the order of the answer.
std::vector<GroundingSpan> check_facts(const Evidence& evidence, const ReadText& answer);

}  // namespace signalbox::router::grounding
