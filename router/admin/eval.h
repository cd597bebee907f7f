#pragma once
// POST /api/v1/eval: takes {"text" | "messages", "model"?, "recipe"?, "tools"?, "metadata"?,
// "options": {"trace"}?} and returns the decision, every signal, and the model that would reply.

#include "router/admin/management.h"

namespace signalbox::admin {

/// `current` and `pool`, whose threads run the models, must outlive the route.
http::Route eval_route(const serving::CurrentState& current, http::ThreadPool& pool);

}  // namespace signalbox::admin
