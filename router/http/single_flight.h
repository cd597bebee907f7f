#pragma once
// Collapses equal requests that come at the same time: one goes to the model, and the others wait
// for its answer.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "router/http/interrupt.h"
#include "router/http/io.h"

namespace signalbox::http {

/// Thread-safe. Waiters and the leader may run on different loops.
class SingleFlight {
 public:
  /// The right to call the model, held until destruction. Empty for requests that have waited.
  class Lead {
   public:
    Lead() = default;
    Lead(SingleFlight* flights, std::string id) : flights_(flights), id_(std::move(id)) {}
    Lead(Lead&& other) noexcept
        : flights_(std::exchange(other.flights_, nullptr)), id_(std::move(other.id_)) {}
    Lead& operator=(Lead&& other) noexcept;
    ~Lead() { end(); }
    explicit operator bool() const { return flights_ != nullptr; }
    /// Wakes the waiters.
    void end();

   private:
    SingleFlight* flights_ = nullptr;
    std::string id_;
  };

  /// Returns the lead at once if nobody has it. Otherwise waits until the leader has ended, the
  /// patience has passed or the request is interrupted, and returns an empty one.
  Task<Lead> enter(std::string id, Interrupt& interrupt, std::chrono::milliseconds patience);

  /// Call it after the loops have stopped and before they are destroyed. No waiter is woken
  /// afterwards.
  void close();

 private:
  using Waiter = std::shared_ptr<Timer>;  // shared with the coroutine that waits for it
  void end(const std::string& id);

  std::mutex mutex_;
  std::map<std::string, std::vector<Waiter>> flights_;
  bool closed_ = false;
};

}  // namespace signalbox::http
