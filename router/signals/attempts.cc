// Labels are compared without case: models of one task differ in it.

#include "router/signals/attempts.h"

#include <algorithm>
#include <string_view>

namespace signalbox::router {
namespace {

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

std::vector<size_t> attempt_labels(const config::ClassifierModel& guard,
                                   std::span<const std::string> labels) {
  std::vector<std::string> positive;
  for (const std::string& label : guard.positive_labels) positive.push_back(lower_ascii(label));
  if (positive.empty()) positive = {"jailbreak"};
  std::vector<size_t> out;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string label = lower_ascii(labels[i]);
    if (std::find(positive.begin(), positive.end(), label) != positive.end()) out.push_back(i);
  }
  return out;
}

}  // namespace signalbox::router
