#pragma once
// How long a caller is willing to wait: a deadline and a stop token.

#include <chrono>
#include <stop_token>

namespace signalbox::engine {

/// A pass that has begun is not interrupted by either.
struct Patience {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};
};

}  // namespace signalbox::engine
