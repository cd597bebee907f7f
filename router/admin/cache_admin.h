#pragma once
// The response cache for operators: its statistics, its entries, and the removal of entries.

#include <vector>

#include "router/admin/management.h"
#include "router/gateway/answer_cache.h"

namespace signalbox::admin {

/// GET /api/v1/response-cache/stats; GET and DELETE /api/v1/response-cache/entries with the filters
/// recipe, decision, model and older_than_seconds (DELETE without a filter requires all=true); GET
/// and DELETE /api/v1/response-cache/entries/ID. The routes do not show requests or replies. All
/// arguments must outlive the routes.
std::vector<http::Route> cache_routes(const serving::CurrentState& current, http::ThreadPool& pool,
                                      const gateway::AnswerCache& cache);

}  // namespace signalbox::admin
