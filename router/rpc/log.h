#pragma once
// The messages of the gRPC library.

namespace signalbox::rpc {

/// Forwards gRPC's messages to our log, instead of lines of its own on standard error. An error
/// that repeats the one before it within ten minutes is a line for debugging. May be called
/// repeatedly.
void forward_log();

}  // namespace signalbox::rpc
