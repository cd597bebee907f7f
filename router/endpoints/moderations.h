#pragma once
// /v1/moderations by the guards of the router: OpenAI's shape with our categories.

#include "router/admin/client_handler.h"

namespace signalbox::endpoints {

/// Judges one text or several: `pii`, and `jailbreak` if the configuration has its model. Runs
/// models. A guard that fails fails the request.
admin::OrFailure<std::string> moderate(const http::Request& request,
                                       const serving::ServingState& state,
                                       const engine::Patience& patience);

}  // namespace signalbox::endpoints
