// Headers are copied, because a request has few of them.

#include "router/upstream/dialect_headers.h"

#include <fmt/format.h>

#include "base/ascii.h"

namespace signalbox::upstream {
namespace {

constexpr std::string_view kJson = "application/json";

http::Headers without(const http::Headers& headers, std::string_view name) {
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    if (!ascii::iequals(headers[i].name, name)) out.add(headers, i);
  }
  return out;
}

}  // namespace

http::Headers for_openai(const http::Headers& headers) {
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    const http::Field field = headers[i];
    const bool key = ascii::iequals(field.name, "x-api-key");
    if (key && !headers.find("authorization"))
      out.add("Authorization", fmt::format("Bearer {}", field.value));
    if (!key && !ascii::iequals(field.name.substr(0, 10), "anthropic-")) out.add(headers, i);
  }
  return out;
}

http::Headers for_anthropic(const http::Headers& headers) {
  constexpr std::string_view kBearer = "Bearer ";
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    const http::Field field = headers[i];
    const bool bearer = ascii::iequals(field.name, "authorization") &&
                        ascii::iequals(field.value.substr(0, kBearer.size()), kBearer);
    if (bearer && !headers.find("x-api-key"))
      out.add("x-api-key", field.value.substr(kBearer.size()));
    if (!bearer) out.add(headers, i);
  }
  if (!headers.find("anthropic-version")) out.add("anthropic-version", kAnthropicVersion);
  return out;
}

bool is_json(const http::Headers& headers) {
  const auto type = headers.find("content-type");
  return type && ascii::iequals(type->substr(0, kJson.size()), kJson);
}

http::Headers as_json(const http::Headers& headers) {
  http::Headers out = without(headers, "content-type");
  out.add("Content-Type", kJson);
  return out;
}

http::Headers accepting_identity(const http::Headers& headers) {
  http::Headers out = without(headers, "accept-encoding");
  out.add("Accept-Encoding", "identity");
  return out;
}

}  // namespace signalbox::upstream
