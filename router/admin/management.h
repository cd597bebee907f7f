#pragma once
// What the routes of the management listener share: errors in its own shape, who may call, and
// work that waits on threads of its own.

#include <string>
#include <string_view>

#include "base/json.h"
#include "router/access/failure.h"
#include "router/gateway/routes.h"
#include "router/gateway/thread_pool.h"
#include "router/serving/serving_state.h"

namespace signalbox::admin {

/// What a handler comes to.
struct AdminReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::string etag = {};  // with its quotes; "": none

  static AdminReply of(const access::Failure& failure) {
    return {failure.status, access::failure_body(failure)};
  }
};

/// Answers a request from the state that serves as it begins. Runs on the pool, where it may take
/// its time; the request lives until it has returned.
using Work =
    std::function<AdminReply(const http::Request& request, const serving::ServingState& state)>;

/// A route that asks for a permission: 401, 403, 503 while there is no state yet, 429 when the pool
/// is full, or what `work` comes to. `live` and `pool` outlive it.
gateway::Route management_route(std::string method, std::string path, std::string_view permission,
                                const serving::CurrentState& live, gateway::ThreadPool& pool,
                                Work work);

/// Answers by itself, on the loop.
using Passage = std::function<http::Task<>(http::Exchange exchange,
                                           std::shared_ptr<const serving::ServingState> state)>;
/// The same for what a pool cannot do, as a stream.
gateway::Route management_passage(std::string method, std::string path, std::string_view permission,
                                  const serving::CurrentState& live, Passage passage);

}  // namespace signalbox::admin
