// `global.access`, and from `global.services` `authz` and `ratelimit`: who may send requests, and
// how many. Also the identities of clients.

#include "router/config/access.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/config/endpoint.h"
#include "router/config/sections.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

void check_identity(Reader& reader, const yaml::Node& node, Authz::Identity& identity) {
  const auto check = [&](std::string_view key, const std::string& name) {
    if (is_header_name(name)) return;
    reader.at_key(key, [&] {
      reader.error(node.find(key)->line,
                   fmt::format("expected the name of a header, found \"{}\"", name));
    });
  };
  check("user_id_header", identity.user_id_header);
  check("user_groups_header", identity.user_groups_header);
}

constexpr Key kIdentityKeys[] = {
    string(FIELD(Authz::Identity, user_id_header),
           "Header that names the user. Default: `x-authz-user-id`."),
    string(FIELD(Authz::Identity, user_groups_header),
           "Header that names the user's groups, with commas between them. Default: "
           "`x-authz-user-groups`."),
    word(FIELD(Authz::Identity, ingress), "header-injection none",
         "`none`: identity headers are removed, whoever sends them. Default: `header-injection`, "
         "those of trusted proxies count."),
};
constexpr Section kIdentityHeaders{kIdentityKeys, checked<check_identity>};

constexpr Key kAuthzProviderKeys[] = {
    text(FIELD(Authz::Provider, type), "`header-injection` and others.").required(),
    text_map(FIELD(Authz::Provider, headers), "Headers, for `header-injection`."),
};
constexpr Section kAuthzProvider{kAuthzProviderKeys};

constexpr Key kAuthzKeys[] = {
    boolean(FIELD(Authz, fail_open),
            "Requests without an identity have no role (true, the default). false: they are "
            "refused if a routing has role_bindings."),
    object(FIELD(Authz, identity), kIdentityHeaders,
           "Trusted headers, which a proxy in front sets."),
    list(FIELD(Authz, providers), kAuthzProvider, "Sources of roles.")
        .not_built("roles follow from the identity headers"),
};

void check_limit_match(Reader& reader, const yaml::Node& node, RateLimit::Match& match) {
  const Providers& providers = reader.config.providers;
  if (match.model.empty() || providers.models.empty() || providers.find(match.model) != nullptr)
    return;
  std::vector<std::string_view> known;
  for (const Model& each : providers.models) known.push_back(each.name);
  reader.at_key("model", [&] {
    reader.error(node.find("model")->line, fmt::format("unknown model \"{}\"{}", match.model,
                                                       suggestion(match.model, known)));
  });
}

constexpr Key kLimitMatchKeys[] = {
    string(FIELD(RateLimit::Match, user), "Requests of this user."),
    string(FIELD(RateLimit::Match, group), "Requests of this group."),
    string(FIELD(RateLimit::Match, model), "Requests for this model."),
};
constexpr Section kLimitMatch{kLimitMatchKeys, checked<check_limit_match>};

constexpr std::string_view kLocalLimiter = "local-limiter";

constexpr Choice kLimitUnits[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}};

constexpr Key kLimitRuleKeys[] = {
    string(FIELD(RateLimit::Rule, name), "Name of the rule in refusals."),
    object(FIELD(RateLimit::Rule, match), kLimitMatch, "Requests that the rule limits."),
    integer(FIELD(RateLimit::Rule, requests_per_unit), 0, int64_t{1} << 48,
            "Requests of one user. 0: no limit."),
    integer(FIELD(RateLimit::Rule, tokens_per_unit), 0, int64_t{1} << 48,
            "Prompt and reply tokens of one user. 0: no limit."),
    choice(FIELD(RateLimit::Rule, unit), kLimitUnits, "Unit of time. Default: `minute`."),
};
constexpr Section kLimitRule{kLimitRuleKeys};

void check_limiter(Reader& reader, const yaml::Node& node, RateLimit::Provider& provider) {
  if (provider.type != "envoy-ratelimit") return;
  reader.at_key("type", [&] {
    reader.does_without(node.find("type")->line,
                        "envoy-ratelimit is not supported: this service is not called");
  });
}

constexpr Key kLimiterKeys[] = {
    word(FIELD(RateLimit::Provider, type), "local-limiter envoy-ratelimit",
         "The router itself, or Envoy's service, which is not built.")
        .required(),
    string(FIELD(RateLimit::Provider, address), "Address, `host:port`, of `envoy-ratelimit`."),
    string(FIELD(RateLimit::Provider, domain), "Domain, for `envoy-ratelimit`."),
    list(FIELD(RateLimit::Provider, rules), kLimitRule, "Rules of `local-limiter`."),
};
constexpr Section kLimiter{kLimiterKeys, checked<check_limiter>};

constexpr Key kRateLimitKeys[] = {
    boolean(FIELD(RateLimit, fail_open),
            "Admit requests if there are too many users to count. Default: false."),
    list(FIELD(RateLimit, providers), kLimiter, "Limiters."),
};

// --- keys ---

bool is_hash(std::string_view text) {
  constexpr std::string_view kScheme = "sha256:";
  constexpr size_t kDigits = 64;
  if (!text.starts_with(kScheme)) return false;
  text.remove_prefix(kScheme.size());
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_plain(const std::string& text) {
  return is_header_value(text) && text.find(',') == std::string::npos;
}

void check_key(Reader& reader, const yaml::Node& node, ClientKey& key) {
  const auto check = [&](std::string_view name, bool is_good, std::string_view wanted) {
    const yaml::Node* value = node.find(name);
    if (is_good || value == nullptr) return;
    reader.at_key(name, [&] { reader.expected(*value, wanted); });
  };
  check("name", is_plain(key.name), "a name without commas and control characters");
  check("hash", is_hash(key.hash),
        "sha256: and 64 hexadecimal digits, as `signalbox keys new` writes them");
  check("user", is_plain(key.user), "a name without commas and control characters");
  check("groups", std::all_of(key.groups.begin(), key.groups.end(), is_plain),
        "names without commas and control characters");
  check("expires", key.expires.empty() || parse_time(key.expires).has_value(), kTimeForms);
}

void check_model_names(Reader& reader, const yaml::Node& node, std::vector<std::string>& names) {
  const Providers& providers = reader.config.providers;
  if (providers.models.empty()) return;
  std::vector<std::string_view> known;
  for (const Model& each : providers.models) known.push_back(each.name);
  for (const std::string& name : names) {
    if (providers.find(name) != nullptr) continue;
    reader.error(node.line, fmt::format("unknown model \"{}\"{}", name, suggestion(name, known)));
  }
}

constexpr Key kKeyLimitKeys[] = {
    integer(FIELD(RateLimit::Rule, requests_per_unit), 0, int64_t{1} << 48,
            "Requests of the key. 0: no limit."),
    integer(FIELD(RateLimit::Rule, tokens_per_unit), 0, int64_t{1} << 48,
            "Prompt and reply tokens of the key. 0: no limit."),
    choice(FIELD(RateLimit::Rule, unit), kLimitUnits, "Unit of time. Default: `minute`."),
};
constexpr Section kKeyLimit{kKeyLimitKeys};

constexpr Key kClientKeyKeys[] = {
    text(FIELD(ClientKey, name), "Name of the key in logs and reports.").required(),
    text(FIELD(ClientKey, hash), "`sha256:` and the SHA-256 of the key.").required(),
    string(FIELD(ClientKey, user), "User in whose name the key is used. Default: the key's name."),
    texts(FIELD(ClientKey, groups), "Groups of this user."),
    texts(FIELD(ClientKey, models), "Models that the key may use. Default: all."),
    texts(FIELD(ClientKey, recipes),
          "Recipes that the key may use; `default` is the routing at the top of the file. Default: "
          "all."),
    string(FIELD(ClientKey, expires),
           "When the key ends: a date, `2027-01-31`, or a time in UTC, `2027-01-31T12:00:00Z`. "
           "Default: never."),
    list(FIELD(ClientKey, limits), kKeyLimit, "Limits of the key."),
};
constexpr Section kClientKey{kClientKeyKeys, checked<check_key>};

constexpr Key kKeysFileKeys[] = {
    named(FIELD(ClientAccess, keys), kClientKey, "The keys.").required(),
};
constexpr Section kKeysFile{kKeysFileKeys};

constexpr Key kKeysStoreKeys[] = {
    word(FIELD(KeysStore, backend), "redis valkey postgres", "`redis`, `valkey` or `postgres`.")
        .required(),
    object(FIELD(KeysStore, redis), kRedis, "The server, for `redis`."),
    object(FIELD(KeysStore, valkey), kValkey, "The server, for `valkey`."),
    object(FIELD(KeysStore, postgres), kPostgres,
           "The server, for `postgres`. Its table is `signalbox_keys` by default."),
    duration(
        FIELD(KeysStore, keys_age_max), 1s, 720h,
        "Time for which the keys that were read last stay valid while the store cannot be read. "
        "After that, keys of the store get 503. Default: `24h`."),
};

void check_keys_store(Reader& reader, const yaml::Node& node, KeysStore& store) {
  if (!store.is_used()) return;
  check_servers(reader, node, store.backend, store.redis, store.valkey);
  if (store.backend == "postgres") check_postgres(reader, node, store.postgres);
  note_unused(reader, node, {"redis", "valkey", "postgres"}, store.backend, false);
}

constexpr Section kKeysStore{kKeysStoreKeys, checked<check_keys_store>};

// --- tokens ---

constexpr Key kTokenGroupKeys[] = {
    text(FIELD(TokenGroup, name), "Name of the group in the token; `*` is everybody.").required(),
    texts(FIELD(TokenGroup, models), "Models that the group may use. Default: all.")
        .then<check_model_names>(),
    texts(
        FIELD(TokenGroup, recipes),
        "Recipes that the group may use; `default` is the routing at the top of the file. Default: "
        "all."),
    list(FIELD(TokenGroup, limits), kKeyLimit, "Limits of each user."),
};
constexpr Section kTokenGroup{kTokenGroupKeys};

void check_issuer(Reader& reader, const yaml::Node& node, TokenIssuer& issuer) {
  const auto check = [&](std::string_view name, bool is_good, std::string_view wanted) {
    const yaml::Node* value = node.find(name);
    if (is_good || value == nullptr) return;
    reader.at_key(name, [&] { reader.expected(*value, wanted); });
  };
  check("name", is_plain(issuer.name) && issuer.name.find('/') == std::string::npos,
        "a name without slashes, commas and control characters");
  check("prefix", is_plain(issuer.prefix), "a text without commas and control characters");
  check("audiences", !issuer.audiences.empty(), "at least one audience");
  check("user_claim", !issuer.user_claim.empty(), "the name of a claim");
  check("algorithms",
        std::all_of(issuer.algorithms.begin(), issuer.algorithms.end(),
                    [](const std::string& name) {
                      return std::ranges::find(kTokenAlgorithms, name) != kTokenAlgorithms.end();
                    }),
        "names among RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 and EdDSA");
  constexpr std::string_view kUrl =
      "a URL with https://, or with http:// on this machine, because whoever can change the keys "
      "on their way can forge tokens";
  if (!issuer.jwks_uri.empty()) {
    check("jwks_uri", is_safe_url(issuer.jwks_uri), kUrl);
    check("jwks_file", issuer.jwks_file.empty(), "no file beside jwks_uri");
  } else if (issuer.jwks_file.empty()) {
    check("issuer", is_safe_url(issuer.issuer), kUrl);
  }
}

constexpr Key kTokenIssuerKeys[] = {
    text(FIELD(TokenIssuer, name), "Name of the issuer in logs and reports.").required(),
    text(FIELD(TokenIssuer, issuer), "The claim `iss` of its tokens, to the letter.").required(),
    texts(FIELD(TokenIssuer, audiences),
          "A token must have one of them in its claim `aud`, to the letter.")
        .required(),
    string(FIELD(TokenIssuer, jwks_uri),
           "Address of the issuer's keys. Default: the one in "
           "`ISSUER/.well-known/openid-configuration`."),
    string(FIELD(TokenIssuer, jwks_file),
           "File with the keys instead, relative to this file. Changes count within a second."),
    string(FIELD(TokenIssuer, tls_ca_path),
           "PEM file of authorities for the issuer's certificate. Default: the system's."),
    texts(FIELD(TokenIssuer, algorithms),
          "Algorithms that are accepted: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, "
          "EdDSA. Default: all of these."),
    string(FIELD(TokenIssuer, user_claim),
           "Claim with the user; dots lead into objects. Default: `sub`."),
    string(FIELD(TokenIssuer, groups_claim),
           "Claim with the groups, a text or a list; dots lead into objects. Default: `groups`."),
    string(
        FIELD(TokenIssuer, prefix),
        "It is put before the names of its users and groups. With several issuers, no prefix may "
        "begin with another one; none at all begins every prefix."),
    duration(FIELD(TokenIssuer, keys_age_max), 1s, 720h,
             "How long keys are used while the issuer cannot be reached; requests then get 503. "
             "Default: `24h`."),
    named(FIELD(TokenIssuer, groups), kTokenGroup,
          "The rights of its tokens: the first group of the list that a token has decides, and a "
          "token without any of them gets 403. Default: every token may do everything."),
};
constexpr Section kTokenIssuer{kTokenIssuerKeys, checked<check_issuer>};

// Two issuers could otherwise name the same user, who would read the other's stored responses: with
// the prefixes "" and "b-", the user "b-ann" of one is the user "ann" of the other.
void check_issuers(Reader& reader, const yaml::Node& node, std::vector<TokenIssuer>& issuers) {
  for (size_t i = 1; i < issuers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const TokenIssuer &a = issuers[j], &b = issuers[i];
      const bool same_issuer = a.issuer == b.issuer;
      if (!same_issuer && !a.prefix.starts_with(b.prefix) && !b.prefix.starts_with(a.prefix))
        continue;
      reader.at_index(i, [&] {
        reader.error(
            node.items[i].line,
            same_issuer
                ? fmt::format("\"{}\" and \"{}\" have the same issuer", a.name, b.name)
                : fmt::format(
                      "one of the prefixes \"{}\" of \"{}\" and \"{}\" of \"{}\" begins with the "
                      "other, "
                      "so two users could have one name; set `prefix`, such as \"{}:\" and \"{}:\"",
                      a.prefix, a.name, b.prefix, b.name, a.name, b.name));
      });
      break;
    }
  }
}

void check_access(Reader& reader, const yaml::Node& node, ClientAccess& access) {
  if (!access.keys_file.empty() && access.keys_store.is_used()) {
    reader.at_key("keys_file", [&] {
      reader.error(node.find("keys_file")->line,
                   "expected no file beside keys_store; `signalbox keys import FILE` puts the keys "
                   "of a file into the store");
    });
  }
  if (!access.trusted_proxies) return;
  const yaml::Node* list = node.find("trusted_proxies");
  for (size_t i = 0; i < access.trusted_proxies->size(); ++i) {
    if (parse_network((*access.trusted_proxies)[i])) continue;
    reader.at_key("trusted_proxies", [&] {
      reader.at_index(i, [&] {
        reader.expected(list->items[i], "an IP address or a network, such as 10.0.0.0/8");
      });
    });
  }
}

void write_texts(json::Writer& out, std::string_view name, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

std::string key_json(const ClientKey& key) {
  json::Writer out;
  out.begin_object().member("name", key.name).member("hash", key.hash);
  if (!key.user.empty()) out.member("user", key.user);
  write_texts(out, "groups", key.groups);
  write_texts(out, "models", key.models);
  write_texts(out, "recipes", key.recipes);
  if (!key.expires.empty()) out.member("expires", key.expires);
  if (!key.limits.empty()) {
    out.key("limits").begin_array();
    for (const RateLimit::Rule& rule : key.limits) {
      out.begin_object().member("unit", name_of_unit(rule.unit));
      if (rule.requests_per_unit != 0)
        out.member("requests_per_unit", static_cast<int64_t>(rule.requests_per_unit));
      if (rule.tokens_per_unit != 0)
        out.member("tokens_per_unit", static_cast<int64_t>(rule.tokens_per_unit));
      out.end_object();
    }
    out.end_array();
  }
  return out.end_object().take();
}

void read_proxies(Reader& reader, const yaml::Node& node,
                  std::optional<std::vector<std::string>>& out) {
  read_texts(reader, node, out.emplace());
}

constexpr Key kAccessKeys[] = {
    named(
        FIELD(ClientAccess, keys), kClientKey,
        "Keys of clients. If the file has `keys`, `keys_file`, `keys_store` or `tokens`, requests "
        "without a valid key or token get 401."),
    string(FIELD(ClientAccess, keys_file),
           "File of further keys, relative to this file. `signalbox keys` and the management API "
           "change it; changes count at once."),
    object(FIELD(ClientAccess, keys_store), kKeysStore,
           "Server with further keys, which several routers share; instead of `keys_file`."),
    named(FIELD(ClientAccess, tokens), kTokenIssuer,
          "Issuers of bearer tokens (JWT) that clients may send instead of a key.")
        .then<check_issuers>(),
    key_of(FIELD(ClientAccess, trusted_proxies), Kind::kTexts,
           "Addresses and networks of proxies whose identity headers count. Default: this machine, "
           "or nobody if requests need a key.")
        .read_by<read_proxies>(),
};

}  // namespace

constinit const Section kAuthz{kAuthzKeys};
constinit const Section kRateLimit{kRateLimitKeys};
constinit const Section kClientAccess{kAccessKeys, checked<check_access>};

RateLimit local_limit(std::vector<RateLimit::Rule> rules) {
  RateLimit out;
  RateLimit::Provider& limiter = out.providers.emplace_back();
  limiter.type = kLocalLimiter;
  limiter.rules = std::move(rules);
  return out;
}

Result<std::vector<ClientKey>> parse_keys(std::string_view text, std::string_view name) {
  SIGNALBOX_TRY(const yaml::Node root, yaml::parse(text, name, {.aliases = false}));
  Reader reader(name, {.strict = true});
  ClientAccess out;
  if (root.kind == yaml::Kind::kMapping) {
    read_section(reader, root, kKeysFile, &out);
  } else {
    reader.expected(root, "a mapping with `keys`");
  }
  if (reader.failed()) return tl::unexpected<Error>(reader.take_errors());
  return std::move(out.keys);
}

std::string_view name_of_unit(std::chrono::seconds unit) {
  for (const Choice& each : kLimitUnits) {
    if (each.value == unit.count()) return each.word;
  }
  return "minute";
}

std::string keys_text(const std::vector<ClientKey>& keys) {
  std::string out = "{\"keys\": [";
  for (size_t i = 0; i < keys.size(); ++i) out += (i == 0 ? "\n" : ",\n") + key_json(keys[i]);
  return out + "\n]}\n";
}

// Strict, so that a date with a slip of the pen is an error and not another date.
std::optional<int64_t> parse_time(std::string_view text) {
  constexpr std::string_view kDate = "0000-00-00", kTime = "0000-00-00T00:00:00Z";
  const std::string_view form = text.size() == kDate.size() ? kDate : kTime;
  if (text.size() != form.size()) return std::nullopt;
  std::array<int, 6> parts{};
  size_t part = 0;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0' ? !ascii::is_digit(text[i]) : text[i] != form[i]) return std::nullopt;
    if (form[i] != '0') {
      ++part;
    } else {
      parts[part] = parts[part] * 10 + (text[i] - '0');
    }
  }
  using namespace std::chrono;
  const year_month_day date{year(parts[0]), month(static_cast<unsigned>(parts[1])),
                            day(static_cast<unsigned>(parts[2]))};
  if (!date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 59) return std::nullopt;
  const auto since =
      sys_days(date).time_since_epoch() + hours(parts[3]) + minutes(parts[4]) + seconds(parts[5]);
  return duration_cast<seconds>(since).count();
}

namespace {

struct Address {
  std::array<uint8_t, 16> bytes{};
  bool is_v4 = false;
};

std::optional<Address> parse_address(std::string_view text) {
  constexpr size_t kV4At = 12;
  const std::string copy(text);
  Address out;
  if (inet_pton(AF_INET6, copy.c_str(), out.bytes.data()) == 1) return out;
  if (inet_pton(AF_INET, copy.c_str(), out.bytes.data() + kV4At) != 1) return std::nullopt;
  out.bytes[kV4At - 1] = out.bytes[kV4At - 2] = 0xFF;
  out.is_v4 = true;
  return out;
}

}  // namespace

std::optional<Network> parse_network(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const std::optional<Address> address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  const int bits_max = address->is_v4 ? 32 : 128;
  int bits = bits_max;
  if (slash < text.size()) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc() || end != digits.data() + digits.size() || bits < 0 || bits > bits_max)
      return std::nullopt;
  }
  return Network{address->bytes, bits + 128 - bits_max};
}

bool Network::contains(std::string_view text) const {
  const std::optional<Address> address = parse_address(text);
  if (!address) return false;
  for (int bit = 0; bit < bits; ++bit) {
    const auto at = static_cast<size_t>(bit / 8);
    if (((bytes[at] ^ address->bytes[at]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

bool is_safe_url(std::string_view url) {
  const auto endpoint = parse_base_url(url.substr(0, url.find('?')));
  if (!endpoint || !is_header_value(url)) return false;
  if (endpoint->tls || endpoint->host == "localhost") return true;
  constexpr std::string_view kLocal[] = {"127.0.0.0/8", "::1"};
  return std::any_of(std::begin(kLocal), std::end(kLocal), [&](std::string_view each) {
    return parse_network(each)->contains(endpoint->host);
  });
}

std::string_view identity_of(std::string_view field) {
  while (field.starts_with(' ') || field.starts_with('\t')) field.remove_prefix(1);
  while (field.ends_with(' ') || field.ends_with('\t')) field.remove_suffix(1);
  return field;
}

bool is_member(std::string_view groups, std::string_view group) {
  while (!groups.empty()) {
    const size_t comma = std::min(groups.find(','), groups.size());
    if (identity_of(groups.substr(0, comma)) == group) return true;
    groups.remove_prefix(std::min(comma + 1, groups.size()));
  }
  return false;
}

bool refuses_stranger(const Config& config, std::string_view user, std::string_view groups) {
  if (config.authz.fail_open || !identity_of(user).empty()) return false;
  const auto is_separator = [](char c) { return c == ',' || c == ' ' || c == '\t'; };
  if (!std::all_of(groups.begin(), groups.end(), is_separator)) return false;
  const std::vector<const Routing*> all = routings_of(config);
  return std::any_of(all.begin(), all.end(),
                     [](const Routing* routing) { return !routing->role_bindings.empty(); });
}

std::string stranger_message(const Config& config) {
  const Authz::Identity& identity = config.authz.identity;
  return fmt::format("the request has no identity: neither {} nor {} is set",
                     identity.user_id_header, identity.user_groups_header);
}

}  // namespace signalbox::config
