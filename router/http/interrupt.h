#pragma once
// How a request is told to stop waiting: its client has gone, or its time is up. Whoever waits for
// something says how to break the wait; Asio's cancellation slots were rejected because they throw
// through every coroutine on the way.

#include <fmt/core.h>

#include <functional>
#include <string>
#include <utility>

#include "base/error.h"

namespace signalbox::http {

/// Belongs to one request on one loop's thread. Raised at most once; the first reason stays.
class Interrupt {
 public:
  /// `wanted` is called when somebody first waits: the watch on the client's socket is not free, so
  /// requests that are answered without waiting do without it.
  explicit Interrupt(std::function<void()> wanted = {}) : wanted_(std::move(wanted)) {}
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool raised() const { return raised_; }
  /// kCancelled: the client has gone. kDeadline: the listener's timeout. Precondition: raised().
  Code why() const { return why_; }
  const std::string& limit() const { return limit_; }
  Error error() const {
    if (why_ != Code::kDeadline) return {why_, "the client has gone"};
    return {why_, limit_.empty() ? "it did not finish in time"
                                 : fmt::format("it did not finish within {}", limit_)};
  }

  /// `limit` is what a deadline was, for the message: "300 ms, the timeout of ...".
  void raise(Code why, std::string limit = {}) {
    if (raised_) return;
    raised_ = true;
    why_ = why;
    limit_ = std::move(limit);
    if (action_) action_();
  }

  /// While it lives, `action` breaks the wait; it runs at once when the interrupt is raised
  /// already. One at a time. The action may close sockets; completions then come through the loop,
  /// never from inside it.
  class Scope {
   public:
    Scope(Interrupt& interrupt, std::function<void()> action) : interrupt_(interrupt) {
      SIGNALBOX_CHECK(!interrupt_.action_);
      if (interrupt_.raised_) {
        action();
        return;
      }
      interrupt_.action_ = std::move(action);
      if (interrupt_.wanted_) std::exchange(interrupt_.wanted_, {})();
    }
    ~Scope() { interrupt_.action_ = {}; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Interrupt& interrupt_;
  };

 private:
  std::function<void()> wanted_;
  std::function<void()> action_;
  bool raised_ = false;
  Code why_ = Code::kCancelled;
  std::string limit_;
};

}  // namespace signalbox::http
