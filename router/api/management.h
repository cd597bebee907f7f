#pragma once
// What the routes of the management listener share: errors in its own shape, who may call, and
// work that waits on threads of its own.

#include <string>
#include <string_view>

#include "base/json.h"
#include "router/api/compute.h"
#include "router/api/failure.h"
#include "router/api/routes.h"
#include "router/reload/state.h"

namespace signalbox::api {

/// What a handler comes to.
struct Answer {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::string etag = {};  // with its quotes; "": none

  static Answer of(const Failure& failure) { return {failure.status, failure_body(failure)}; }
};

/// Answers a request from the state that serves as it begins. Runs on the pool, where it may take
/// its time; the request lives until it has returned.
using Work = std::function<Answer(const http::Request& request, const router::State& state)>;

/// A route that asks for a permission: 401, 403, 503 while there is no state yet, 429 when the pool
/// is full, or what `work` comes to. `live` and `pool` outlive it.
Route management_route(std::string method, std::string path, std::string_view permission,
                       const router::Live& live, Compute& pool, Work work);

/// Answers by itself, on the loop.
using Passage = std::function<http::Task<>(http::Exchange exchange,
                                           std::shared_ptr<const router::State> state)>;
/// The same for what a pool cannot do, as a stream.
Route management_passage(std::string method, std::string path, std::string_view permission,
                         const router::Live& live, Passage passage);

}  // namespace signalbox::api
