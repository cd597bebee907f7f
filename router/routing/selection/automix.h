#pragma once
// The values that automix and hybrid compare.

#include "router/routing/selection/scores.h"

namespace signalbox::selection {

/// (candidates); every value is known.
Scores automix_values(const config::AutoMix& config, std::span<const Candidate> candidates);

}  // namespace signalbox::selection
