#pragma once
// The endpoints of OpenAI's and Anthropic's APIs that pass to a model's server as they are. Chats
// are not among them: they take the way of gateway/pipeline.

#include <span>
#include <string_view>

#include "router/config/providers.h"

namespace signalbox::endpoints {

struct Endpoint {
  std::string_view method;
  std::string_view path;  // "{id}" stands for one segment
  /// The request goes to the server of `global.api.files_model`, whatever it contains.
  bool has_files = false;
  /// The server makes something from the request's texts, so guards read them.
  bool generates = false;
  /// The API of the servers. Anthropic's counts the tokens of a chat, which nobody has read.
  config::Model::ApiFormat api = config::Model::ApiFormat::kOpenAi;

  bool is_of_anthropic() const { return api == config::Model::ApiFormat::kAnthropic; }
  /// True if a model works on the request, so that its tokens are counted.
  bool is_measured() const { return !has_files && !is_of_anthropic(); }
};

std::span<const Endpoint> table();

/// The endpoint of a request; null if there is none. HEAD counts as GET. An id has letters, digits,
/// '-', '_' and '.', so that no path leads elsewhere at the server.
const Endpoint* find(std::string_view method, std::string_view path);

}  // namespace signalbox::endpoints
