#pragma once
// The memory that requests may hold together, and the share of it that each one has.

#include <atomic>
#include <cstdint>
#include <string_view>

namespace signalbox::http {

/// Why a request is refused that would take more than is left.
inline constexpr std::string_view kMemoryIsFull =
    "the requests in flight use all the memory that their bodies may use";

/// Thread-safe. Outlives its shares.
class MemoryBound {
 public:
  /// `most` is read at each raise and outlives the bound.
  explicit MemoryBound(const uint64_t& most) : most_(most) {}
  uint64_t held() const { return held_.load(std::memory_order_relaxed); }
  /// How many raises did not fit.
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  friend class MemoryShare;
  bool take(uint64_t bytes);
  void give(uint64_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }

  const uint64_t& most_;
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> refused_{0};
};

/// What one holder has reserved of a bound; given back at its end. Each stage of a request raises
/// it before it takes memory, and lowers it when it knows what it keeps. One thread at a time uses
/// a share.
class MemoryShare {
 public:
  MemoryShare() = default;  // of no bound: everything fits
  explicit MemoryShare(MemoryBound& bound) : bound_(&bound) {}
  MemoryShare(MemoryShare&& other) noexcept { swap(other); }
  MemoryShare& operator=(MemoryShare&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MemoryShare() { (void)set(0); }

  /// Changes the share to so many bytes. Returns false, and changes nothing, if they do not fit;
  /// fewer than before always fit.
  [[nodiscard]] bool set(uint64_t bytes);
  [[nodiscard]] bool add(uint64_t bytes) { return set(bytes_ + bytes); }
  void lower(uint64_t bytes) { (void)set(bytes < bytes_ ? bytes : bytes_); }
  uint64_t bytes() const { return bytes_; }
  /// Returns an empty share of the same bound, for memory with a life of its own.
  MemoryShare beside() const;

 private:
  void swap(MemoryShare& other) noexcept;

  MemoryBound* bound_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace signalbox::http
