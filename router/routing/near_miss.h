#pragma once
// How near a signal came that does not match, for people: its score against its threshold, or what
// it lacks beside the score.

#include <optional>
#include <string>

#include "router/routing/explain.h"

namespace signalbox::routing {

/// Counts as they are, measures with two digits.
std::string shown(double value);

/// The cosine of the nearest example, -1 to 1; none where the signal's evidence is empty.
std::optional<double> nearest_of(const TypeReport& type, uint32_t signal);

/// "0.49 < 0.75", or the score alone where nothing about it is short.
std::string shortfall_of(const TypeReport& type, uint32_t signal);

}  // namespace signalbox::routing
