// `global.services.authz` and `ratelimit`: who asks, and how often they may.

#include "router/config/service_tables.h"

namespace signalbox::config {
namespace {

const Section<Authz::Identity>& identity_section() {
  using I = Authz::Identity;
  static const Section<I> section{{
      optional("user_id_header", string(&I::user_id_header), "names the user"),
      optional("user_groups_header", string(&I::user_groups_header),
               "names the groups, with commas between them"),
  }};
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

const Section<RateLimit::Match>& match_section() {
  using M = RateLimit::Match;
  static const Section<M> section{{
      optional("user", string(&M::user), "requests of this user"),
      optional("group", string(&M::group), "requests of this group"),
      optional("model", string(&M::model), "requests for this model"),
  }};
  return section;
}

const Section<RateLimit::Rule>& limit_section() {
  using R = RateLimit::Rule;
  constexpr int64_t kMax = int64_t{1} << 48;
  static const Section<R> section{{
      optional("name", string(&R::name), "of the rule"),
      optional("match", object(&R::match, match_section), "what it is about"),
      optional("requests_per_unit", integer(&R::requests_per_unit, 0, kMax), "0: any number"),
      optional("tokens_per_unit", integer(&R::tokens_per_unit, 0, kMax), "0: any number"),
      optional("unit", word(&R::unit, {"second", "minute", "hour", "day"}), "of time"),
  }};
  return section;
}

const Section<RateLimit::Provider>& limit_provider_section() {
  using P = RateLimit::Provider;
  static const Section<P> section{{
      required("type", text(&P::type), "envoy-ratelimit or local-limiter"),
      optional("address", string(&P::address), "of envoy-ratelimit: host:port"),
      optional("domain", string(&P::domain), "of envoy-ratelimit"),
      optional("rules", list(&P::rules, limit_section), "of local-limiter"),
  }};
  return section;
}

}  // namespace

const Section<Authz>& authz_section() {
  using A = Authz;
  static const Section<A> section{{
      optional("fail_open", boolean(&A::fail_open), "let requests pass that name nobody")
          .not_built("a request that names nobody has no role, and is not refused for it"),
      optional("identity", object(&A::identity, identity_section), "headers that can be trusted"),
      optional("providers", list(&A::providers, authz_provider_section), "where roles come from")
          .not_built("the identity headers are what roles go by"),
  }};
  return section;
}

const Section<RateLimit>& ratelimit_section() {
  using R = RateLimit;
  static const Section<R> section{{
      optional("fail_open", boolean(&R::fail_open), "let requests pass when a limiter fails"),
      optional("providers", list(&R::providers, limit_provider_section), "who counts"),
  }};
  return section;
}

}  // namespace signalbox::config
