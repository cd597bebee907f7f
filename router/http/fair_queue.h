#pragma once
// Waiting work in a fair order: clients take turns, short work comes first, and long work never
// takes all the threads. Without threads or a clock, so that its tests are stories.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

namespace signalbox::http {

/// The client that a piece of work belongs to, and its size.
struct Share {
  uint64_t client = 0;  // equal for the requests of one client
  bool is_long = false;
};

/// Not thread-safe.
class FairQueue {
 public:
  using Work = std::function<void()>;
  struct Taken {
    Work work;
    Share share;
  };

  /// `threads` pieces of work may run at a time, and `waiting_max` may wait.
  FairQueue(size_t threads, size_t waiting_max);

  /// Returns false if the queue is full, or if the client already has at least as many waiting
  /// pieces as there are free places. So one client never fills the queue alone.
  bool push(Work work, Share share);
  /// Takes the work to run next, or nothing if none may run now. Short work comes first, unless
  /// long work waits and none is running. Long work runs on at most half of the threads, and the
  /// long work of one client on at most half of those.
  std::optional<Taken> take();
  /// Call it when the work has run.
  void finish(Share share);

  size_t waiting() const { return waiting_; }

 private:
  // The waiting work of one class. Clients take turns.
  struct Lane {
    std::deque<uint64_t> turns;  // clients with waiting work
    std::unordered_map<uint64_t, std::deque<Work>> work;
  };

  bool may_run(uint64_t client) const;
  std::optional<Taken> take_short();
  std::optional<Taken> take_long();
  Taken take_of(Lane& lane, std::deque<uint64_t>::iterator turn, bool is_long);

  const size_t waiting_max_;
  const size_t long_max_;         // long pieces that run at a time
  const size_t client_long_max_;  // long pieces of one client that run at a time
  size_t waiting_ = 0;
  Lane short_, long_;
  size_t long_running_ = 0;
  std::unordered_map<uint64_t, size_t> running_of_;  // (clients): long pieces
};

}  // namespace signalbox::http
