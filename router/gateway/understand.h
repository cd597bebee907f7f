#pragma once
// The third stage: the signals that the decision needs, cheapest first, models on the thread pool.

#include <string>

#include "router/gateway/gateway_context.h"
#include "router/gateway/read_request.h"

namespace signalbox::gateway {

/// Why a request was decided without some of its signals, if it was.
struct Understanding {
  observe::Degraded degraded = observe::Degraded::kNo;
  std::string why = {};  // may be logged
};

/// Computes the signals that the outcome of the request still needs. `bytes` is the size of its
/// body. If the models have no room or no time, the request is decided without the missing signals,
/// guards follow their on_error, and rules with fail_request fail the plan. Errors: kCancelled when
/// the client has gone, kDeadline when the listener's timeout has passed.
http::Task<Result<Understanding>> understand(RequestScope& scope, const ParsedRequest& request,
                                             routing::Evaluation& evaluation);

}  // namespace signalbox::gateway
