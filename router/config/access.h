#pragma once
// The section `global.access`, which lists who may use the data listeners, and the identity of a
// client from the headers of `global.services.authz.identity`.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/services.h"

namespace signalbox::config {

/// A client's key. The key itself is stored nowhere.
struct ClientKey {
  std::string name;
  std::string hash;  // "sha256:" and 64 hexadecimal digits of the key's SHA-256
  std::string user;  // "": the name
  std::vector<std::string> groups;
  std::vector<std::string> models;   // that it may use; empty: all
  std::vector<std::string> recipes;  // that it may use; empty: all
  std::string expires;               // "2027-01-31" or "2027-01-31T12:00:00Z"; "": never
  std::vector<RateLimit::Rule> limits;
  bool is_token = false;  // made from a verified token; its name is "ISSUER/USER"

  const std::string& user_or_name() const { return user.empty() ? name : user; }
};

/// The signature algorithms of tokens, by their names in RFC 7518 and RFC 8037.
inline constexpr auto kTokenAlgorithms = std::to_array<std::string_view>(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"});

/// The rights of the tokens of a group.
struct TokenGroup {
  std::string name;                  // "*": everybody
  std::vector<std::string> models;   // empty: all
  std::vector<std::string> recipes;  // empty: all
  std::vector<RateLimit::Rule> limits;
};

/// An issuer of bearer tokens (JWT) that clients may send instead of a key.
struct TokenIssuer {
  std::string name;
  std::string issuer;
  std::vector<std::string> audiences;
  std::string jwks_uri;   // "" without a file: the issuer's discovery document has it
  std::string jwks_file;  // relative to the configuration file
  std::string tls_ca_path;
  std::vector<std::string> algorithms;  // empty: all of kTokenAlgorithms
  std::string user_claim = "sub";
  std::string groups_claim = "groups";
  std::string prefix;  // of users and groups
  std::chrono::milliseconds keys_age_max = std::chrono::hours(24);
  std::vector<TokenGroup> groups;  // the first group of a token counts; empty: tokens may do all
};

/// True for an address from which keys may be read: https, or http on this machine.
bool is_safe_url(std::string_view url);

/// The server at which several routers share their clients' keys.
struct KeysStore {
  std::string backend;  // "redis", "valkey" or "postgres"; "": there is no store
  Redis redis;
  Valkey valkey;
  Postgres postgres;
  std::chrono::milliseconds keys_age_max = std::chrono::hours(24);

  bool is_used() const { return !backend.empty(); }
  bool operator==(const KeysStore&) const = default;
};

struct ClientAccess {
  std::vector<ClientKey> keys;
  std::string keys_file;
  KeysStore keys_store;
  std::vector<TokenIssuer> tokens;
  /// Addresses ("10.0.0.1", "10.0.0.0/8") whose identity headers count. Nullopt: this machine's, or
  /// none if requests need a key.
  std::optional<std::vector<std::string>> trusted_proxies;

  bool requires_key() const {
    return !keys.empty() || !keys_file.empty() || keys_store.is_used() || !tokens.empty();
  }
};

/// Reads a file of keys, {"keys": [...]}, in the form of `global.access.keys`. Errors: kInvalid,
/// one line for each mistake.
Result<std::vector<ClientKey>> parse_keys(std::string_view text, std::string_view name);
/// Writes the file that parse_keys() reads.
std::string keys_text(const std::vector<ClientKey>& keys);

/// The unit of a limit as the file has it, such as "minute".
std::string_view name_of_unit(std::chrono::seconds unit);

/// Returns the seconds since 1970 of "2027-01-31", the beginning of that day in UTC, or of
/// "2027-01-31T12:00:00Z". Nullopt for other texts.
std::optional<int64_t> parse_time(std::string_view text);
/// The forms that parse_time() reads, for messages.
inline constexpr const char* kTimeForms =
    "a date, 2027-01-31, or a time in UTC, 2027-01-31T12:00:00Z";

/// Addresses with the same first bits. IPv4 counts as IPv6, ::ffff:10.0.0.1.
struct Network {
  std::array<uint8_t, 16> bytes{};
  int bits = 128;

  /// False for a text that is not an IP address.
  bool contains(std::string_view address) const;
};
/// "10.0.0.1", "10.0.0.0/8", "fd00::/8". Nullopt for other texts.
std::optional<Network> parse_network(std::string_view text);

struct Config;

/// The field without spaces and tabs around it.
std::string_view identity_of(std::string_view field);

/// True if a field of groups, with commas between them, contains this one.
bool is_member(std::string_view groups, std::string_view group);

/// True if a request with these two fields must be refused: it has no identity, a routing has
/// role_bindings, and `fail_open` is false.
bool refuses_stranger(const Config& config, std::string_view user, std::string_view groups);

/// The reason of that refusal, for the client.
std::string stranger_message(const Config& config);

}  // namespace signalbox::config
