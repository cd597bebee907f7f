#pragma once
// Threads for work that takes milliseconds, such as running a model. On an event loop it would
// delay every other request of that loop.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "router/http/fair_queue.h"
#include "router/http/interrupt.h"
#include "router/http/io.h"

namespace signalbox::http {

/// Thread-safe. Must be destroyed after the event loops have stopped and before they are destroyed.
class ThreadPool {
 public:
  /// kBackground threads give way to the event loops.
  enum class Priority : uint8_t { kNormal, kBackground };

  /// If `threads` is 0, starts one thread per processor. At most `queue_max` pieces of work wait,
  /// in the order of FairQueue.
  ThreadPool(uint32_t threads, uint32_t queue_max, Priority priority = Priority::kNormal);
  /// Waits for work in progress and drops queued work.
  ~ThreadPool();

  /// Returns false without waiting if the queue is full.
  bool submit(std::function<void()> work, Share share = {});

  /// Runs `work` on a thread of the pool while the calling coroutine waits. Returns false if the
  /// queue is full and the work has not run. An exception of the work is thrown here.
  Task<bool> run(std::function<void()> work, Share share = {});

  /// The number of pieces of work that wait.
  size_t waiting() const;

 private:
  void loop();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  FairQueue queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Runs `work` on the pool. If the client goes or its time is up meanwhile, `given_up` is stopped,
/// so that the work can end early; the call still waits for it. Work that has not begun by then is
/// skipped. Returns false like ThreadPool::run().
Task<bool> run_within(ThreadPool& pool, Interrupt& interrupt, std::stop_source& given_up,
                      std::function<void()> work, Share share = {});

}  // namespace signalbox::http
