// A queue, a lock and threads.

#include "router/http/thread_pool.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

namespace signalbox::http {
namespace {

/// Starts the work of ThreadPool::run; a named type because a lambda with captures inside co_await
/// is not safe with g++ 12.
struct Start {
  template <class Handler>
  void operator()(Handler&& handler, ThreadPool* compute, std::function<void()> work) const {
    auto executor = asio::get_associated_executor(handler);
    // std::function copies its target, but the handler of a coroutine can only be moved.
    auto resume = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    auto job = [work = std::move(work), resume, executor] {
      work();
      asio::post(executor, [resume] { std::move (*resume)(true); });
    };
    if (compute->submit(std::move(job))) return;
    asio::post(executor, [resume] { std::move (*resume)(false); });
  }
};

}  // namespace

ThreadPool::ThreadPool(uint32_t threads, uint32_t queue_max) : queue_max_(queue_max) {
  const uint32_t count = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  for (uint32_t i = 0; i < count; ++i) {
    threads_.emplace_back([this] { loop(); });
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

bool ThreadPool::submit(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= queue_max_) return false;
    queue_.push_back(std::move(work));
  }
  wake_.notify_one();
  return true;
}

size_t ThreadPool::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

Task<bool> ThreadPool::run(std::function<void()> work) {
  return asio::async_initiate<const asio::use_awaitable_t<Executor>, void(bool)>(
      Start{}, asio::use_awaitable_t<Executor>{}, this, std::move(work));
}

Task<bool> run_within(ThreadPool& pool, Interrupt& interrupt, std::stop_source& given_up,
                      std::function<void()> work) {
  std::function<void()> give_up = [&given_up] { given_up.request_stop(); };
  const Interrupt::Scope scope(interrupt, std::move(give_up));
  std::function<void()> wanted = [&given_up, &work] {
    if (!given_up.stop_requested()) work();
  };
  const bool ran = co_await pool.run(std::move(wanted));
  co_return ran;
}

void ThreadPool::loop() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace signalbox::http
