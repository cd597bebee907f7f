#pragma once
// The response cache as operators see it: how it does, what it holds, and away with what is wrong.

#include <vector>

#include "router/api/answer_cache.h"
#include "router/api/management.h"

namespace signalbox::api {

/// GET /api/v1/response-cache/stats; GET and DELETE /api/v1/response-cache/entries with the filters
/// recipe, decision, model and older_than_seconds (DELETE without one asks for all=true); GET and
/// DELETE /api/v1/response-cache/entries/ID. What was asked and answered is not shown. All outlive
/// the routes.
std::vector<Route> cache_routes(const router::Live& live, Compute& pool, const AnswerCache& cache);

}  // namespace signalbox::api
