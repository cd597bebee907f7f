// A failure of gRPC reaches its caller as a status; its log only adds details to that.

#include "router/rpc/log.h"

#include <grpc/support/log.h>

#include "base/log.h"

namespace signalbox::rpc {
namespace {

void log_line(gpr_log_func_args* args) {
  const bool is_error = args->severity == GPR_LOG_SEVERITY_ERROR;
  if (log::enabled(is_error ? log::Level::kWarn : log::Level::kDebug)) {
    is_error ? log::warn("grpc", "{}", args->message) : log::debug("grpc", "{}", args->message);
  }
}

}  // namespace

void forward_log() {
  gpr_set_log_function(log_line);
}

}  // namespace signalbox::rpc
