#pragma once
// Coarse and cheap time limits for one event loop. Setting a deadline costs two stores; one timer
// per loop checks all deadlines every kDeadlinePeriod. One Asio timer per deadline was rejected:
// every request would pay for heap operations and system calls, although deadlines almost never
// expire.

#include <chrono>
#include <functional>
#include <optional>

#include "router/http/io.h"

namespace signalbox::http {

/// A deadline expires late by at most this much.
inline constexpr std::chrono::milliseconds kDeadlinePeriod{50};

class Deadline;

/// Holds the deadlines of one io_context, which owns this object as a service.
class Deadlines : public asio::execution_context::service {
 public:
  static asio::execution_context::id id;
  explicit Deadlines(asio::execution_context& context);
  static Deadlines& of(asio::io_context& loop) { return asio::use_service<Deadlines>(loop); }

 private:
  friend class Deadline;
  void shutdown() override;
  void arm();
  void sweep();

  std::optional<Timer> timer_;
  bool armed_ = false;
  Deadline* first_ = nullptr;
};

/// One deadline. All of its functions, the destructor included, run on its loop's thread.
class Deadline {
 public:
  /// `expire` runs once for each set() that no later set() or clear() supersedes. It may close
  /// sockets and set this deadline again; it must not destroy a Deadline.
  Deadline(asio::io_context& loop, std::function<void()> expire);
  ~Deadline() { clear(); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void set(std::chrono::milliseconds from_now);
  void clear();

 private:
  friend class Deadlines;
  Deadlines& deadlines_;
  std::function<void()> expire_;
  Clock::time_point at_{};
  bool linked_ = false;
  Deadline* previous_ = nullptr;
  Deadline* next_ = nullptr;
};

}  // namespace signalbox::http
