#pragma once
// Servers whose requests differ from the common form.

#include <algorithm>
#include <string_view>

#include "router/config/config.h"

namespace signalbox::plugins {

inline constexpr std::string_view kOpenAi = "api.openai.com";
inline constexpr std::string_view kOpenRouter = "openrouter.ai";
inline constexpr std::string_view kDeepSeek = "api.deepseek.com";

/// Returns whether one of the model's backends is that server. A request is written once, before a
/// backend is chosen, so all backends of a model are expected to accept the same form.
inline bool is_served_by(const config::Model& model, std::string_view host) {
  return std::any_of(model.backend_refs.begin(), model.backend_refs.end(),
                     [&](const config::BackendRef& backend) { return backend.host == host; });
}

}  // namespace signalbox::plugins
