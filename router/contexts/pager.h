#pragma once
// The threads of a store. One moves idle contexts out of memory; the other applies the changes of
// other routers.

#include <chrono>
#include <thread>

#include "router/contexts/store.h"

namespace signalbox::contexts {

class Pager {
 public:
  /// Calls Store::page() every `interval`. The store must outlive it.
  Pager(Store& store, std::chrono::milliseconds interval);

 private:
  std::jthread thread_;  // joined by its destructor
};

class Follower {
 public:
  /// The store must outlive it and must have a shared level.
  explicit Follower(Store& store);

 private:
  std::jthread thread_;
};

}  // namespace signalbox::contexts
