#pragma once
// Determines the difficulty of a request: the first case of the decision's `difficulty` whose
// condition matches.

#include <map>
#include <span>
#include <vector>

#include "router/config/routing.h"
#include "router/routing/decision/rules.h"

namespace signalbox::plugins {

/// The compiled conditions of all decisions. Immutable and thread-safe.
class Difficulty {
 public:
  /// `routing` must outlive this object.
  Difficulty(const config::Routing& routing, const decision::NumberOf& number_of);

  /// Returns the case that applies, or nullptr. An uncertain condition does not match. `values` has
  /// one value per signal number.
  const config::DifficultyCase* find(const config::Decision& decision,
                                     std::span<const decision::Value> values) const;

  /// Sets needed[number] for each unknown signal that could change the result of find().
  void mark_needed(const config::Decision& decision, std::span<const decision::Value> values,
                   std::vector<bool>& needed) const;

 private:
  struct Case {
    const config::DifficultyCase* config;
    uint32_t root;
  };
  std::vector<decision::Value> evaluate(std::span<const decision::Value> values) const;

  decision::Rules rules_;
  std::map<const config::Decision*, std::vector<Case>> cases_;  // only decisions that have cases
};

}  // namespace signalbox::plugins
