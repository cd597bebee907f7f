#pragma once
// Of requests that are the same and come at the same time, one is answered by the model; the others
// wait for what it gets.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "router/http/interrupt.h"
#include "router/http/io.h"

namespace signalbox::gateway {

/// Thread-safe. Waiters may be on other loops than the one they wait for.
class SingleFlight {
 public:
  /// The right to ask, until it is gone. Empty for those who have waited.
  class Lead {
   public:
    Lead() = default;
    Lead(SingleFlight* flights, std::string id) : flights_(flights), id_(std::move(id)) {}
    Lead(Lead&& other) noexcept
        : flights_(std::exchange(other.flights_, nullptr)), id_(std::move(other.id_)) {}
    Lead& operator=(Lead&& other) noexcept;
    ~Lead() { end(); }
    explicit operator bool() const { return flights_ != nullptr; }
    /// Those who wait go on.
    void end();

   private:
    SingleFlight* flights_ = nullptr;
    std::string id_;
  };

  /// The lead, at once, if nobody has it; otherwise nothing, after whoever has it has ended, the
  /// patience has passed, or the request was interrupted.
  http::Task<Lead> enter(std::string id, http::Interrupt& interrupt,
                         std::chrono::milliseconds patience);

  /// Before the loops are destroyed, when they have stopped: nobody is told any more.
  void close();

 private:
  using Waiter = std::shared_ptr<http::Timer>;  // shared with the coroutine that waits for it
  void end(const std::string& id);

  std::mutex mutex_;
  std::map<std::string, std::vector<Waiter>> flights_;
  bool closed_ = false;
};

}  // namespace signalbox::gateway
