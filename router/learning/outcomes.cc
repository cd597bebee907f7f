// The score is the mean of a Beta distribution whose prior is centred and weighs four verdicts.

#include "router/learning/outcomes.h"

#include <algorithm>

namespace signalbox::learning {
namespace {

constexpr double kPriorGood = 2, kPriorBad = 2;
/// The score that a model loses if all its verdicts are kOverprovisioned.
constexpr double kOverprovisionedMost = 0.03;

double count_of(const Tally& tally, Verdict verdict) {
  return static_cast<double>(tally.counts[static_cast<size_t>(verdict)]);
}

double good_of(const Tally& tally) {
  return count_of(tally, Verdict::kGoodFit) + kPriorGood;
}

double bad_of(const Tally& tally) {
  return count_of(tally, Verdict::kUnderpowered) + count_of(tally, Verdict::kFailed) + kPriorBad;
}

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

double Tally::value_of(double share) const {
  const double over = count_of(*this, Verdict::kOverprovisioned);
  const double excess = over / (sum() + 1);
  return std::clamp(share - kOverprovisionedMost * excess, 0.0, 1.0);
}

double Tally::score() const {
  return value_of(good_of(*this) / (good_of(*this) + bad_of(*this)));
}

// Two gamma variables make one of a Beta distribution. Both are greater than 0, because neither
// shape is below the prior's.
double Tally::sample(std::mt19937_64& random) const {
  const double good = std::gamma_distribution<double>(good_of(*this))(random);
  const double bad = std::gamma_distribution<double>(bad_of(*this))(random);
  return value_of(good / (good + bad));
}

Known Outcomes::of(const std::string& decision, const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find({decision, model});
  return found == known_.end() ? Known{} : found->second;
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

bool Outcomes::add(const std::string& decision, const std::string& model, Verdict verdict,
                   const Features* features, const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    const std::pair name{decision, model};
    if (!known_.contains(name) && known_.size() >= kTalliesMax) return false;
    Known& known = known_[name];
    known.tally.add(verdict);
    if (features != nullptr) {
      auto next = known.regression ? std::make_shared<Regression>(*known.regression)
                                   : std::make_shared<Regression>();
      next->add(*features, verdict);
      known.regression = std::move(next);
    }
  }
  if (SharedOutcomes* const below = below_) below->added(decision, model, verdict, features, key);
  return true;
}

std::vector<Outcomes::Line> Outcomes::lines() const {
  const std::lock_guard lock(mutex_);
  std::vector<Line> out;
  for (const auto& [key, known] : known_) out.push_back({key.first, key.second, known});
  return out;
}

void Outcomes::learn(const std::string& decision, const std::string& model, const Known& known) {
  const std::lock_guard lock(mutex_);
  const std::pair key{decision, model};
  if (!known_.contains(key) && known_.size() >= kTalliesMax) return;
  Known& to = known_[key];
  to.tally = known.tally;
  if (known.regression) to.regression = known.regression;
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
  const size_t count = known_.size();
  known_.clear();
  return count;
}

}  // namespace signalbox::learning
