// Labels are compared without case, and with one joint between words: models of one task differ in
// both.

#include "router/signals/attempts.h"

#include <algorithm>
#include <string_view>

namespace signalbox::router {
namespace {

constexpr size_t kCountedMax = 12;

std::string plain(std::string_view label) {
  std::string out(label);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == ' ') c = '_';
  }
  return out;
}

}  // namespace

std::vector<size_t> attempt_labels(const config::ClassifierModel& guard,
                                   std::span<const std::string> labels) {
  std::vector<std::string> positive;
  for (const std::string& label : guard.positive_labels) positive.push_back(plain(label));
  if (positive.empty()) positive = {"jailbreak"};
  std::vector<size_t> out;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string label = plain(labels[i]);
    if (std::find(positive.begin(), positive.end(), label) != positive.end()) out.push_back(i);
  }
  return out;
}

double attempt_among(size_t windows, double probability) {
  const auto count = static_cast<double>(std::clamp<size_t>(windows, 1, kCountedMax));
  return probability / (probability + count * std::max(0.0, 1 - probability));
}

}  // namespace signalbox::router
