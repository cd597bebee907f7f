#pragma once
// One model after the other until a reply is good enough: `confidence`, and `automix` as a cascade.

#include <string>
#include <string_view>
#include <vector>

#include "router/looper/looper.h"

namespace signalbox::looper {

struct CascadeSettings {
  enum class Method : uint8_t { kLogprob, kMargin, kHybrid, kGrade };
  Method method = Method::kLogprob;
  double threshold = 0;  // 0 to 1
  double logprob_weight = 0.5, margin_weight = 0.5;
  bool only_words = false;  // tokens without a letter or digit do not count
  bool fails = false;       // a failed call ends the run
};
/// For `confidence` and, with enable_cascade, `automix`.
CascadeSettings cascade_settings(const config::Algorithm& algorithm);

/// Sorts the voices from the first to the last to be called. Equal ones keep their order.
std::vector<Voice> cascade_order(const config::Algorithm& algorithm, std::vector<Voice> voices);

/// The confidence in a reply, 0 to 1; -1 if the reply does not show it. Log probabilities of -3 and
/// less are 0, of 0 are 1; a margin m is 1 - exp(-m / 3). These are the Semantic Router's scales.
double confidence_in(const Reply& reply, const CascadeSettings& settings);

/// The last model's reply is not judged, because no other could follow.
std::unique_ptr<const Algorithm> cascade(const CascadeSettings& settings,
                                         std::vector<Voice> in_order, Conversation conversation);

}  // namespace signalbox::looper
