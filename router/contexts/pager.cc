// The threads sleep between their calls until a stop wakes them.

#include "router/contexts/pager.h"

#include <ctime>

#include "base/sleep.h"

namespace signalbox::contexts {
namespace {

using std::chrono::milliseconds;

/// The longest time that a stop has to wait.
constexpr milliseconds kFollowWait{500};
/// The pause before a shared level that does not respond is called again.
constexpr milliseconds kRetryPause{500};

int64_t now() {
  return static_cast<int64_t>(std::time(nullptr));
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
