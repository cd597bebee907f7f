#pragma once
// The time that a caller is willing to wait, and the client for whom it waits.

#include <chrono>
#include <cstdint>
#include <stop_token>

namespace signalbox::engine {

/// A pass that has begun is not interrupted by either.
struct Patience {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};
  uint64_t client = 0;   // equal for the requests of one client; clients take turns
  bool is_long = false;  // one of many texts: it does not run in one pass with short requests
};

}  // namespace signalbox::engine
