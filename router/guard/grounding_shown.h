#pragma once
// What an answer reckons before the reader's eyes: "two adults at 160 each, 320 together".

#include <span>

#include "router/guard/grounding_number.h"
#include "router/guard/grounding_values.h"

namespace signalbox::router::grounding {

/// Sums and differences of quantities of one unit, the sum of all of them, and products of a plain
/// number and a quantity; sealed. Of the last twelve. `plain`: those without a unit, too.
Values shown_by(std::span<const Quantity> operands, bool plain);

}  // namespace signalbox::router::grounding
