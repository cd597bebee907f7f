#pragma once
// The messages of the gRPC library.

namespace signalbox::rpc {

/// Forwards gRPC's messages to our log, instead of lines of its own on standard error. May be
/// called repeatedly.
void forward_log();

}  // namespace signalbox::rpc
