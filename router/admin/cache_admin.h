#pragma once
// The response cache as operators see it: how it does, what it holds, and away with what is wrong.

#include <vector>

#include "router/admin/management.h"
#include "router/gateway/answer_cache.h"

namespace signalbox::admin {

/// GET /api/v1/response-cache/stats; GET and DELETE /api/v1/response-cache/entries with the filters
/// recipe, decision, model and older_than_seconds (DELETE without one asks for all=true); GET and
/// DELETE /api/v1/response-cache/entries/ID. What was asked and answered is not shown. All outlive
/// the routes.
std::vector<gateway::Route> cache_routes(const serving::CurrentState& live,
                                         gateway::ThreadPool& pool,
                                         const gateway::AnswerCache& cache);

}  // namespace signalbox::admin
