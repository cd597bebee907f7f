// A fair queue, a lock and threads.

#include "router/http/thread_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "base/log.h"

namespace signalbox::http {
namespace {

constexpr int kBackgroundNice = 5;

/// Starts the work of ThreadPool::run; a named type because a lambda with captures inside co_await
/// is not safe with g++ 12.
struct Start {
  template <class Handler>
  void operator()(Handler&& handler, ThreadPool* pool, std::function<void()> work,
                  Share share) const {
    auto executor = asio::get_associated_executor(handler);
    // std::function copies its target, but the handler of a coroutine can only be moved.
    auto resume = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    auto job = [work = std::move(work), resume, executor] {
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      asio::post(executor, [resume, failure] { std::move (*resume)(failure, true); });
    };
    if (pool->submit(std::move(job), share)) return;
    asio::post(executor, [resume] { std::move (*resume)(std::exception_ptr(), false); });
  }
};

uint32_t threads_of(uint32_t configured) {
  return configured != 0 ? configured : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads, uint32_t queue_max, Priority priority)
    : queue_(threads_of(threads), queue_max) {
  for (uint32_t i = 0; i < threads_of(threads); ++i) {
    threads_.emplace_back([this, priority] {
      // On Linux this concerns the calling thread only.
      if (priority == Priority::kBackground)
        static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kBackgroundNice));
      loop();
    });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
}

bool ThreadPool::submit(std::function<void()> work, Share share) {
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.push(std::move(work), share)) return false;
  }
  wake_.notify_one();
  return true;
}

size_t ThreadPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.waiting();
}

Task<bool> ThreadPool::run(std::function<void()> work, Share share) {
  return asio::async_initiate<const asio::use_awaitable_t<Executor>,
                              void(std::exception_ptr, bool)>(
      Start{}, asio::use_awaitable_t<Executor>{}, this, std::move(work), share);
}

Task<bool> run_within(ThreadPool& pool, Interrupt& interrupt, std::stop_source& given_up,
                      std::function<void()> work, Share share) {
  std::function<void()> give_up = [&given_up] { given_up.request_stop(); };
  const Interrupt::Scope scope(interrupt, std::move(give_up));
  std::function<void()> wanted = [&given_up, &work] {
    if (!given_up.stop_requested()) work();
  };
  const bool ran = co_await pool.run(std::move(wanted), share);
  co_return ran;
}

void ThreadPool::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<FairQueue::Taken> next;
    wake_.wait(lock, [&] { return stopping_ || (next = queue_.take()).has_value(); });
    if (stopping_) return;
    lock.unlock();
    try {
      next->work();
    } catch (const std::exception& e) {
      log::error("http", "work on a thread pool failed: {}", e.what());
    }
    next->work = {};  // frees its captures without the lock
    lock.lock();
    queue_.finish(next->share);
    if (next->share.is_long && queue_.waiting() > 0) wake_.notify_one();
  }
}

}  // namespace signalbox::http
