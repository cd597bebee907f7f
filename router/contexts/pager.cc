// They sleep on a condition that nobody signals, since a stop has to wake them.

#include "router/contexts/pager.h"

#include <condition_variable>
#include <ctime>
#include <mutex>

namespace signalbox::contexts {
namespace {

using std::chrono::milliseconds;

/// A stop waits for so long.
constexpr milliseconds kFollowWait{500};
/// Before a shared level that does not answer is asked again.
constexpr milliseconds kRetryPause{500};

int64_t now() {
  return static_cast<int64_t>(std::time(nullptr));
}

/// False once it is to stop.
bool sleep(const std::stop_token& stop, milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any sleeping;
  std::unique_lock lock(mutex);
  return !sleeping.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
}

}  // namespace

Pager::Pager(Store& store, milliseconds interval)
    : thread_([&store, interval](const std::stop_token& stop) {
        while (sleep(stop, interval)) store.page(now());
      }) {}

Follower::Follower(Store& store)
    : thread_([&store](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          if (!store.follow(kFollowWait, now()) && !sleep(stop, kRetryPause)) return;
        }
      }) {}

}  // namespace signalbox::contexts
