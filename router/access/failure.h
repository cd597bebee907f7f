#pragma once
// Errors of the management API, in its own format.

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::access {

/// An error reply: {"error":{"code","message","timestamp"}}.
struct Failure {
  int status;
  std::string_view code;  // "INVALID_INPUT"
  std::string message;
};

/// Returns the usual failure for one of our errors, or the body for a status that HTTP itself
/// requires.
Failure failure_of(const Error& error);
std::string failure_body(const Failure& failure);
std::string management_error_body(int status, std::string_view message);

/// Returns "2026-01-31T12:00:00Z".
std::string timestamp(std::chrono::system_clock::time_point when);

}  // namespace signalbox::access
