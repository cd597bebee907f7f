#pragma once
// Which classes of a classifier are attempts to override instructions, and what they say of a text
// of several windows.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "router/config/catalog.h"

namespace signalbox::signals {

/// Of this probability an attempt is one where nothing else is configured.
inline constexpr double kAttemptThreshold = 0.7;

/// Indices of the labels that the guard's positive_labels name, or "jailbreak", in any
/// case, words joined by _, - or a space.
std::vector<size_t> attempt_labels(const config::ClassifierModel& guard,
                                   std::span<const std::string> labels);

/// That a text of `windows` windows holds an attempt whose surest window says so with
/// `probability`. A classifier's odds are for a text by itself; each further window is a further
/// chance to be mistaken, so they are divided by the number of windows, and by no more than 12, so
/// that no length hides what is sure.
double attempt_among(size_t windows, double probability);

}  // namespace signalbox::signals
