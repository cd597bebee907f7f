#pragma once
// POST /api/v1/eval: {"text" | "messages", "model"?, "recipe"?, "tools"?, "metadata"?,
// "options": {"trace"}?} to the decision, every signal, and the model that would answer.

#include "router/admin/management.h"

namespace signalbox::admin {

/// `live` and `pool`, whose threads run the models, outlive the route.
gateway::Route eval_route(const serving::CurrentState& live, gateway::ThreadPool& pool);

}  // namespace signalbox::admin
