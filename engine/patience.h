#pragma once
// How long somebody who asks is willing to wait.

#include <chrono>
#include <stop_token>

namespace signalbox::engine {

/// Neither stops a pass that has begun.
struct Patience {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};
};

}  // namespace signalbox::engine
