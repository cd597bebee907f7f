// Tokens protect stored data, so they come from the system's random source and not from a generator
// with a state.

#include "router/access/owner.h"

#include <fmt/format.h>

#include <optional>
#include <random>
#include <utility>

#include "base/sha256.h"

namespace signalbox::access {

namespace {

/// Returns the header that identifies the client: the user's name, else a credential.
std::optional<std::pair<std::string_view, std::string_view>> identity_of(
    const http::Headers& headers, const config::Config& config) {
  const config::Authz::Identity& identity = config.authz.identity;
  for (const std::string_view name :
       {std::string_view(identity.user_id_header), std::string_view("authorization"),
        std::string_view("x-api-key")}) {
    const auto value = headers.find(name);
    if (value && !value->empty()) return std::pair(name, *value);
  }
  return std::nullopt;
}

std::string owner_named(std::string_view header, std::string_view value) {
  return sha256_hex(fmt::format("{}\n{}", header, value));
}

}  // namespace

std::string owner_of(const http::Headers& headers, const config::Config& config) {
  const auto identity = identity_of(headers, config);
  return identity ? owner_named(identity->first, identity->second) : std::string();
}

std::string owner_of_user(std::string_view user, const config::Config& config) {
  return owner_named(config.authz.identity.user_id_header, user);
}

uint64_t client_of(const http::Request& request, const config::Config& config) {
  const auto identity = identity_of(request.headers, config);
  return std::hash<std::string_view>()(identity ? identity->second : request.peer);
}

std::string new_token() {
  thread_local std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace signalbox::access
