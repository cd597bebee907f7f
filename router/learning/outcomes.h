#pragma once
// Reported outcomes of answers, as a score for each model of a decision, and by the features of
// their requests.

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "router/learning/regression.h"
#include "router/learning/verdict.h"

namespace signalbox::learning {

/// The verdicts on one model of one decision.
struct Tally {
  /// When the sum of all counts reaches this, every count is halved. So newer verdicts count more,
  /// and a model can always win its score back.
  static constexpr uint32_t kCountMax = 64;

  std::array<uint32_t, kVerdicts.size()> counts = {};  // by Verdict

  void add(Verdict verdict);
  uint32_t sum() const;
  /// The share of good verdicts, 0 to 1, as if two good and two bad ones had come before. If two
  /// models have equal shares, the one with more verdicts kOverprovisioned has the lower score.
  double score() const;
  /// Draws a value from the distribution whose mean is the score. The distribution is wide while
  /// there are few verdicts.
  double sample(std::mt19937_64& random) const;

 private:
  double value_of(double share) const;
};

/// The level by which several routers share verdicts. Thread-safe, and does not block.
class SharedOutcomes {
 public:
  virtual ~SharedOutcomes() = default;
  /// `features` is null if those of the request are not known. Only the first verdict with an
  /// idempotency key counts; "": the verdict has none.
  virtual void added(const std::string& decision, const std::string& model, Verdict verdict,
                     const Features* features, const std::string& key) = 0;
  virtual void reset() = 0;
};

/// The outcomes of one model of one decision. A regression never changes once it is here, so that
/// it is read without a lock.
struct Known {
  Tally tally = {};
  std::shared_ptr<const Regression> regression = {};  // null: no verdict came with features
};

/// Thread-safe. Lives as long as the process.
class Outcomes {
 public:
  static constexpr size_t kTalliesMax = 4096;
  static constexpr size_t kKeysMax = 16'384;

  /// Nothing is known: all counts are zero, and there is no regression.
  Known of(const std::string& decision, const std::string& model) const;

  enum class Added : uint8_t {
    kNew,
    kRepeated,  // the key came before with the same content: nothing changes
    kConflict,  // the key came before with other content: nothing changes
  };
  /// Claims an idempotency key for this content. The newest kKeysMax keys are known.
  Added claim(const std::string& key, std::string_view content);
  /// `features` are those of the request; null: they are not known, and the verdict only counts.
  /// `key` is a key that was claimed for it, for the shared level. Returns false if there are
  /// verdicts on kTalliesMax other models already.
  bool add(const std::string& decision, const std::string& model, Verdict verdict,
           const Features* features = nullptr, const std::string& key = {});

  struct Line {
    std::string decision, model;
    Known known;
  };
  /// By decision and model.
  std::vector<Line> lines() const;
  /// Forgets all verdicts and keys. Returns how many models had some.
  size_t reset();

  /// Each change from now on goes to `below`, too. Null: to none, from now on.
  void share(SharedOutcomes* below) { below_ = below; }
  // Changes of other routers. They do not go to the shared level.
  /// Replaces the verdicts on a model, unless there are some on kTalliesMax others. Without a
  /// regression, the one that is known stays.
  void learn(const std::string& decision, const std::string& model, const Known& known);
  /// Forgets all verdicts, but no keys. Returns how many models had some.
  size_t unlearn();

 private:
  std::atomic<SharedOutcomes*> below_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Known> known_;
  std::unordered_map<std::string, std::string> claimed_;  // content by key
  std::deque<std::string> keys_;                          // the oldest first
};

}  // namespace signalbox::learning
