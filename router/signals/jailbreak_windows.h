#pragma once
// Finds the jailbreak classes of a classifier and combines its results over the windows of a text.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "router/config/catalog.h"

namespace signalbox::signals {

/// Default threshold of the probability.
inline constexpr double kJailbreakThreshold = 0.7;

/// Returns the indices of the labels that the guard's `positive_labels` name ("jailbreak" if that
/// is empty). Ignores case; "_", "-" and a space are equal separators.
std::vector<size_t> find_jailbreak_labels(const config::ClassifierModel& guard,
                                          std::span<const std::string> labels);

/// Returns the probability that a text of `windows` windows holds a jailbreak attempt if
/// `probability` is the highest probability of a single window. The classifier is calibrated for
/// one text, and each further window is a further chance of a false positive. So the odds are
/// divided by the number of windows, at most by 12, so that no length hides a sure match.
double adjust_for_windows(size_t windows, double probability);

}  // namespace signalbox::signals
