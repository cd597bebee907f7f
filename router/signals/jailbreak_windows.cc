// Labels are compared without case and with one separator between words, because models for the
// same task differ in both. If the model has none of them, their meaning is compared.

#include "router/signals/jailbreak_windows.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "router/models/stand_ins.h"

namespace signalbox::signals {
namespace {

constexpr size_t kCountedMax = 12;

}  // namespace

std::vector<size_t> find_jailbreak_labels(const config::ClassifierModel& guard,
                                          std::span<const std::string> labels) {
  const auto find = [&](const auto& name_of) {
    std::vector<std::string> positive{"jailbreak"};
    if (!guard.positive_labels.empty()) positive.clear();
    for (const std::string& label : guard.positive_labels) positive.push_back(name_of(label));
    std::vector<size_t> out;
    for (size_t i = 0; i < labels.size(); ++i) {
      const std::string label = ascii::snake_case(labels[i]);
      if (std::ranges::find(positive, label) != positive.end()) out.push_back(i);
    }
    return out;
  };
  std::vector<size_t> exact =
      find([](const std::string& label) { return ascii::snake_case(label); });
  return exact.empty() ? find([](const std::string& label) { return models::plain_label(label); })
                       : exact;
}

double adjust_for_windows(size_t windows, double probability) {
  const auto count = static_cast<double>(std::clamp<size_t>(windows, 1, kCountedMax));
  return probability / (probability + count * std::max(0.0, 1 - probability));
}

}  // namespace signalbox::signals
