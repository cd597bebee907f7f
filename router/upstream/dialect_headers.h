#pragma once
// Request headers as a server needs them. Each API has its own field for credentials.

#include <string_view>

#include "router/http/headers.h"

namespace signalbox::upstream {

/// The version of Anthropic's API for clients that name none.
inline constexpr std::string_view kAnthropicVersion = "2023-06-01";

/// Headers of a request to Anthropic's API for an OpenAI server: x-api-key becomes Authorization
/// unless there is one, and anthropic-* are removed. Other headers stay as they are.
http::Headers for_openai(const http::Headers& headers);

/// Headers for an Anthropic server: a bearer token becomes x-api-key unless there is one, and
/// anthropic-version is added.
http::Headers for_anthropic(const http::Headers& headers);

/// True if the body has the type of JSON.
bool is_json(const http::Headers& headers);

/// The headers with `Content-Type: application/json`, which servers require of a JSON body.
http::Headers as_json(const http::Headers& headers);

/// The headers with `Accept-Encoding: identity`, for a reply that we read. Without the field, a
/// server may use any encoding.
http::Headers accepting_identity(const http::Headers& headers);

}  // namespace signalbox::upstream
