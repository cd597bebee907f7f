#pragma once
// Threads of one forward pass, and pieces of work side by side: oneTBB, or none.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace signalbox::engine {

/// A fixed number of threads that work through ranges together. One call at a time; for each of
/// several passes at once a Workers of its own, over the same threads of the process.
class Workers {
 public:
  /// threads >= 1, the caller included.
  explicit Workers(int32_t threads);
  ~Workers();
  Workers(const Workers&) = delete;

  int32_t threads() const { return threads_; }

  /// Calls step(i, slot) for every i of [0, count), in any order, and waits. No two calls at the
  /// same time have the same slot; 0 <= slot < threads().
  void for_each(int32_t count, const std::function<void(int32_t i, int32_t slot)>& step);

 private:
  struct Impl;
  const int32_t threads_;
  std::unique_ptr<Impl> impl_;  // none with one thread
};

/// Calls every step and waits for all. They run at the same time as far as the process has threads
/// to spare, the caller's own among them: a step may wait for something outside, not for another.
void run_together(std::span<const std::function<void()>> steps);

}  // namespace signalbox::engine
