// A linear search over two dozen rows.

#include "router/endpoints/table.h"

#include <algorithm>

#include "base/ascii.h"

namespace signalbox::endpoints {
namespace {

constexpr std::string_view kId = "{id}";
constexpr size_t kIdBytesMax = 256;

constexpr Endpoint kEndpoints[] = {
    {"POST", "/v1/embeddings"},
    {"POST", "/v1/rerank"},
    {"POST", "/v2/rerank"},
    {"POST", "/rerank"},
    {"POST", "/v1/moderations"},
    {"POST", config::kSystemOnePath},
    {.method = "POST", .path = "/v1/images/generations", .generates = true},
    {.method = "POST", .path = "/v1/images/edits", .generates = true},
    {.method = "POST", .path = "/v1/images/variations", .generates = true},
    {.method = "POST", .path = "/v1/audio/speech", .generates = true},
    {.method = "POST", .path = "/v1/audio/transcriptions", .generates = true},
    {.method = "POST", .path = "/v1/audio/translations", .generates = true},
    {.method = "POST",
     .path = "/v1/messages/count_tokens",
     .chats = request::Api::kMessages,
     .counts = true},
    {.method = "POST",
     .path = "/v1/responses/input_tokens",
     .chats = request::Api::kResponses,
     .counts = true},
    {.method = "POST",
     .path = "/v1/responses/compact",
     .generates = true,
     .chats = request::Api::kResponses},
    {.method = "GET", .path = "/v1/files", .has_files = true},
    {.method = "POST", .path = "/v1/files", .has_files = true},
    {.method = "GET", .path = "/v1/files/{id}", .has_files = true},
    {.method = "DELETE", .path = "/v1/files/{id}", .has_files = true},
    {.method = "GET", .path = "/v1/files/{id}/content", .has_files = true},
    {.method = "GET", .path = "/v1/batches", .has_files = true},
    {.method = "POST", .path = "/v1/batches", .has_files = true},
    {.method = "GET", .path = "/v1/batches/{id}", .has_files = true},
    {.method = "POST", .path = "/v1/batches/{id}/cancel", .has_files = true},
};

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kIdBytesMax && text.find_first_not_of('.') != text.npos &&
         std::ranges::all_of(
             text, [](char c) { return ascii::is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool matches(std::string_view pattern, std::string_view path) {
  const size_t at = pattern.find(kId);
  if (at == std::string_view::npos) return pattern == path;
  const std::string_view end = pattern.substr(at + kId.size());
  if (path.size() <= at + end.size() || !path.starts_with(pattern.substr(0, at)) ||
      !path.ends_with(end))
    return false;
  return is_id(path.substr(at, path.size() - at - end.size()));
}

}  // namespace

std::span<const Endpoint> table() {
  return kEndpoints;
}

const Endpoint* find(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  for (const Endpoint& endpoint : kEndpoints) {
    if (endpoint.method == method && matches(endpoint.path, path)) return &endpoint;
  }
  return nullptr;
}

}  // namespace signalbox::endpoints
