#pragma once
// Servers whose requests differ from the common form.

#include <algorithm>
#include <string_view>

#include "router/config/config.h"
#include "router/request/native_request.h"

namespace signalbox::plugins {

inline constexpr std::string_view kOpenAi = "api.openai.com";
inline constexpr std::string_view kOpenRouter = "openrouter.ai";
inline constexpr std::string_view kDeepSeek = "api.deepseek.com";

/// Returns whether one of the model's backends is that server, or one of its regions such as
/// eu.api.openai.com. A request is written once, before a backend is chosen, so all backends of a
/// model are expected to accept the same form.
inline bool is_served_by(const config::Model& model, std::string_view host) {
  return std::any_of(model.backend_refs.begin(), model.backend_refs.end(),
                     [&](const config::BackendRef& backend) {
                       std::string_view name = backend.host;
                       if (!name.ends_with(host)) return false;
                       name.remove_suffix(host.size());
                       return name.empty() || name.ends_with('.');
                     });
}

/// Each resource of Azure has all these names, with the same models.
inline bool is_at_azure(const config::Model& model) {
  constexpr std::string_view kDomains[] = {"openai.azure.com", "cognitiveservices.azure.com",
                                           "services.ai.azure.com"};
  return std::ranges::any_of(kDomains,
                             [&](std::string_view domain) { return is_served_by(model, domain); });
}

/// Returns whether the model's servers want the bound of tokens as max_completion_tokens: OpenAI's
/// own, and Azure's for a model that reasons. Other models at Azure may refuse that name.
inline bool takes_completion_tokens(const config::Model& model) {
  return is_served_by(model, kOpenAi) || (is_at_azure(model) && !model.reasoning_family.empty());
}

/// Returns the name of the bound of tokens at the model's servers.
inline std::string_view token_limit_of(const config::Model& model) {
  return takes_completion_tokens(model) ? "max_completion_tokens" : "max_tokens";
}

/// Returns whether the model's servers have the API, so that a request in it can go there as it is.
inline bool speaks(const config::Model& model, request::Api api) {
  using Format = config::Model::ApiFormat;
  if (api == request::Api::kMessages) return model.api_format == Format::kAnthropic;
  return model.api_format == Format::kOpenAi && model.responses_api;
}

}  // namespace signalbox::plugins
