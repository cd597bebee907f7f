#pragma once
// Which classes of a classifier are attempts to override instructions.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "router/config/catalog.h"

namespace signalbox::router {

/// Of this probability an attempt is one where nothing else is configured.
inline constexpr double kAttemptThreshold = 0.7;

/// Indices of the labels that the guard's positive_labels name, or "jailbreak", in any case.
std::vector<size_t> attempt_labels(const config::ClassifierModel& guard,
                                   std::span<const std::string> labels);

}  // namespace signalbox::router
