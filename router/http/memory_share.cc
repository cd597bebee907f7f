// A raise that does not fit does not change the total, even for a moment, so it never causes the
// refusal of another request. A coroutine on another loop is woken by setting its timer to the
// past.

#include "router/http/memory_share.h"

#include <algorithm>
#include <utility>

namespace signalbox::http {

/// The shares of one request. The lock of the bound guards it.
struct MemoryBound::Family {
  uint64_t arrival = 0;
  uint64_t bytes = 0;  // of all its shares
  size_t waits = 0;
};

/// A wait is in the queue until it has ended or its coroutine is destroyed.
struct MemoryBound::Wait {
  Wait(MemoryShare& of, uint64_t wanted, std::shared_ptr<Timer> its_timer)
      : share(of), bytes(wanted), timer(std::move(its_timer)) {
    MemoryBound& bound = *share.bound_;
    Timers ended;
    {
      const std::lock_guard lock(bound.mutex_);
      share.start_family();
      Family& family = *share.family_;
      if (family.arrival == 0) family.arrival = ++bound.arrivals_;
      const auto is_older = [&family](const Wait* each) {
        return each->share.family_->arrival <= family.arrival;
      };
      const auto before = std::find_if(bound.waits_.rbegin(), bound.waits_.rend(), is_older);
      bound.waits_.insert(before.base(), this);
      if (family.waits++ == 0) bound.held_by_waits_ += family.bytes;
      bound.small_waits_ += is_small() ? 1 : 0;
      ended = bound.settle();
    }
    MemoryBound::wake(std::move(ended));
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() { static_cast<void>(end()); }

  /// Returns whether the share has its bytes.
  bool end() {
    MemoryBound& bound = *share.bound_;
    Timers ended;
    {
      const std::lock_guard lock(bound.mutex_);
      if (!is_over) leave();
      ended = bound.settle();
    }
    MemoryBound::wake(std::move(ended));
    return is_granted;
  }

  /// The caller holds the lock.
  void leave() {
    MemoryBound& bound = *share.bound_;
    Family& family = *share.family_;
    if (--family.waits == 0) {
      bound.held_by_waits_ -= family.bytes;
      if (family.bytes == 0) family.arrival = 0;
    }
    bound.small_waits_ -= is_small() ? 1 : 0;
    bound.waits_.erase(std::find(bound.waits_.begin(), bound.waits_.end(), this));
    is_over = true;
  }

  bool is_small() const { return bytes <= kSmallShare; }

  MemoryShare& share;
  const uint64_t bytes;
  const std::shared_ptr<Timer> timer;
  bool is_over = false;
  bool is_granted = false;
};

uint64_t MemoryBound::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

size_t MemoryBound::waiting() const {
  const std::lock_guard lock(mutex_);
  return waits_.size();
}

void MemoryBound::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

uint64_t MemoryBound::most(uint64_t bytes) const {
  return bytes <= kSmallShare ? most_ : most_ - most_ / kReserved;
}

bool MemoryBound::has_room(const MemoryShare& share, uint64_t bytes) const {
  const uint64_t all = most(bytes), more = bytes - share.bytes_;
  return more <= all && held_ <= all - more;
}

bool MemoryBound::is_blocked(const MemoryShare& share, uint64_t bytes) const {
  if (bytes <= kSmallShare || waits_.empty()) return false;
  const uint64_t arrival = share.family_ ? share.family_->arrival : share.arrival_;
  return arrival == 0 || waits_.front()->share.family_->arrival < arrival;
}

bool MemoryBound::never_fits(const MemoryShare& share, uint64_t bytes) const {
  const uint64_t all = most(bytes);
  return bytes > all || share.bytes_beside() > all - bytes;
}

void MemoryBound::resize(MemoryShare& share, uint64_t bytes) {
  const uint64_t more = bytes - share.bytes_;  // wraps modulo 2^64 if the share shrinks
  held_ += more;
  share.bytes_ += more;
  if (!share.family_) {
    share.arrival_ = bytes == 0 ? 0 : share.arrival_ == 0 ? ++arrivals_ : share.arrival_;
    return;
  }
  Family& family = *share.family_;
  family.bytes += more;
  if (family.waits > 0) held_by_waits_ += more;
  if (family.arrival == 0) family.arrival = ++arrivals_;
  if (family.bytes == 0 && family.waits == 0) family.arrival = 0;
}

MemoryBound::Timers MemoryBound::settle() {
  Timers out;
  if (closed_) return out;
  do grant(out);
  while (refuse_one(out));
  return out;
}

void MemoryBound::grant(Timers& ended) {
  bool is_full = false;
  for (auto at = waits_.begin(); at != waits_.end() && !(is_full && small_waits_ == 0);) {
    Wait& each = **at++;
    is_full = is_full || !has_room(each.share, each.bytes);
    if (is_full && !(each.is_small() && has_room(each.share, each.bytes))) continue;
    resize(each.share, each.bytes);
    each.is_granted = true;
    each.leave();
    ended.push_back(each.timer);
  }
}

// Refuses one wait if the oldest wait could not get its memory otherwise. Returns whether it did.
bool MemoryBound::refuse_one(Timers& ended) {
  if (waits_.empty()) return false;
  const Wait& first = *waits_.front();
  const bool is_vain = never_fits(first.share, first.bytes);  // its other shares have grown
  if (!is_vain && held_by_waits_ <= most(first.bytes) - (first.bytes - first.share.bytes_))
    return false;
  Wait& refused = is_vain ? *waits_.front() : *waits_.back();
  refused.leave();
  ended.push_back(refused.timer);
  return true;
}

void MemoryBound::wake(Timers timers) {
  for (std::shared_ptr<Timer>& timer : timers) wake_from_anywhere(std::move(timer));
}

Raise MemoryShare::set(uint64_t bytes) {
  if (bytes <= bytes_ || bound_ == nullptr) {
    lower(bytes);
    if (bound_ == nullptr) bytes_ = bytes;
    return Raise::kDone;
  }
  const std::lock_guard lock(bound_->mutex_);
  if (bound_->has_room(*this, bytes)) {
    bound_->resize(*this, bytes);
    return Raise::kDone;
  }
  ++bound_->refused_;
  return bound_->never_fits(*this, bytes) ? Raise::kNever : Raise::kFull;
}

bool MemoryShare::enter(uint64_t bytes) {
  if (bytes <= bytes_ || bound_ == nullptr) return set(bytes) == Raise::kDone;
  const std::lock_guard lock(bound_->mutex_);
  if (bound_->is_blocked(*this, bytes) || !bound_->has_room(*this, bytes)) return false;
  bound_->resize(*this, bytes);
  return true;
}

bool MemoryShare::never_fits(uint64_t bytes) const {
  if (bound_ == nullptr) return false;
  const std::lock_guard lock(bound_->mutex_);
  return bound_->never_fits(*this, bytes);
}

void MemoryShare::lower(uint64_t bytes) {
  if (bytes >= bytes_) return;
  if (bound_ == nullptr) {
    bytes_ = bytes;
    return;
  }
  MemoryBound::Timers ended;
  {
    const std::lock_guard lock(bound_->mutex_);
    bound_->resize(*this, bytes);
    ended = bound_->settle();
  }
  MemoryBound::wake(std::move(ended));
}

Task<Raise> MemoryShare::wait(uint64_t bytes, std::shared_ptr<Timer> patience,
                              const bool& has_left) {
  if (enter(bytes)) co_return Raise::kDone;
  if (never_fits(bytes)) co_return set(bytes);
  MemoryBound::Wait wait(*this, bytes, std::move(patience));
  co_await wait.timer->async_wait(kAwait);
  if (wait.end()) co_return Raise::kDone;
  if (!has_left) ++bound_->refused_;
  co_return Raise::kFull;
}

Task<Raise> MemoryShare::wait(uint64_t bytes, Interrupt& interrupt,
                              std::chrono::milliseconds patience) {
  const Executor executor = co_await asio::this_coro::executor;
  auto timer = std::make_shared<Timer>(executor, patience);
  bool has_left = false;
  std::function<void()> give_up = [timer, &has_left] {
    has_left = true;
    wake(*timer);
  };
  const Interrupt::Scope scope(interrupt, std::move(give_up));
  const Raise raised = co_await wait(bytes, std::move(timer), has_left);
  co_return raised;
}

MemoryShare MemoryShare::beside() {
  MemoryShare out;
  out.bound_ = bound_;
  if (bound_ == nullptr) return out;
  const std::lock_guard lock(bound_->mutex_);
  start_family();
  out.family_ = family_;
  return out;
}

// The caller holds the lock.
void MemoryShare::start_family() {
  if (family_) return;
  family_ = std::make_shared<MemoryBound::Family>();
  family_->arrival = arrival_;
  family_->bytes = bytes_;
}

// The caller holds the lock.
uint64_t MemoryShare::bytes_beside() const {
  return family_ ? family_->bytes - bytes_ : 0;
}

Error MemoryShare::refusal(Raise raise) const {
  if (raise == Raise::kNever && bound_ != nullptr) {
    return {Code::kTooLarge,
            fmt::format("the request takes more memory than {} bytes, which is what the bodies of "
                        "all requests may take together (http.bodies_bytes_max)",
                        bound_->most_)};
  }
  return {Code::kOverloaded, "the requests in flight use all the memory that their bodies may use"};
}

void MemoryShare::swap(MemoryShare& other) noexcept {
  std::swap(bound_, other.bound_);
  std::swap(bytes_, other.bytes_);
  std::swap(arrival_, other.arrival_);
  std::swap(family_, other.family_);
}

}  // namespace signalbox::http
