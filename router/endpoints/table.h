#pragma once
// The endpoints of OpenAI's and Anthropic's APIs that pass to a model's server as they are. Chats
// are not among them: they take the way of gateway/pipeline.

#include <optional>
#include <span>
#include <string_view>

#include "router/config/routing.h"
#include "router/request/native_request.h"

namespace signalbox::endpoints {

struct Endpoint {
  std::string_view method;
  std::string_view path;  // "{id}" stands for one segment
  /// The request goes to the server of `global.api.files_model`, whatever it contains.
  bool has_files = false;
  /// The server makes something from the request's texts, so guards read them.
  bool generates = false;
  /// The API of chats that the endpoint belongs to: only servers that speak it have the endpoint.
  std::optional<request::Api> chats = std::nullopt;
  /// The server counts the tokens of a chat, and no model works on it.
  bool counts = false;

  /// True for requests of System One: typed questions about a state.
  bool is_task() const { return path == config::kSystemOnePath; }
  bool is_of_anthropic() const { return chats == request::Api::kMessages; }
  /// True if a model works on the request, so that its tokens are counted.
  bool is_measured() const { return !has_files && !counts; }
};

std::span<const Endpoint> table();

/// The endpoint of a request; null if there is none. HEAD counts as GET. An id has letters, digits,
/// '-', '_' and '.', so that no path leads elsewhere at the server.
const Endpoint* find(std::string_view method, std::string_view path);

}  // namespace signalbox::endpoints
