// A failure of gRPC reaches its caller as a status; its log only adds details to that.

#include "router/rpc/log.h"

#include <grpc/support/log.h>

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.h"

namespace signalbox::rpc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kQuiet{10};

struct LastError {
  std::mutex mutex;
  std::string message;
  Clock::time_point at;
};

/// True for the message that was the last one a short time ago: gRPC connects again every few
/// seconds and reports each failure.
bool is_repeated(std::string_view message) {
  // Never destroyed, because threads of gRPC may log while the process ends.
  static LastError& last = *new LastError;
  const std::lock_guard lock(last.mutex);
  const Clock::time_point now = Clock::now();
  if (message == last.message && now - last.at < kQuiet) return true;
  last.message = message;
  last.at = now;
  return false;
}

void log_line(gpr_log_func_args* args) {
  const bool is_error = args->severity == GPR_LOG_SEVERITY_ERROR;
  if (!log::enabled(is_error ? log::Level::kWarn : log::Level::kDebug)) return;
  if (is_error && !is_repeated(args->message))
    log::warn("grpc", "{}", args->message);
  else
    log::debug("grpc", "{}", args->message);
}

}  // namespace

void forward_log() {
  gpr_set_log_function(log_line);
}

}  // namespace signalbox::rpc
