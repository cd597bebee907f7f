// A caller's token is compared with all tokens, byte for byte, even after a match, so that the time
// reveals nothing.

#include "router/access/access.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/ascii.h"
#include "base/sha256.h"
#include "router/http/headers.h"

namespace signalbox::access {
namespace {

using Roles = std::map<std::string, std::vector<std::string>>;

Roles default_roles() {
  const std::vector<std::string> viewer{
      "health.read",     "ready.read",  "docs.read", "metrics.read", "config.read",
      "classify.invoke", "replay.read", "data.read", "cache.read",   "compression.read"};
  std::vector<std::string> editor = viewer;
  for (const char* more :
       {"config.write", "learning.ingest", "replay.detail", "data.write", "cache.invalidate",
        "compression.preview", "chat.invoke", "keys.read", "keys.write", "audit.read"}) {
    editor.emplace_back(more);
  }
  return {{"viewer", viewer}, {"operator", editor}, {"admin", {"*"}}};
}

bool allows(const std::vector<std::string>& permissions, std::string_view wanted) {
  return std::any_of(permissions.begin(), permissions.end(),
                     [&](const std::string& each) { return each == "*" || each == wanted; });
}

/// Returns "localhost:8080" for "http://localhost:8080".
std::string_view authority_of(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

bool is_local(std::string_view authority) {
  if (authority.starts_with("[::1]")) return authority.size() == 5 || authority[5] == ':';
  const std::string_view host = authority.substr(0, authority.find(':'));
  const bool number = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || (number && is_loopback(host));
}

/// True if the request comes from a page of this listener: its host is this machine and its port is
/// that of the listener. Another port belongs to another program.
bool is_own_page(const Credentials& caller) {
  const std::string_view page = authority_of(*caller.origin);
  return is_local(page) && ascii::iequals(page, caller.host.value_or(""));
}

bool changes_something(std::string_view permission) {
  return permission == kConfigWrite || permission == kCacheInvalidate || permission == kChat ||
         permission == kKeysWrite || permission == kDataWrite || permission == kLearn;
}

/// Returns true for the permissions to change who may use the router and where requests go.
bool needs_local_token(std::string_view permission) {
  return permission == kConfigWrite || permission == kKeysWrite;
}

bool takes_tokens(const config::ManagementApi& management) {
  return ascii::iequals(management.auth.mode, "bearer");
}

bool uses_local_token(const config::ManagementApi& management) {
  return management.enabled && management.auth.token_for_changes && !takes_tokens(management) &&
         is_loopback(management.bind_address);
}

}  // namespace

bool equal(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

/// Returns "secret" for "Bearer secret", and "" for anything else.
std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (!ascii::iequals(authorization.substr(0, kScheme.size()), kScheme)) return {};
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return authorization;
}

Credentials credentials_of(const http::Request& request) {
  return {request.headers.find("authorization"), request.headers.find("origin"),
          request.headers.find("host")};
}

bool is_loopback(std::string_view address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

Access::Access(const config::ManagementApi& management, const std::filesystem::path& configuration)
    : Access(management,
             uses_local_token(management) ? open_local_token(configuration) : LocalToken()) {}

Access::Access(const config::ManagementApi& management, LocalToken local)
    : requires_tokens_(takes_tokens(management)),
      loopback_only_(is_loopback(management.bind_address)),
      local_(std::move(local)) {
  const auto note = [&](std::string what) {
    notices_.push_back("global.services.management_api: " + std::move(what));
  };
  if (!requires_tokens_) {
    if (management.enabled && !loopback_only_)
      note(
          "every client that can connect may classify and may read everything, also the audit log "
          "and the list of keys; changes are refused without auth.mode bearer");
    if (!local_.trouble.empty())
      note(
          fmt::format("the configuration and the keys cannot be changed here, because there is no "
                      "local token: {}",
                      local_.trouble));
    return;
  }
  const Roles roles = management.auth.roles.empty() ? default_roles() : management.auth.roles;
  for (const config::ManagementApi::Token& token : management.auth.tokens) {
    const char* value = std::getenv(token.env.c_str());
    const auto role = roles.find(token.role);
    if (value == nullptr || *value == '\0') continue;  // reading the file gave a notice
    if (role == roles.end()) {
      note(fmt::format(
          "the role \"{}\" of the token in {} is not in auth.roles, so the token has no permission",
          token.role, token.env));
    } else {
      tokens_.push_back({sha256_hex(value), role->second, token.role, token.env});
    }
  }
  if (tokens_.empty()) note("there is no token, so every request is refused");
}

const Access::Token* Access::find(std::optional<std::string_view> authorization) const {
  const std::string_view sent = bearer_token(authorization.value_or(""));
  if (sent.empty()) return nullptr;
  const std::string digest = sha256_hex(sent);
  const Token* found = nullptr;
  for (const Token& token : tokens_) {
    if (equal(token.digest, digest)) found = &token;
  }
  return found;
}

Access::CheckResult Access::check(std::string_view permission, const Credentials& caller) const {
  if (!requires_tokens_) {
    if (!changes_something(permission)) return CheckResult::kGranted;
    if (!loopback_only_) return CheckResult::kExposed;
    if (!is_on_this_machine(caller)) return CheckResult::kForeignPage;
    const bool lacks_token =
        local_.required && needs_local_token(permission) && !has_local_token(caller);
    return lacks_token ? CheckResult::kNoLocalToken : CheckResult::kGranted;
  }
  const Token* token = find(caller.authorization);
  if (token == nullptr) return CheckResult::kUnknown;
  if (permission == kAnyone) return CheckResult::kGranted;
  return allows(token->permissions, permission) ? CheckResult::kGranted : CheckResult::kForbidden;
}

bool Access::is_on_this_machine(const Credentials& caller) const {
  return !requires_tokens_ && loopback_only_ && (!caller.origin || is_own_page(caller));
}

bool Access::has_local_token(const Credentials& caller) const {
  const std::string_view sent = bearer_token(caller.authorization.value_or(""));
  return !local_.secret.empty() && equal(sha256_hex(local_.secret), sha256_hex(sent));
}

std::string Access::actor(const Credentials& caller) const {
  if (!requires_tokens_) return has_local_token(caller) ? "local token" : "anybody";
  const Token* token = find(caller.authorization);
  return token == nullptr ? "unknown token" : "role " + token->role;
}

std::string_view Access::token_variable(const Credentials& caller) const {
  const Token* token = requires_tokens_ ? find(caller.authorization) : nullptr;
  return token == nullptr ? std::string_view() : token->variable;
}

std::vector<std::string_view> Access::granted(const Credentials& caller) const {
  std::vector<std::string_view> out;
  for (const std::string_view permission :
       {kConfigRead, kConfigWrite, kCacheRead, kCacheInvalidate, kClassify, kChat, kKeysRead,
        kKeysWrite, kAuditRead, std::string_view("metrics.read"), std::string_view("replay.read"),
        kReplayDetail, kDataWrite}) {
    if (check(permission, caller) == CheckResult::kGranted) out.push_back(permission);
  }
  if (shows_secrets(caller)) out.push_back(kSecretView);
  return out;
}

bool Access::may_see_files(const Credentials& caller) const {
  return shows_secrets(caller) || has_local_token(caller);
}

bool Access::shows_secrets(const Credentials& caller) const {
  const Token* token = requires_tokens_ ? find(caller.authorization) : nullptr;
  return token != nullptr && allows(token->permissions, kSecretView);
}

}  // namespace signalbox::access
