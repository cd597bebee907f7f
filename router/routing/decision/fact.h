#pragma once
// What a signal has said of a request, before others are derived from it.

#include <algorithm>
#include <cstdint>

#include "router/config/rule.h"
#include "router/routing/decision/value.h"

namespace signalbox::decision {

struct Fact {
  /// kFailed: it could not be computed this time. kUnavailable: it never can.
  enum class State : uint8_t { kPending, kKnown, kFailed, kUnavailable };
  State state = State::kPending;
  bool matched = false;
  double confidence = 0;
  double score = 0;

  /// What failed stays unknown: no decision may rest on it either way.
  Value value() const {
    if (state == State::kUnavailable) return Value::unavailable();
    return state == State::kKnown ? Value::known(matched, confidence) : Value::unknown();
  }
};

/// Whether a number lies within the bounds.
inline bool holds(const config::Predicate& predicate, double x) {
  return (!predicate.gt || x > *predicate.gt) && (!predicate.gte || x >= *predicate.gte) &&
         (!predicate.lt || x < *predicate.lt) && (!predicate.lte || x <= *predicate.lte);
}

}  // namespace signalbox::decision
