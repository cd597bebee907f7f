#pragma once
// The threads of a store: one moves idle contexts out of memory, one takes up what other routers
// have done.

#include <chrono>
#include <thread>

#include "router/contexts/store.h"

namespace signalbox::contexts {

class Pager {
 public:
  /// Looks every `interval`. The store outlives it.
  Pager(Store& store, std::chrono::milliseconds interval);

 private:
  std::jthread thread_;  // stopped and waited for
};

class Follower {
 public:
  /// The store, which has a shared level, outlives it.
  explicit Follower(Store& store);

 private:
  std::jthread thread_;
};

}  // namespace signalbox::contexts
