#pragma once
// Decides whether to reason, by how certain a classifier is of the domain. If it is certain, the
// domain's own setting applies; if it is in doubt, the most likely domains vote; if it has no idea,
// reasoning is on. The formulas are the Semantic Router's.

#include <optional>
#include <span>

namespace signalbox::plugins {

struct EntropyVerdict {
  bool reasons = false;
  double confidence = 0;  // of the verdict, 0 to 1
};

/// `probabilities`: (classes), at least one class. `flags`: (classes), each domain's reasoning
/// setting, or nullopt if it has none. The normalised entropy H / log2(classes) selects the rule.
/// From 0.8 up: yes. From 0.6 up: the two most likely classes vote with their probabilities. From
/// 0.4 up: the best class decides if its probability reaches `threshold`, otherwise the three most
/// likely classes vote. Below 0.4: the best class decides. A best class without a setting means no.
EntropyVerdict reason_by_entropy(std::span<const float> probabilities,
                                 std::span<const std::optional<bool>> flags, double threshold);

/// Returns H / log2(classes), from 0 (certain) to 1 (no information); 0 for fewer than two classes.
double normalised_entropy(std::span<const float> probabilities);

}  // namespace signalbox::plugins
