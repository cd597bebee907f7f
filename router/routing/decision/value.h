#pragma once
// The known truth of a signal or a condition: Kleene's three values as intervals.

#include <cstdint>

namespace signalbox::decision {

/// Ordered: an AND is the minimum of its children, an OR the maximum, and NOT reverses the order.
/// kUnavailable is the truth of a signal that cannot be computed at all: it does not match, and
/// neither does its NOT.
enum class Truth : uint8_t { kNo, kUnavailable, kYes };

/// Bounds on the truth of a node, and on its confidence if it is kYes.
struct Value {
  Truth low = Truth::kNo;
  Truth high = Truth::kYes;
  bool by_error = false;  // a match, because the signal failed
  double confidence_low = 0;
  double confidence_high = 1;

  static Value unknown() { return {}; }
  static Value unavailable() { return {Truth::kUnavailable, Truth::kUnavailable, false, 0, 0}; }
  static Value known(bool matched, double confidence) {
    if (!matched) return {Truth::kNo, Truth::kNo, false, 0, 0};
    return {Truth::kYes, Truth::kYes, false, confidence, confidence};
  }

  bool is_match() const { return low == Truth::kYes; }
  bool can_match() const { return high == Truth::kYes; }
  /// True if no unknown signal can change it.
  bool is_settled() const {
    return low == high && (low != Truth::kYes || confidence_low == confidence_high);
  }
};

inline constexpr uint32_t kNoSignal = UINT32_MAX;

}  // namespace signalbox::decision
