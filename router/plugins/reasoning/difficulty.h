#pragma once
// How hard a request is, as a decision's `difficulty` says it: the first case whose condition
// matches.

#include <map>
#include <span>
#include <vector>

#include "router/config/routing.h"
#include "router/routing/decision/rules.h"

namespace signalbox::plugins {

/// The conditions of all decisions, compiled. Immutable and thread-safe.
class Difficulty {
 public:
  /// `routing` outlives the result.
  Difficulty(const config::Routing& routing, const decision::NumberOf& number_of);

  /// The case that holds, nullptr for none. A condition that is not known for sure does not match.
  /// `values` holds a value for each signal number.
  const config::DifficultyCase* find(const config::Decision& decision,
                                     std::span<const decision::Value> values) const;

  /// Sets needed[number] for what is unknown and could change the answer of find().
  void mark_needed(const config::Decision& decision, std::span<const decision::Value> values,
                   std::vector<bool>& needed) const;

 private:
  struct Case {
    const config::DifficultyCase* config;
    uint32_t root;
  };
  std::vector<decision::Value> evaluate(std::span<const decision::Value> values) const;

  decision::Rules rules_;
  std::map<const config::Decision*, std::vector<Case>> cases_;  // decisions without any are absent
};

}  // namespace signalbox::plugins
