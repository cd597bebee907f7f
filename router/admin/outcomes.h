#pragma once
// What people and programs report about answers.
//
//   POST /v1/router/outcomes     one outcome, with the id of its replay record
//   GET /v1/router/outcomes      the scores that follow from them
//   DELETE /v1/router/outcomes   forgets all of them

#include <vector>

#include "router/admin/management.h"
#include "router/learning/outcomes.h"
#include "router/observe/metrics.h"
#include "router/observe/replay.h"

namespace signalbox::admin {

/// All arguments must outlive the routes.
std::vector<http::Route> outcome_routes(learning::Outcomes& outcomes, observe::Replay& replay,
                                        observe::Metrics& metrics,
                                        const serving::CurrentState& current,
                                        http::ThreadPool& pool);

}  // namespace signalbox::admin
