#pragma once
// A reliability diagram: how often a classifier is right when it says that it is this sure.

#include <span>
#include <string>

#include "tools/eval/evaluation.h"

namespace signalbox::tools {

/// An SVG of one evaluation or two, those with a quality. Each bin of scores with rows is a point
/// with its 95 % interval; below, how many rows there are.
std::string reliability_svg(std::span<const Evaluated> evaluations);

}  // namespace signalbox::tools
