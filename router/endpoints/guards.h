#pragma once
// The part of the configuration in a request that passes as it is: who may send it, and the guards
// over its texts.

#include <optional>

#include "router/endpoints/request_reading.h"
#include "router/endpoints/table.h"
#include "router/gateway/gateway_context.h"
#include "router/gateway/read_request.h"
#include "router/limits/rate_limiter.h"
#include "router/routing/plan.h"

namespace signalbox::endpoints {

/// Answers a request that the client may not send now; returns false if it may. `model` is null for
/// the router's own models and for those of a recipe.
http::Task<bool> refuse(gateway::RequestScope& scope, std::string_view recipe,
                        const config::Model* model, limits::Requester& requester);

/// A chat with the texts as the message of a user.
std::string chat_of(std::string_view model, std::string_view texts);

/// Refuses a request that the router cannot read whole, for a model with a pii_policy.
Error unread(const config::Model& model);

/// Evaluates the signals of the chat, and plans it.
http::Task<Result<routing::Plan>> judge(gateway::RequestScope& scope,
                                        const gateway::ParsedRequest& chat,
                                        routing::Evaluation& evaluation);

/// Answers a request for which judge() has failed.
http::Task<> send_unplanned(const gateway::RequestScope& scope, const Error& error);

/// Answers a request whose plan is not to send it as it is.
http::Task<> send_blocked(const gateway::RequestScope& scope, const gateway::ParsedRequest& chat,
                          routing::Plan plan);

/// The plan of a request that may go to the model, or nullopt if the client has its answer. If the
/// plan has masks, its body takes the place of the client's.
///
/// Guards read the texts of an endpoint that generates something, as those of a chat that names the
/// model, and what is counted if such chats are masked. A model with a pii_policy gets no request
/// that has not been read whole, whatever the endpoint.
http::Task<std::optional<routing::Plan>> pass_guards(gateway::RequestScope& scope,
                                                     const Endpoint& endpoint,
                                                     const RequestReading& reading,
                                                     const config::Model& model);

}  // namespace signalbox::endpoints
