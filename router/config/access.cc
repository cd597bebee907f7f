// `global.services.authz` and `ratelimit`: who asks, and how often they may.

#include "router/config/access.h"

#include <algorithm>

#include "router/config/headers.h"
#include "router/config/service_tables.h"

namespace signalbox::config {
namespace {

void check_identity(Reader& reader, const yaml::Node& node, Authz::Identity& identity) {
  const auto check = [&](std::string_view key, const std::string& name) {
    if (is_header_name(name)) return;
    reader.at_key(key, [&] {
      reader.error(node.find(key)->line,
                   fmt::format("expected a name of a header, found \"{}\"", name));
    });
  };
  check("user_id_header", identity.user_id_header);
  check("user_groups_header", identity.user_groups_header);
}

const Section<Authz::Identity>& identity_section() {
  using I = Authz::Identity;
  static const Section<I> section{
      {
          optional("user_id_header", string(&I::user_id_header), "names the user"),
          optional("user_groups_header", string(&I::user_groups_header),
                   "names the groups, with commas between them"),
      },
      check_identity};
  return section;
}

const Section<Authz::Provider>& authz_provider_section() {
  using P = Authz::Provider;
  static const Section<P> section{{
      required("type", text(&P::type), "header-injection, ..."),
      optional("headers", text_map(&P::headers), "of header-injection"),
  }};
  return section;
}

void check_match(Reader& reader, const yaml::Node& node, RateLimit::Match& match) {
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

const Section<RateLimit::Match>& match_section() {
  using M = RateLimit::Match;
  static const Section<M> section{
      {
          optional("user", string(&M::user), "requests of this user"),
          optional("group", string(&M::group), "requests of this group"),
          optional("model", string(&M::model), "requests for this model"),
      },
      check_match};
  return section;
}

const Section<RateLimit::Rule>& limit_section() {
  using R = RateLimit::Rule;
  constexpr int64_t kMax = int64_t{1} << 48;
  static const Section<R> section{{
      optional("name", string(&R::name), "how a refusal calls it"),
      optional("match", object(&R::match, match_section), "what it is about"),
      optional("requests_per_unit", integer(&R::requests_per_unit, 0, kMax),
               "of one user; 0: any number"),
      optional("tokens_per_unit", integer(&R::tokens_per_unit, 0, kMax),
               "read and written for one user; 0: any number"),
      optional("unit",
               choice(&R::unit, {{"second", std::chrono::seconds(1)},
                                 {"minute", std::chrono::minutes(1)},
                                 {"hour", std::chrono::hours(1)},
                                 {"day", std::chrono::hours(24)}}),
               "of time; default: minute"),
  }};
  return section;
}

void check_limiter(Reader& reader, const yaml::Node& node, RateLimit::Provider& provider) {
  if (provider.type != "envoy-ratelimit") return;
  reader.at_key("type", [&] {
    reader.not_built(node.find("type")->line, "envoy-ratelimit: this service is not asked");
  });
}

const Section<RateLimit::Provider>& limit_provider_section() {
  using P = RateLimit::Provider;
  static const Section<P> section{
      {
          required("type", word(&P::type, {"local-limiter", "envoy-ratelimit"}), "who counts"),
          optional("address", string(&P::address), "of envoy-ratelimit: host:port"),
          optional("domain", string(&P::domain), "of envoy-ratelimit"),
          optional("rules", list(&P::rules, limit_section), "of local-limiter"),
      },
      check_limiter};
  return section;
}

}  // namespace

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
  return fmt::format("the request names nobody: it has neither {} nor {}", identity.user_id_header,
                     identity.user_groups_header);
}

const Section<Authz>& authz_section() {
  using A = Authz;
  static const Section<A> section{{
      optional(
          "fail_open", boolean(&A::fail_open),
          "true (the default): a request that names nobody has no role; false: where there are "
          "role_bindings it is refused"),
      optional("identity", object(&A::identity, identity_section), "headers that can be trusted"),
      optional("providers", list(&A::providers, authz_provider_section), "where roles come from")
          .not_built("the identity headers are what roles go by"),
  }};
  return section;
}

const Section<RateLimit>& ratelimit_section() {
  using R = RateLimit;
  static const Section<R> section{{
      optional("fail_open", boolean(&R::fail_open),
               "let requests pass when there are too many users to count"),
      optional("providers", list(&R::providers, limit_provider_section), "who counts"),
  }};
  return section;
}

}  // namespace signalbox::config
