#pragma once
// Threads for work that takes milliseconds, such as running a model: an event loop that did it
// would make every other request on it wait.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "router/http/interrupt.h"
#include "router/http/io.h"

namespace signalbox::gateway {

/// Thread-safe. Destroyed after the loops have stopped and before they are destroyed.
class ThreadPool {
 public:
  /// `threads` 0: one a processor. At most `queue_max` pieces of work wait.
  ThreadPool(uint32_t threads, uint32_t queue_max);
  /// Waits for work in progress; what is queued is dropped.
  ~ThreadPool();

  /// False, without waiting, when the queue is full.
  bool submit(std::function<void()> work);

  /// Runs `work` on a thread of the pool while the calling coroutine waits; yields false when the
  /// queue is full and the work has not run.
  http::Task<bool> run(std::function<void()> work);

  /// Pieces of work that no thread has begun.
  size_t waiting() const;

 private:
  void loop();

  const size_t queue_max_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Runs `work` on the pool. When the client goes or its time is up meanwhile, `given_up` is told
/// so: for the work to end early, which is waited for all the same. What has not begun by then is
/// not done any more. False as ThreadPool::run().
http::Task<bool> run_within(ThreadPool& pool, http::Interrupt& interrupt,
                            std::stop_source& given_up, std::function<void()> work);

}  // namespace signalbox::gateway
