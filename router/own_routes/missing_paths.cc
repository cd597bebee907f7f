// A path and its sub-paths share one advice.

#include "router/own_routes/missing_paths.h"

#include <fmt/core.h>

#include "router/access/gate.h"

namespace signalbox::own_routes {
namespace {

struct Missing {
  std::string_view path, advice;
  bool has_post = false;  // the path itself is known, and only GET would need what is stored
};
constexpr Missing kMissing[] = {
    {"/v1/conversations",
     "conversations are not kept here; continue a response with previous_response_id, or send the "
     "items of the conversation"},
    {"/v1/chat/completions",
     "chat completions are not stored here; /v1/responses stores its responses", true},
    {"/v1/messages/batches", "batches of messages are not kept here; send the messages one by one"},
};

bool is_meant(const Missing& missing, const http::Request& request) {
  std::string_view path = request.path();
  if (!path.starts_with(missing.path)) return false;
  path.remove_prefix(missing.path.size());
  if (path.empty()) return !missing.has_post || request.method == "GET";
  return path.front() == '/' && (path.size() > 1 || !missing.has_post);
}

}  // namespace

std::string missing_path_body(const http::Request& request, int status, std::string_view message) {
  for (const Missing& missing : kMissing) {
    if (!is_meant(missing, request)) continue;
    return access::client_error_body(request, status,
                                     fmt::format("{}: {}", message, missing.advice));
  }
  return access::client_error_body(request, status, message);
}

}  // namespace signalbox::own_routes
