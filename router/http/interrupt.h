#pragma once
// Interrupts a request that waits, because its client has gone or its time is up. The waiting code
// registers an action that breaks the wait. Asio's cancellation slots were rejected because they
// throw through every coroutine on the way.

#include <fmt/core.h>

#include <functional>
#include <string>
#include <utility>

#include "base/error.h"

namespace signalbox::http {

/// Belongs to one request and its loop's thread. It is raised at most once; the first reason stays.
class Interrupt {
 public:
  /// `on_first_wait` runs when a wait first begins. It watches the client's socket; that costs
  /// time, so a request that is answered without waiting does not pay for it.
  explicit Interrupt(std::function<void()> on_first_wait = {})
      : on_first_wait_(std::move(on_first_wait)) {}
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool raised() const { return raised_; }
  /// kCancelled: the client has gone. kDeadline: a timeout has passed. Precondition: raised().
  Code why() const { return why_; }
  const std::string& limit() const { return limit_; }
  Error error() const {
    if (why_ != Code::kDeadline) return {why_, "the client has gone"};
    return {why_, limit_.empty() ? "it did not finish in time"
                                 : fmt::format("it did not finish within {}", limit_)};
  }

  /// `limit` describes the deadline for the error message: "300 ms, the timeout of ...".
  void raise(Code why, std::string limit = {}) {
    if (raised_) return;
    raised_ = true;
    why_ = why;
    limit_ = std::move(limit);
    if (action_) action_();
  }

  /// While the scope lives, raise() runs `action`, which breaks the wait. If the interrupt is
  /// already raised, the action runs at once. Only one scope may exist at a time. The action may
  /// close sockets; their completions then arrive through the loop, never inside the action.
  class Scope {
   public:
    Scope(Interrupt& interrupt, std::function<void()> action) : interrupt_(interrupt) {
      SIGNALBOX_CHECK(!interrupt_.action_);
      if (interrupt_.raised_) {
        action();
        return;
      }
      interrupt_.action_ = std::move(action);
      if (interrupt_.on_first_wait_) std::exchange(interrupt_.on_first_wait_, {})();
    }
    ~Scope() { interrupt_.action_ = {}; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Interrupt& interrupt_;
  };

 private:
  std::function<void()> on_first_wait_;
  std::function<void()> action_;
  bool raised_ = false;
  Code why_ = Code::kCancelled;
  std::string limit_;
};

}  // namespace signalbox::http
