#pragma once
// Shared by the routes of the management listener: errors in its own format, access control, and
// handlers that may block on threads of their own.

#include <string>
#include <string_view>

#include "base/json.h"
#include "router/access/failure.h"
#include "router/http/routes.h"
#include "router/http/thread_pool.h"
#include "router/serving/serving_state.h"

namespace signalbox::admin {

/// The reply of a handler.
struct AdminReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::string etag = {};     // with its quotes; "": none
  std::string subject = {};  // the name of the changed object, for the audit log

  static AdminReply of(const access::Failure& failure) {
    return {failure.status, access::failure_body(failure)};
  }
};

/// Handles a request with the state that serves when it begins. It runs on the pool and may block.
/// The request lives until it has returned.
using AdminHandler =
    std::function<AdminReply(const http::Request& request, const serving::ServingState& state)>;

/// A route that requires a permission. It replies with 401, 403, 503 while there is no state yet or
/// if changes are refused because the audit log cannot be written, 429 if the pool is full, or the
/// handler's reply. Changes and refusals go to the audit log. `current` and `pool` must outlive it.
http::Route management_route(std::string method, std::string path, std::string_view permission,
                             const serving::CurrentState& current, http::ThreadPool& pool,
                             AdminHandler handler);

/// The requests of a route that only read, while its other requests change something.
struct ReadingRequests {
  std::string_view permission;
  bool (*only_reads)(const http::Request& request);
};
/// The same for a route with some requests that only read: these require another permission, and
/// the audit log records no change for them.
http::Route management_route(std::string method, std::string path, std::string_view permission,
                             const ReadingRequests& reading, const serving::CurrentState& current,
                             http::ThreadPool& pool, AdminHandler handler);

/// Sends its reply itself, on the loop.
using AdminStream = std::function<http::Task<>(http::Exchange exchange,
                                               std::shared_ptr<const serving::ServingState> state)>;
/// The same for replies that a pool cannot produce, such as a stream.
http::Route management_stream(std::string method, std::string path, std::string_view permission,
                              const serving::CurrentState& current, AdminStream stream);

}  // namespace signalbox::admin
