#pragma once
// Access control of the management API: `global.services.management_api.auth`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/access/local_token.h"
#include "router/config/config.h"
#include "router/http/message.h"

namespace signalbox::access {

/// The permissions that routes require, as the configuration's roles name them.
inline constexpr std::string_view kConfigRead = "config.read";
inline constexpr std::string_view kConfigWrite = "config.write";
inline constexpr std::string_view kCacheRead = "cache.read";
inline constexpr std::string_view kCacheInvalidate = "cache.invalidate";
inline constexpr std::string_view kLearn = "learning.ingest";
inline constexpr std::string_view kClassify = "classify.invoke";
inline constexpr std::string_view kSecretView = "secret_view";
inline constexpr std::string_view kChat =
    "chat.invoke";  // our own permission: calling models costs money
inline constexpr std::string_view kKeysRead = "keys.read";  // our own: the clients' keys
inline constexpr std::string_view kKeysWrite = "keys.write";
inline constexpr std::string_view kReplayDetail = "replay.detail";  // texts of users
inline constexpr std::string_view kDataWrite = "data.write";
inline constexpr std::string_view kAuditRead = "audit.read";  // our own: the audit log names users
/// For routes that every authenticated client may call.
inline constexpr std::string_view kAnyone = "";

/// True for an address such as "localhost", to which only programs of this machine can connect.
bool is_loopback(std::string_view address);

/// Compares in a time that depends on the lengths only.
bool equal(std::string_view a, std::string_view b);

/// Returns "secret" for "Bearer secret", and "" for anything else.
std::string_view bearer_token(std::string_view authorization);

/// The headers of a request that identify its sender.
struct Credentials {
  std::optional<std::string_view> authorization;
  std::optional<std::string_view> origin;
  std::optional<std::string_view> host;
};
/// The result contains views into the request.
Credentials credentials_of(const http::Request& request);

/// Immutable and thread-safe.
class Access {
 public:
  enum class CheckResult { kGranted, kUnknown, kForbidden, kExposed, kForeignPage, kNoLocalToken };

  /// Reads the tokens from the environment once. The default roles are viewer, operator and admin.
  /// On a loopback address without tokens, changes of the configuration and of keys require the
  /// local token, which this constructor reads or makes beside `configuration`.
  /// `auth.token_for_changes: false` removes that requirement.
  Access(const config::ManagementApi& management, const std::filesystem::path& configuration);
  /// Uses a local token that was opened before; it may be empty.
  Access(const config::ManagementApi& management, LocalToken local);

  /// kUnknown: no token or an unknown one. kForbidden: the token's role lacks the permission.
  /// kExposed: no tokens are required, other machines can connect, and the permission is for a
  /// change. kForeignPage: no tokens are required, the permission is for a change, and the request
  /// comes from a page of another site or port in a browser on this machine. kNoLocalToken: the
  /// local token is required, and the request lacks it.
  CheckResult check(std::string_view permission, const Credentials& caller) const;

  /// Returns the caller's name in the audit log: "role operator", "unknown token", or without
  /// required tokens "local token" or "anybody".
  std::string actor(const Credentials& caller) const;

  /// Returns the variable of the environment that has the caller's token; "" for another caller.
  /// It names the person if each has a token of their own.
  std::string_view token_variable(const Credentials& caller) const;

  bool requires_tokens() const { return requires_tokens_; }
  const LocalToken& local_token() const { return local_; }
  /// True if no tokens are required and the caller is a program of this machine, as far as the
  /// listener's address and the Origin header reveal.
  bool is_on_this_machine(const Credentials& caller) const;
  /// Returns all permissions of the caller, among those that routes require.
  std::vector<std::string_view> granted(const Credentials& caller) const;

  /// True if the caller may read secrets; without tokens nobody may.
  bool shows_secrets(const Credentials& caller) const;
  /// True if the caller may see what the router's files contain: with the permission to see
  /// secrets, or with the local token, which only the router's user can read.
  bool may_see_files(const Credentials& caller) const;

  /// Startup notices for the operator, one line each.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  struct Token {
    std::string digest;  // SHA-256, so that every comparison has the same length
    std::vector<std::string> permissions;
    std::string role, variable;
  };
  const Token* find(std::optional<std::string_view> authorization) const;
  bool has_local_token(const Credentials& caller) const;

  bool requires_tokens_;
  bool loopback_only_;
  LocalToken local_;
  std::vector<Token> tokens_;
  std::vector<std::string> notices_;
};

}  // namespace signalbox::access
