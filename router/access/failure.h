#pragma once
// Errors of the management API, in its own shape.

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::access {

/// An answer that says what was wrong: {"error":{"code","message","timestamp"}}.
struct Failure {
  int status;
  std::string_view code;  // "INVALID_INPUT"
  std::string message;
};

/// The usual failure for an error of ours, and for a status that HTTP itself calls for.
Failure failure_of(const Error& error);
std::string failure_body(const Failure& failure);
std::string management_error_body(int status, std::string_view message);

/// "2026-01-31T12:00:00Z"
std::string timestamp(std::chrono::system_clock::time_point when);

}  // namespace signalbox::access
