// A path and its sub-paths share one advice.

#include "router/own_routes/missing_paths.h"

#include <fmt/core.h>

#include "router/access/gate.h"

namespace signalbox::own_routes {
namespace {

struct Missing {
  std::string_view path, advice;
};
constexpr Missing kMissing[] = {
    {"/v1/conversations",
     "conversations are not kept here; continue a response with previous_response_id, or send the "
     "items of the conversation"},
    {"/v1/chat/completions",
     "chat completions are not stored here; /v1/responses stores its responses"},
    {"/v1/messages/batches", "batches of messages are not kept here; send the messages one by one"},
};

bool is_below(std::string_view path, std::string_view parent) {
  if (!path.starts_with(parent)) return false;
  return path.size() == parent.size() || path[parent.size()] == '/';
}

}  // namespace

std::string missing_path_body(const http::Request& request, int status, std::string_view message) {
  for (const Missing& missing : kMissing) {
    if (!is_below(request.path(), missing.path)) continue;
    return access::client_error_body(request, status,
                                     fmt::format("{}: {}", message, missing.advice));
  }
  return access::client_error_body(request, status, message);
}

}  // namespace signalbox::own_routes
