#pragma once
// Explores every order of events of a small system: a depth-first search over its states that
// visits each state once.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace signalbox::test {

/// One event that may happen next.
template <class State>
struct Event {
  std::string name;
  std::function<void(State&)> happen;
};

/// A State can be copied. events() returns what may happen next; key() has everything that its
/// future depends on; fault() names a property that does not hold, or is "". A key that lacks
/// something would hide states. So one of kPerSample keys is a sample: each state with that key
/// must have the same events, which lead to the same keys.
template <class State>
class Explorer {
 public:
  static constexpr size_t kPerSample = 16;

  void explore(const State& state) {
    if (!fault_.empty()) return;
    const Digest digest = digest_of(state.key());
    const bool is_new = seen_.insert(digest).second;
    if (digest.second % kPerSample == 0) {
      const Digest future = future_of(state);
      if (samples_.try_emplace(digest, future).first->second != future)
        return add_fault("the key of a state lacks something: " + state.key());
    }
    if (!is_new) return;
    if (std::string fault = state.fault(); !fault.empty()) return add_fault(std::move(fault));
    for (const Event<State>& event : state.events()) {
      State next = state;
      path_.push_back(event.name);
      event.happen(next);
      ++steps_;
      explore(next);
      path_.pop_back();
      if (!fault_.empty()) return;
    }
  }
  /// The property that does not hold, with the events that lead there.
  const std::string& fault() const { return fault_; }
  size_t states() const { return seen_.size(); }
  size_t steps() const { return steps_; }

 private:
  using Digest = std::pair<size_t, size_t>;
  struct Hash {
    size_t operator()(const Digest& digest) const { return digest.first; }
  };
  // 128 bits, so that two states have the same digest only by a miracle.
  static Digest digest_of(const std::string& key) {
    return {std::hash<std::string>()(key), std::hash<std::string>()("#" + key)};
  }

  static Digest future_of(const State& state) {
    std::string out = state.fault();
    for (const Event<State>& event : state.events()) {
      State next = state;
      event.happen(next);
      out += fmt::format("\n{}\n{}", event.name, next.key());
    }
    return digest_of(out);
  }
  void add_fault(std::string fault) {
    fault_ = std::move(fault);
    for (const std::string& name : path_) fault_ += fmt::format("\n  after: {}", name);
  }

  std::unordered_set<Digest, Hash> seen_;
  std::unordered_map<Digest, Digest, Hash> samples_;  // the future of some states
  std::vector<std::string> path_;
  std::string fault_;
  size_t steps_ = 0;
};

/// Explores all states from `begin` on, expects no fault and prints the counts.
template <class State>
size_t explore_all(std::string_view name, const State& begin) {
  Explorer<State> explorer;
  explorer.explore(begin);
  EXPECT_EQ(explorer.fault(), "") << name;
  fmt::print("{}: {} states, {} steps\n", name, explorer.states(), explorer.steps());
  return explorer.states();
}

}  // namespace signalbox::test
