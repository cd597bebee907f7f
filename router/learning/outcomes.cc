// The score is the mean of a Beta distribution whose prior is centred and weighs four verdicts.

#include "router/learning/outcomes.h"

#include <algorithm>

namespace signalbox::learning {
namespace {

constexpr double kPriorGood = 2, kPrior = 4;
/// The loss of a model whose verdicts all were that it is more than was needed.
constexpr double kOverprovisionedMost = 0.03;

}  // namespace

std::optional<Verdict> verdict_of(std::string_view name) {
  const auto found = std::find(kVerdicts.begin(), kVerdicts.end(), name);
  if (found == kVerdicts.end()) return std::nullopt;
  return static_cast<Verdict>(found - kVerdicts.begin());
}

void Tally::add(Verdict verdict) {
  if (sum() >= kCountMax) {
    for (uint32_t& count : counts) count /= 2;
  }
  ++counts[static_cast<size_t>(verdict)];
}

uint32_t Tally::sum() const {
  uint32_t out = 0;
  for (const uint32_t count : counts) out += count;
  return out;
}

double Tally::score() const {
  const auto count = [this](Verdict verdict) {
    return static_cast<double>(counts[static_cast<size_t>(verdict)]);
  };
  const double good = count(Verdict::kGoodFit), over = count(Verdict::kOverprovisioned);
  const double bad = count(Verdict::kUnderpowered) + count(Verdict::kFailed);
  const double share = (good + kPriorGood) / (good + bad + kPrior);
  const double excess = over / (good + bad + over + 1);
  return std::clamp(share - kOverprovisionedMost * excess, 0.0, 1.0);
}

Tally Outcomes::of(const std::string& decision, const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const auto found = tallies_.find({decision, model});
  return found == tallies_.end() ? Tally{} : found->second;
}

Outcomes::Added Outcomes::claim(const std::string& key, std::string_view content) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = claimed_.emplace(key, content);
  if (!is_new) return known->second == content ? Added::kRepeated : Added::kConflict;
  keys_.push_back(key);
  if (keys_.size() > kKeysMax) {
    claimed_.erase(keys_.front());
    keys_.pop_front();
  }
  return Added::kNew;
}

bool Outcomes::add(const std::string& decision, const std::string& model, Verdict verdict) {
  {
    const std::lock_guard lock(mutex_);
    const std::pair key{decision, model};
    const auto found = tallies_.find(key);
    if (found == tallies_.end() && tallies_.size() >= kTalliesMax) return false;
    tallies_[key].add(verdict);
  }
  if (SharedOutcomes* const below = below_) below->added(decision, model, verdict);
  return true;
}

std::vector<Outcomes::Line> Outcomes::lines() const {
  const std::lock_guard lock(mutex_);
  std::vector<Line> out;
  for (const auto& [key, tally] : tallies_) out.push_back({key.first, key.second, tally});
  return out;
}

void Outcomes::learn(const std::string& decision, const std::string& model, const Tally& tally) {
  const std::lock_guard lock(mutex_);
  const std::pair key{decision, model};
  if (tallies_.contains(key) || tallies_.size() < kTalliesMax) tallies_[key] = tally;
}

size_t Outcomes::reset() {
  const size_t out = unlearn();
  {
    const std::lock_guard lock(mutex_);
    claimed_.clear();
    keys_.clear();
  }
  if (SharedOutcomes* const below = below_) below->reset();
  return out;
}

size_t Outcomes::unlearn() {
  const std::lock_guard lock(mutex_);
  const size_t count = tallies_.size();
  tallies_.clear();
  return count;
}

}  // namespace signalbox::learning
