#pragma once
// GET /api/v1/costs of the management listener: the costs of models since the start, by model and
// decision, and the costs of the same traffic on the default model.

#include "router/admin/management.h"
#include "router/observe/metrics.h"
#include "router/spending/ledger.h"

namespace signalbox::admin {

/// Requires the permission metrics.read. All arguments must outlive the route.
http::Route costs_route(const observe::Metrics& metrics, const serving::CurrentState& current,
                        http::ThreadPool& pool);

/// GET /api/v1/spending: sums of what requests have spent, from the store. `find` returns the
/// ledger, or null if spending is not counted. The arguments must outlive the route.
http::Route spending_route(std::function<spending::Ledger*()> find,
                           const serving::CurrentState& current, http::ThreadPool& pool);

/// GET /api/v1/budgets: the rest of each budget. The same arguments.
http::Route budgets_route(std::function<spending::Ledger*()> find,
                          const serving::CurrentState& current, http::ThreadPool& pool);

}  // namespace signalbox::admin
