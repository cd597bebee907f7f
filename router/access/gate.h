#pragma once
// The gate in front of every route of the data listeners. If keys are required, it refuses each
// request whose sender is unknown, before any model runs.

#include "router/access/clients.h"
#include "router/audit/log.h"
#include "router/http/server.h"
#include "router/limits/rate_limiter.h"
#include "router/observe/metrics.h"

namespace signalbox::access {

/// The state that all gates of a process share. All of it outlives them.
struct GateShared {
  observe::Metrics& metrics;
  limits::RateLimiter& failures;  // counts refused requests by address
  audit::Log& audit;
};

/// The body of an error of the data listeners, in the shape of the API that the request uses.
std::string client_error_body(const http::Request& request, int status, std::string_view message);

/// Passes requests of known clients to `next`, and answers others in the shape of their API: 400,
/// 401, 503 while a token cannot be verified, or 429 to an address that has sent too many wrong
/// keys. A valid key always passes. A token waits, without a thread, for the keys of its issuer.
/// `from_proxy`: see Clients::identify(). `clients` outlives the handler.
http::Handler gate(const Clients& clients, const GateShared& shared, bool from_proxy,
                   http::Handler next);

}  // namespace signalbox::access
