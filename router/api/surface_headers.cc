// Tokens guard what is stored, so they come from the system's source and no generator with a state.

#include "router/api/surface_headers.h"

#include <fmt/format.h>

#include <random>

#include "base/sha256.h"

namespace signalbox::api {

std::string owner_of(const http::Headers& headers, const config::Config& config) {
  const config::Authz::Identity& identity = config.authz.identity;
  for (const std::string_view name :
       {std::string_view(identity.user_id_header), std::string_view("authorization"),
        std::string_view("x-api-key")}) {
    const auto value = headers.find(name);
    if (value && !value->empty()) return sha256_hex(fmt::format("{}\n{}", name, *value));
  }
  return {};
}

std::string new_token() {
  thread_local std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

http::Headers for_openai(const http::Headers& headers) {
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    const http::Field field = headers[i];
    const bool key = http::iequals(field.name, "x-api-key");
    if (key && !headers.find("authorization"))
      out.add("Authorization", fmt::format("Bearer {}", field.value));
    if (!key && !http::iequals(field.name.substr(0, 10), "anthropic-"))
      out.add(field.name, field.value);
  }
  return out;
}

http::Headers for_anthropic(const http::Headers& headers) {
  constexpr std::string_view kBearer = "Bearer ";
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    const http::Field field = headers[i];
    const bool bearer = http::iequals(field.name, "authorization") &&
                        http::iequals(field.value.substr(0, kBearer.size()), kBearer);
    if (bearer && !headers.find("x-api-key"))
      out.add("x-api-key", field.value.substr(kBearer.size()));
    if (!bearer) out.add(field.name, field.value);
  }
  if (!headers.find("anthropic-version")) out.add("anthropic-version", "2023-06-01");
  return out;
}

}  // namespace signalbox::api
