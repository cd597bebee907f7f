// A raise that does not fit leaves no trace in the total, so that it never refuses another request.
// A coroutine on another loop is woken by setting its timer to the past.

#include "router/http/memory_share.h"

#include <algorithm>
#include <utility>

namespace signalbox::http {

/// Stays in the queue until it ends or its coroutine does.
struct MemoryBound::Wait {
  Wait(MemoryShare& of, uint64_t wanted, std::shared_ptr<Timer> its_timer)
      : share(of), bytes(wanted), timer(std::move(its_timer)) {
    MemoryBound& bound = *share.bound_;
    Timers ended;
    {
      const std::lock_guard lock(bound.mutex_);
      if (share.arrival_ == 0) share.arrival_ = ++bound.arrivals_;
      const auto is_older = [this](const Wait* each) {
        return each->share.arrival_ < share.arrival_;
      };
      const auto before = std::find_if(bound.waits_.rbegin(), bound.waits_.rend(), is_older);
      bound.waits_.insert(before.base(), this);
      bound.held_by_waits_ += share.bytes_;
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
    bound.held_by_waits_ -= share.bytes_;
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
  return share.arrival_ == 0 || waits_.front()->share.arrival_ < share.arrival_;
}

void MemoryBound::take(MemoryShare& share, uint64_t bytes) {
  if (share.arrival_ == 0) share.arrival_ = ++arrivals_;
  held_ += bytes - share.bytes_;
  share.bytes_ = bytes;
}

MemoryBound::Timers MemoryBound::settle() {
  Timers out;
  if (closed_) return out;
  const auto end = [&out](Wait& wait) {
    out.push_back(wait.timer);
    wait.leave();
  };
  bool is_full = false;
  for (auto at = waits_.begin(); at != waits_.end() && !(is_full && small_waits_ == 0);) {
    Wait& each = **at++;
    is_full = is_full || !has_room(each.share, each.bytes);
    if (is_full && !(each.is_small() && has_room(each.share, each.bytes))) continue;
    end(each);
    take(each.share, each.bytes);
    each.is_granted = true;
  }
  while (waits_.size() > 1) {
    const Wait& first = *waits_.front();
    const uint64_t more = first.bytes - first.share.bytes_;
    if (held_by_waits_ <= most(first.bytes) - more) break;
    end(*waits_.back());
  }
  return out;
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
    bound_->take(*this, bytes);
    return Raise::kDone;
  }
  ++bound_->refused_;
  return bytes > bound_->most(bytes) ? Raise::kNever : Raise::kFull;
}

bool MemoryShare::enter(uint64_t bytes) {
  if (bytes <= bytes_ || bound_ == nullptr) return set(bytes) == Raise::kDone;
  const std::lock_guard lock(bound_->mutex_);
  if (bound_->is_blocked(*this, bytes) || !bound_->has_room(*this, bytes)) return false;
  bound_->take(*this, bytes);
  return true;
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
    bound_->held_ -= bytes_ - bytes;
    bytes_ = bytes;
    if (bytes == 0) arrival_ = 0;
    ended = bound_->settle();
  }
  MemoryBound::wake(std::move(ended));
}

Task<Raise> MemoryShare::wait(uint64_t bytes, std::shared_ptr<Timer> patience) {
  if (enter(bytes)) co_return Raise::kDone;
  if (bytes > bound_->most(bytes)) co_return set(bytes);
  MemoryBound::Wait wait(*this, bytes, std::move(patience));
  co_await wait.timer->async_wait(kAwait);
  if (wait.end()) co_return Raise::kDone;
  ++bound_->refused_;
  co_return Raise::kFull;
}

Task<Raise> MemoryShare::wait(uint64_t bytes, Interrupt& interrupt,
                              std::chrono::milliseconds patience) {
  const Executor executor = co_await asio::this_coro::executor;
  auto timer = std::make_shared<Timer>(executor, patience);
  std::function<void()> give_up = [timer] { wake(*timer); };
  const Interrupt::Scope scope(interrupt, std::move(give_up));
  const Raise raised = co_await wait(bytes, std::move(timer));
  co_return raised;
}

MemoryShare MemoryShare::beside() const {
  MemoryShare out;
  out.bound_ = bound_;
  return out;
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
}

}  // namespace signalbox::http
