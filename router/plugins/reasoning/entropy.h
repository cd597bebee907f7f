#pragma once
// Whether to reason, from how sure a classifier is of the domain: one that is sure follows the
// domain's own setting, one in doubt lets the likeliest domains vote, and one that has no idea
// reasons. The formulas are upstream's.

#include <optional>
#include <span>

namespace signalbox::plugins {

struct EntropyVerdict {
  bool reasons = false;
  double confidence = 0;  // 0 to 1, of the verdict
};

/// `probabilities` (classes), at least one, of the classes; `flags` (classes) what each domain says
/// of reasoning, nothing where it says nothing. By the normalised entropy H / log2(classes): from
/// 0.8 on it is yes; from 0.6 on the two likeliest classes vote with their probabilities; from 0.4
/// on the best class decides if its probability reaches `threshold`, else the three likeliest vote;
/// below, the best class decides. A best class that says nothing means no.
EntropyVerdict reason_by_entropy(std::span<const float> probabilities,
                                 std::span<const std::optional<bool>> flags, double threshold);

/// H / log2(classes), 0 (sure) to 1 (no idea); 0 for fewer than two classes.
double normalised_entropy(std::span<const float> probabilities);

}  // namespace signalbox::plugins
