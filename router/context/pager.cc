// It sleeps on a condition that nobody signals, since a stop has to wake it.

#include "router/context/pager.h"

#include <condition_variable>
#include <ctime>
#include <mutex>

namespace signalbox::context {

Pager::Pager(Store& store, std::chrono::milliseconds interval)
    : thread_([&store, interval](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any sleep;
        std::unique_lock lock(mutex);
        while (!sleep.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); }))
          store.page(static_cast<int64_t>(std::time(nullptr)));
      }) {}

}  // namespace signalbox::context
