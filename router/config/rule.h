#pragma once
// A decision's `rules` as structs: conditions on signals, combined by AND, OR and NOT.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace signalbox::config {

/// Bounds of a number; nullopt: no bound.
struct Predicate {
  std::optional<double> gt, gte, lt, lte;
  bool operator==(const Predicate&) const = default;
};

/// A node of the rules as written: a leaf has `type` and `name`, others have `op` and `conditions`.
struct Rule {
  enum class Operator { kLeaf, kAnd, kOr, kNot };
  enum class OnError { kDefault, kMatch, kNoMatch };
  Operator op = Operator::kAnd;
  std::string type;
  std::string name;
  std::vector<Rule> conditions;
  uint32_t line = 0;
  std::string label = {};                   // class that must match, for type classifier
  std::optional<Predicate> predicate = {};  // bounds of the signal's score
  OnError on_error = OnError::kDefault;
};

}  // namespace signalbox::config
