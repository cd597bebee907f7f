#pragma once
// Draws a reliability diagram: how often a classifier is right at each level of confidence.

#include <span>
#include <string>

#include "tools/eval/evaluation.h"

namespace signalbox::tools {

/// Returns an SVG of one or two evaluations that have a quality. Each nonempty bin of scores is a
/// point with its 95 % interval; bars below show the number of rows.
std::string reliability_svg(std::span<const Evaluated> evaluations);

}  // namespace signalbox::tools
