#pragma once
// The thread that moves idle contexts out of memory.

#include <chrono>
#include <thread>

#include "router/context/store.h"

namespace signalbox::context {

class Pager {
 public:
  /// Looks every `interval`. The store outlives it.
  Pager(Store& store, std::chrono::milliseconds interval);

 private:
  std::jthread thread_;  // stopped and waited for
};

}  // namespace signalbox::context
