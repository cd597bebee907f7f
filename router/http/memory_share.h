#pragma once
// The memory that requests may hold together, and the share of it that each one has.

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "router/http/interrupt.h"
#include "router/http/io.h"

namespace signalbox::http {

class MemoryShare;

/// The result of a raise. kNever: it exceeds the whole bound, so trying again would not help.
enum class Raise : uint8_t { kDone, kFull, kNever };

/// The largest small share, in bytes. Larger shares leave a part of the bound (1 / kReserved) to
/// the small ones, so small shares need not wait behind them.
inline constexpr uint64_t kSmallShare = 64 << 10;
inline constexpr uint64_t kReserved = 64;

/// Thread-safe. Outlives its shares.
///
/// A raise that waits keeps the bytes that its share has. Shares are ordered by the time when they
/// first took memory. Bytes that are given back go to the oldest share that waits, and a younger
/// large share does not overtake it. If the waiting shares together hold so much that the oldest
/// would never get its room, the youngest of them are refused. So the oldest always gets on,
/// however many wait. All shares of one request have one place in the order; if one of them waits,
/// the bytes of the others count as its own.
class MemoryBound {
 public:
  /// `most` is read at each raise and outlives the bound.
  explicit MemoryBound(const uint64_t& most) : most_(most) {}
  uint64_t held() const;
  /// The number of raises that wait.
  size_t waiting() const;
  /// The number of raises that were refused, without those whose client or request ended first.
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  /// Call it after the loops have stopped and before they are destroyed. No waiter is woken
  /// afterwards.
  void close();

 private:
  friend class MemoryShare;
  struct Wait;
  struct Family;
  using Timers = std::vector<std::shared_ptr<Timer>>;  // of waits that have ended

  uint64_t most(uint64_t bytes) const;
  bool has_room(const MemoryShare& share, uint64_t bytes) const;
  bool is_blocked(const MemoryShare& share, uint64_t bytes) const;
  bool never_fits(const MemoryShare& share, uint64_t bytes) const;
  void resize(MemoryShare& share, uint64_t bytes);
  Timers settle();
  void grant(Timers& ended);
  bool refuse_one(Timers& ended);
  static void wake(Timers timers);

  const uint64_t& most_;
  std::atomic<uint64_t> refused_{0};
  mutable std::mutex mutex_;  // guards the rest, and the shares while they wait
  uint64_t held_ = 0;
  uint64_t held_by_waits_ = 0;
  uint64_t arrivals_ = 0;
  std::list<Wait*> waits_;  // the oldest share first
  size_t small_waits_ = 0;
  bool closed_ = false;
};

/// The part of a bound that one holder has reserved; given back at its end. Each stage of a request
/// raises it before it takes memory, and lowers it when it knows what it keeps. One thread at a
/// time uses a share.
class MemoryShare {
 public:
  MemoryShare() = default;  // of no bound: everything fits
  explicit MemoryShare(MemoryBound& bound) : bound_(&bound) {}
  MemoryShare(MemoryShare&& other) noexcept { swap(other); }
  MemoryShare& operator=(MemoryShare&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MemoryShare() { lower(0); }

  /// Sets the share to `bytes` without waiting. Changes nothing if that does not fit; a smaller
  /// share always fits.
  [[nodiscard]] Raise set(uint64_t bytes);
  [[nodiscard]] Raise add(uint64_t bytes) { return set(bytes_ + bytes); }
  void lower(uint64_t bytes);
  /// Like set(), but does not overtake an older share that waits. Returns false if nothing was
  /// changed; the caller then has to wait().
  [[nodiscard]] bool enter(uint64_t bytes);
  /// Returns true if the bound is too small for that many bytes, so that waiting is useless.
  bool never_fits(uint64_t bytes) const;
  /// Waits until the bytes fit, the share is refused, or `patience` expires. Nothing else may use
  /// the share meanwhile. A caller that wakes the timer because its client has left sets `has_left`
  /// before, so that this does not count as a refusal.
  Task<Raise> wait(uint64_t bytes, std::shared_ptr<Timer> patience, const bool& has_left);
  /// The same, but also ends when the interrupt is raised.
  Task<Raise> wait(uint64_t bytes, Interrupt& interrupt, std::chrono::milliseconds patience);

  uint64_t bytes() const { return bytes_; }
  /// Returns an empty share of the same request, for memory with a lifetime of its own. Both shares
  /// may wait at once.
  MemoryShare beside();
  /// The error for a client whose raise was not done: kOverloaded or kTooLarge.
  Error refusal(Raise raise) const;

 private:
  friend class MemoryBound;
  void swap(MemoryShare& other) noexcept;
  uint64_t bytes_beside() const;
  void start_family();

  MemoryBound* bound_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t arrival_ = 0;  // 0: it has never taken memory; unused in a family
  std::shared_ptr<MemoryBound::Family> family_ = nullptr;  // null: it is alone and has never waited
};

}  // namespace signalbox::http
