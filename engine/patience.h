#pragma once
// The time that a caller is willing to wait, and the client for whom it waits.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/error.h"

namespace signalbox::engine {

/// A pass that has begun is not interrupted by either.
struct Patience {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};
  uint64_t client = 0;   // equal for the requests of one client; clients take turns
  bool is_long = false;  // one of many texts: it does not run in one pass with short requests
};

/// Returns the error of a request that is cancelled or too late.
inline std::optional<Error> expiry_error(const Patience& patience,
                                         std::chrono::steady_clock::time_point now) {
  if (patience.stop.stop_requested()) return Error{Code::kCancelled, "the request was cancelled"};
  if (patience.deadline <= now) {
    return Error{Code::kDeadline, "the deadline passed before the request could run"};
  }
  return {};
}

}  // namespace signalbox::engine
