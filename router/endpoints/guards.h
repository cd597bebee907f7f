#pragma once
// The guards of the configuration over the texts of a request that passes as it is.

#include <optional>

#include "router/endpoints/request_reading.h"
#include "router/endpoints/table.h"
#include "router/gateway/gateway_context.h"
#include "router/routing/plan.h"

namespace signalbox::endpoints {

/// The plan of a request that may go to the model, or nullopt if the client has its answer.
///
/// Guards read the texts of an endpoint that generates something, as those of a chat that names the
/// model, and what is counted if such chats are masked. A model with a pii_policy gets no request
/// that has not been read whole, whatever the endpoint.
http::Task<std::optional<routing::Plan>> pass_guards(gateway::RequestScope& scope,
                                                     const Endpoint& endpoint,
                                                     const RequestReading& reading,
                                                     const config::Model& model);

}  // namespace signalbox::endpoints
