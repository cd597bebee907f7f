// Tokens protect stored data, so they come from the system's random source and not from a generator
// with a state.

#include "router/access/owner.h"

#include <fmt/format.h>

#include <random>

#include "base/sha256.h"

namespace signalbox::access {

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

}  // namespace signalbox::access
