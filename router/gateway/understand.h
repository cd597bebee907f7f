#pragma once
// The third stage: the signals that the decision needs, cheapest first, models on the thread pool.

#include <string>

#include "router/gateway/gateway_context.h"

namespace signalbox::gateway {

/// Why a request was decided without some of its signals, if it was.
struct Understanding {
  observe::Degraded degraded = observe::Degraded::kNo;
  std::string why = {};  // may be logged
};

/// Evaluates what the outcome of a request of so many bytes still needs. If the models have no room
/// or no time, the request is decided on what is known, and guards follow their on_error. Errors:
/// kCancelled when the client has gone, kDeadline when the listener's timeout has passed.
http::Task<Result<Understanding>> understand(const RequestScope& scope, size_t bytes,
                                             routing::Evaluation& evaluation);

}  // namespace signalbox::gateway
