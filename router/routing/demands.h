#pragma once
// The abilities that a request demands of a model.

#include "router/request/chat_request.h"
#include "router/routing/selection/abilities.h"

namespace signalbox::routing {

/// Reads the demands that model cards can deny (abilities.h).
selection::Demands demands_of(const request::ChatRequest& request);

}  // namespace signalbox::routing
