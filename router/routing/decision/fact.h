#pragma once
// The result of one signal for a request, before other values are derived from it.

#include <algorithm>
#include <cstdint>

#include "router/config/signals.h"
#include "router/routing/decision/value.h"

namespace signalbox::decision {

struct Fact {
  /// kFailed: it could not be computed this time. kUnavailable: it can never be computed.
  enum class State : uint8_t { kPending, kKnown, kFailed, kUnavailable };
  State state = State::kPending;
  bool matched = false;
  double confidence = 0;
  double score = 0;

  /// A failed signal stays unknown, so that no decision rests on it either way.
  Value value() const {
    if (state == State::kUnavailable) return Value::unavailable();
    return state == State::kKnown ? Value::known(matched, confidence) : Value::unknown();
  }
};

/// True if the number lies within the bounds.
inline bool holds(const config::Predicate& predicate, double x) {
  return (!predicate.gt || x > *predicate.gt) && (!predicate.gte || x >= *predicate.gte) &&
         (!predicate.lt || x < *predicate.lt) && (!predicate.lte || x <= *predicate.lte);
}

}  // namespace signalbox::decision
