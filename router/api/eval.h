#pragma once
// POST /api/v1/eval: {"text" | "messages", "model"?, "recipe"?, "tools"?, "metadata"?,
// "options": {"trace"}?} to the decision, every signal, and the model that would answer.

#include "router/api/management.h"

namespace signalbox::api {

/// `live` and `pool`, whose threads run the models, outlive the route.
Route eval_route(const router::Live& live, Compute& pool);

}  // namespace signalbox::api
