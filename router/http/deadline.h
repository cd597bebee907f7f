#pragma once
// Time limits of a loop, coarse and cheap. Setting one is two stores; a single timer a loop sweeps
// them every kDeadlinePeriod. An Asio timer each was rejected: every request would pay for heap
// operations and system calls for limits that almost never strike.

#include <chrono>
#include <functional>
#include <optional>

#include "router/http/io.h"

namespace signalbox::http {

/// A limit strikes late by at most this much.
inline constexpr std::chrono::milliseconds kDeadlinePeriod{50};

class Deadline;

/// The sweeper of one io_context, which owns it as a service.
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

/// One limit. Belongs to its loop's thread, the destructor included.
class Deadline {
 public:
  /// `expire` runs once for each set() that is not overtaken by another one or by clear(). It may
  /// close sockets and set this deadline again; it must not destroy a Deadline.
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
