#pragma once
// Shared by the files of the store.

#include "router/contexts/store.h"

namespace signalbox::contexts {

/// The exclusive right to change a context. The constructor waits for it.
class Store::Change {
 public:
  Change(Store& store, Key key) : store_(store), key_(std::move(key)) {
    std::unique_lock lock(store_.mutex_);
    store_.changed_.wait(lock, [this] { return !store_.changing_.contains(key_); });
    store_.changing_.insert(key_);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() {
    {
      const std::lock_guard lock(store_.mutex_);
      store_.changing_.erase(key_);
    }
    store_.changed_.notify_all();
  }

 private:
  Store& store_;
  const Key key_;
};

}  // namespace signalbox::contexts
