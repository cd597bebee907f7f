#pragma once
// Who may do what with the management API: `global.services.management_api.auth`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/config.h"
#include "router/http/message.h"

namespace signalbox::access {

/// What a route asks of its caller, as the configuration's roles name it.
inline constexpr std::string_view kConfigRead = "config.read";
inline constexpr std::string_view kConfigWrite = "config.write";
inline constexpr std::string_view kCacheRead = "cache.read";
inline constexpr std::string_view kCacheInvalidate = "cache.invalidate";
inline constexpr std::string_view kClassify = "classify.invoke";
inline constexpr std::string_view kSecretView = "secret_view";
inline constexpr std::string_view kChat = "chat.invoke";  // ours: models are asked, which costs
/// Of what everybody who is let in may do.
inline constexpr std::string_view kAnyone = "";

/// Whether only programs of this machine can connect to the address; localhost is one.
bool is_loopback(std::string_view address);

/// What a request says of who asks: the headers of those names.
struct Credentials {
  std::optional<std::string_view> authorization;
  std::optional<std::string_view> origin;
  std::optional<std::string_view> host;
};
/// Views into the request.
Credentials credentials_of(const http::Request& request);

/// Immutable and thread-safe.
class Access {
 public:
  enum class Verdict { kGranted, kUnknown, kForbidden, kExposed, kForeignPage };

  /// Tokens are read from the environment here, once. Without roles in the configuration there are
  /// viewer, operator and admin.
  explicit Access(const config::ManagementApi& management);

  /// kUnknown: no token, or none of ours. kForbidden: its role lacks the permission. kExposed:
  /// nobody is asked for a token, other machines can connect, and the permission is one to change
  /// something. kForeignPage: the same, asked by a page of another site, or of another port, in a
  /// browser on this machine.
  Verdict check(std::string_view permission, const Credentials& caller) const;

  bool asks_for_tokens() const { return asks_for_tokens_; }
  /// All that the caller may do, of the permissions that routes ask for.
  std::vector<std::string_view> granted(const Credentials& caller) const;

  /// Whether the caller may read secrets; without tokens nobody may.
  bool shows_secrets(const Credentials& caller) const;

  /// What an operator should know, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  struct Token {
    std::string digest;  // SHA-256: what is compared has one length, whatever is sent
    std::vector<std::string> permissions;
  };
  const Token* find(std::optional<std::string_view> authorization) const;

  bool asks_for_tokens_;
  bool loopback_only_;
  std::vector<Token> tokens_;
  std::vector<std::string> notices_;
};

}  // namespace signalbox::access
