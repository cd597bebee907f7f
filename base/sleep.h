#pragma once
// A pause of a thread that a stop ends. It waits for a condition that nobody signals, because only
// a stop may wake the thread.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace signalbox {

/// Blocks for `time`, or until a stop is requested. Returns false if a stop was requested.
inline bool sleep(const std::stop_token& stop, std::chrono::milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any sleeping;
  std::unique_lock lock(mutex);
  return !sleeping.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
}

}  // namespace signalbox
