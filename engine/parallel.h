#pragma once
// Threads for one forward pass, and parallel execution of independent steps, with oneTBB.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace signalbox::engine {

/// A fixed number of threads that process ranges together. Only one call at a time. Each of several
/// concurrent passes needs its own Workers, which share the process's threads.
class Workers {
 public:
  /// Requires threads >= 1; this includes the caller.
  explicit Workers(int32_t threads);
  ~Workers();
  Workers(const Workers&) = delete;

  int32_t threads() const { return threads_; }

  /// Calls step(i, slot) for every i in [0, count), in any order, and waits. Concurrent calls never
  /// have the same slot; 0 <= slot < threads().
  void for_each(int32_t count, const std::function<void(int32_t i, int32_t slot)>& step);

 private:
  struct Impl;
  const int32_t threads_;
  std::unique_ptr<Impl> impl_;  // null with one thread
};

/// Calls every step and waits for all. Steps run concurrently as far as the process has free
/// threads, including the caller's. A step may wait for external events but not for another step.
void run_together(std::span<const std::function<void()>> steps);

}  // namespace signalbox::engine
