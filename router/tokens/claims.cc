// Users and groups become header fields with commas between them, so a name with a comma or a
// control character is refused: it could otherwise pass for two.

#include "router/tokens/claims.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json_writer.h"
#include "router/config/endpoint.h"
#include "router/tokens/token.h"

namespace signalbox::tokens {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr double kTimeMax = 1e15;  // seconds, far behind every calendar

template <class... Args>
tl::unexpected<TokenRefusal> refuse(std::string_view reason, fmt::format_string<Args...> format,
                                    Args&&... args) {
  return tl::unexpected<TokenRefusal>(
      TokenRefusal{401, reason, fmt::format(format, std::forward<Args>(args)...)});
}

constexpr std::string_view kInvalid = "invalid_token";

/// Returns "5 minutes".
std::string in_words(int64_t seconds) {
  struct Unit {
    int64_t seconds;
    std::string_view name;
  };
  constexpr Unit kUnits[] = {{86'400, "day"}, {3'600, "hour"}, {60, "minute"}, {1, "second"}};
  for (const Unit& unit : kUnits) {
    const int64_t count = seconds / unit.seconds;
    if (count > 1 || unit.seconds == 1)
      return fmt::format("{} {}{}", count, unit.name, count == 1 ? "" : "s");
  }
  return {};
}

tl::expected<std::optional<int64_t>, TokenRefusal> time_in(const json::Value& claims,
                                                           std::string_view name) {
  const auto value = only_member(claims, name);
  if (!value) return refuse(kInvalid, "{}", value.error().message);
  if (!*value) return std::optional<int64_t>();
  const auto number = (*value)->number();
  if (!(*value)->is_number() || !number || std::abs(*number) > kTimeMax)
    return refuse(kInvalid, "the token's {} is not a time in seconds since 1970", name);
  return std::optional<int64_t>(static_cast<int64_t>(std::floor(*number)));
}

/// Returns the time until which the token is valid.
tl::expected<int64_t, TokenRefusal> check_times(const json::Value& claims, int64_t now) {
  const auto expires = time_in(claims, "exp");
  if (!expires) return tl::unexpected<TokenRefusal>(expires.error());
  if (!*expires)
    return refuse(kInvalid, "the token has no exp: tokens that never expire are not accepted");
  const int64_t until = **expires + kLeeway;
  if (now >= until)
    return refuse("expired_token", "the token expired {} ago", in_words(now - **expires));
  for (const std::string_view name : {"nbf", "iat"}) {
    const auto begins = time_in(claims, name);
    if (!begins) return tl::unexpected<TokenRefusal>(begins.error());
    if (*begins && **begins > now + kLeeway) {
      return refuse("early_token", "the token is {} in {} ({}); compare the clocks",
                    name == "nbf" ? "valid only" : "from the future,", in_words(**begins - now),
                    name);
    }
  }
  return until;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::optional<TokenRefusal> check_audience(const json::Value& claims,
                                           const std::vector<std::string>& audiences) {
  const auto value = only_member(claims, "aud");
  if (!value) return TokenRefusal{401, kInvalid, value.error().message};
  const auto is_ours = [&](const json::Value& each) {
    return each.is_string() && std::ranges::find(audiences, each.text()) != audiences.end();
  };
  std::string found = "none";
  if (*value && (*value)->is_string()) {
    if (is_ours(**value)) return std::nullopt;
    found = json::quote_briefly((*value)->text());
  } else if (*value && (*value)->is_array()) {
    bool is_first = true;
    for (const json::Value& each : (*value)->items()) {
      if (is_ours(each)) return std::nullopt;
      if (std::exchange(is_first, false) && each.is_string())
        found = json::quote_briefly(each.text()) + " and others";
    }
  }
  return TokenRefusal{
      401, "wrong_audience",
      fmt::format("the token's audience {} is not one of {}", found, listed(audiences))};
}

/// Finds a claim by its name, or by the parts of its name between dots in objects within objects. A
/// name that contains dots itself, such as "https://example.com/groups", comes first.
tl::expected<std::optional<json::Value>, TokenRefusal> claim_in(json::Value object,
                                                                std::string_view name) {
  for (;;) {
    auto whole = only_member(object, name);
    if (!whole) return refuse(kInvalid, "{}", whole.error().message);
    if (*whole) return *whole;
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos) return std::optional<json::Value>();
    const auto part = only_member(object, name.substr(0, dot));
    if (!part) return refuse(kInvalid, "{}", part.error().message);
    if (!*part) return std::optional<json::Value>();
    object = **part;
    name.remove_prefix(dot + 1);
  }
}

/// True for a name that a header field keeps as it is.
bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && config::identity_of(name) == name &&
         config::is_header_value(name) && name.find(',') == std::string_view::npos;
}

/// `what` names the value in a refusal: "the token's sub".
tl::expected<std::string, TokenRefusal> read_name(const json::Value& value, std::string_view what) {
  if (!value.is_string() || !is_plain(value.text())) {
    return refuse(kInvalid,
                  "{} is not a name: it must be a text of at most {} bytes without "
                  "commas, control characters and spaces around it",
                  what, kNameBytesMax);
  }
  return std::string(value.text());
}

tl::expected<std::vector<std::string>, TokenRefusal> read_groups(const json::Value& claims,
                                                                 const std::string& claim) {
  const auto value = claim_in(claims, claim);
  if (!value) return tl::unexpected<TokenRefusal>(value.error());
  std::vector<std::string> out;
  if (!*value || (*value)->is_null()) return out;
  if (!(*value)->is_array()) {
    auto name = read_name(**value, "the token's " + claim);
    if (!name) return tl::unexpected<TokenRefusal>(std::move(name).error());
    out.push_back(*std::move(name));
    return out;
  }
  const std::string what = fmt::format("one of the token's groups ({})", claim);
  for (const json::Value& each : (*value)->items()) {
    auto name = read_name(each, what);
    if (!name) return tl::unexpected<TokenRefusal>(std::move(name).error());
    out.push_back(*std::move(name));
  }
  return out;
}

tl::expected<const config::TokenGroup*, TokenRefusal> rights_of(
    const std::vector<std::string>& groups, const config::TokenIssuer& issuer) {
  if (issuer.groups.empty()) return nullptr;
  for (const config::TokenGroup& each : issuer.groups) {
    if (each.name == "*" || std::ranges::find(groups, each.name) != groups.end()) return &each;
  }
  return tl::unexpected<TokenRefusal>(
      TokenRefusal{403, "group_not_allowed",
                   fmt::format("the token's {} has none of the groups that may use this router",
                               issuer.groups_claim)});
}

}  // namespace

tl::expected<Identity, TokenRefusal> check_claims(const json::Value& claims,
                                                  const config::TokenIssuer& issuer, int64_t now) {
  const auto until = check_times(claims, now);
  if (!until) return tl::unexpected<TokenRefusal>(until.error());
  if (auto refusal = check_audience(claims, issuer.audiences))
    return tl::unexpected<TokenRefusal>(*std::move(refusal));
  const auto user = claim_in(claims, issuer.user_claim);
  if (!user) return tl::unexpected<TokenRefusal>(user.error());
  if (!*user) return refuse(kInvalid, "the token has no claim {} for the user", issuer.user_claim);
  auto name = read_name(**user, "the token's " + issuer.user_claim);
  if (!name) return tl::unexpected<TokenRefusal>(std::move(name).error());
  auto groups = read_groups(claims, issuer.groups_claim);
  if (!groups) return tl::unexpected<TokenRefusal>(std::move(groups).error());
  const auto rights = rights_of(*groups, issuer);
  if (!rights) return tl::unexpected<TokenRefusal>(rights.error());
  for (std::string& group : *groups) group.insert(0, issuer.prefix);
  return Identity{issuer.prefix + *name, *std::move(groups), *rights, *until};
}

}  // namespace signalbox::tokens
