#pragma once
// The claims of a verified token, checked against the issuer's configuration (RFC 7519).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/config/access.h"

namespace signalbox::tokens {

/// The difference of clocks that is allowed for times in tokens, in seconds.
inline constexpr int64_t kLeeway = 60;

/// The reason why a token is refused.
struct TokenRefusal {
  int status = 401;
  std::string_view reason;  // label in the metrics, static: "expired_token"
  std::string message;      // for the client; it may contain what the token contains
};

struct Identity {
  std::string user;  // with the issuer's prefix
  std::vector<std::string> groups;
  const config::TokenGroup* rights = nullptr;  // null: all
  int64_t until = 0;                           // seconds since 1970
};

/// Checks times, issuer and audience at the time `now`, in seconds since 1970, and reads the user
/// and the groups. The identity refers to `issuer`.
tl::expected<Identity, TokenRefusal> check_claims(const json::Value& claims,
                                                  const config::TokenIssuer& issuer, int64_t now);

}  // namespace signalbox::tokens
