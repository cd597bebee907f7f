// Labels are compared without case and with one separator between words, because models for the
// same task differ in both.

#include "router/signals/jailbreak_windows.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"

namespace signalbox::signals {
namespace {

constexpr size_t kCountedMax = 12;

}  // namespace

std::vector<size_t> find_jailbreak_labels(const config::ClassifierModel& guard,
                                          std::span<const std::string> labels) {
  std::vector<std::string> positive;
  for (const std::string& label : guard.positive_labels)
    positive.push_back(ascii::snake_case(label));
  if (positive.empty()) positive = {"jailbreak"};
  std::vector<size_t> out;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string label = ascii::snake_case(labels[i]);
    if (std::find(positive.begin(), positive.end(), label) != positive.end()) out.push_back(i);
  }
  return out;
}

double adjust_for_windows(size_t windows, double probability) {
  const auto count = static_cast<double>(std::clamp<size_t>(windows, 1, kCountedMax));
  return probability / (probability + count * std::max(0.0, 1 - probability));
}

}  // namespace signalbox::signals
