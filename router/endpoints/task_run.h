#pragma once
// Requests of System One under the name of an entrypoint: signals and decisions as for a chat, then
// the stages of the decision's cascade, one call at a time.

#include "router/endpoints/request_reading.h"
#include "router/gateway/gateway_context.h"
#include "router/limits/rate_limiter.h"

namespace signalbox::endpoints {

/// True if the name is one of an entrypoint of System One.
bool stands_for_stages(const config::Config& config, std::string_view name);

/// Answers the request: with the accepted answer of a model and the member `routing`, with 503 and
/// `systemone_unresolved` if no stage gave one, or with 504 and `systemone_deadline_exceeded`. The
/// names of the recipe and of its models have been published.
http::Task<> answer_task(gateway::RequestScope& scope, const RequestReading& reading,
                         limits::Requester& requester);

}  // namespace signalbox::endpoints
