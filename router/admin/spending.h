#pragma once
// GET /api/v1/spending: what requests have spent.

#include "router/admin/management.h"
#include "router/spending/ledger.h"

namespace signalbox::admin {

/// `find` returns the ledger, or null if spending is not counted. The arguments must outlive the
/// route.
http::Route spending_route(std::function<spending::Ledger*()> find,
                           const serving::CurrentState& current, http::ThreadPool& pool);

}  // namespace signalbox::admin
