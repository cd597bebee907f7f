#pragma once
// The most recent requests with their decisions, and what people and programs report about the
// answers.
//
//   GET /v1/router_replay, /v1/router_replay/ID   requests
//   POST /v1/router/outcomes                      one outcome, with the id of its record
//   GET /v1/router/outcomes                       the scores that follow from them
//   DELETE /v1/router/outcomes                    forgets all of them

#include <vector>

#include "router/admin/management.h"
#include "router/http/thread_pool.h"
#include "router/learning/outcomes.h"
#include "router/observe/metrics.h"
#include "router/observe/replay.h"

namespace signalbox::admin {

/// All arguments must outlive the routes.
std::vector<http::Route> replay_routes(observe::Replay& replay,
                                       const serving::CurrentState& current,
                                       http::ThreadPool& pool);
std::vector<http::Route> outcome_routes(learning::Outcomes& outcomes, observe::Replay& replay,
                                        observe::Metrics& metrics,
                                        const serving::CurrentState& current,
                                        http::ThreadPool& pool);

}  // namespace signalbox::admin
