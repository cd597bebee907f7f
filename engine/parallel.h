#pragma once
// The threads of one forward pass: oneTBB, or none.

#include <cstdint>
#include <functional>
#include <memory>

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

}  // namespace signalbox::engine
