#pragma once
// Describes for people how near an unmatched signal came: its score against its threshold, or, if
// the score suffices, its similarity against the least similarity.

#include <optional>
#include <string>

#include "router/routing/explain.h"

namespace signalbox::routing {

/// Formats whole numbers without decimals and others with two decimals.
std::string format_value(double value);

/// The cosine of the nearest example, -1 to 1; nullopt if the signal has no evidence.
std::optional<double> nearest_similarity(const TypeReport& type, uint32_t signal);

/// "0.49 < 0.75", or the score alone if no bound was missed.
std::string describe_near_miss(const TypeReport& type, uint32_t signal);

}  // namespace signalbox::routing
