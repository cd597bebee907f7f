// A list shows no hashes, because nobody needs them.

#include "router/admin/keys.h"

#include "base/json_writer.h"
#include "base/log.h"
#include "router/access/access.h"
#include "router/admin/query.h"

namespace signalbox::admin {
namespace {

using serving::ServingState;

constexpr std::string_view kKeys = "/api/v1/keys";
constexpr std::string_view kInConfiguration = "configuration", kInFile = "file", kInStore = "store";

void write_names(json::Writer& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

void write_limits(json::Writer& out, const std::vector<config::RateLimit::Rule>& limits) {
  out.key("limits").begin_array();
  for (const config::RateLimit::Rule& limit : limits) {
    out.begin_object();
    if (limit.requests_per_unit > 0)
      out.member("requests", static_cast<int64_t>(limit.requests_per_unit));
    if (limit.tokens_per_unit > 0)
      out.member("tokens", static_cast<int64_t>(limit.tokens_per_unit));
    out.member("seconds", int64_t{limit.unit.count()}).end_object();
  }
  out.end_array();
}

void write_issuer(json::Writer& out, const tokens::Verifier::IssuerState& issuer) {
  const config::TokenIssuer& settings = issuer.settings;
  out.begin_object().member("name", settings.name).member("issuer", settings.issuer);
  write_names(out, "audiences", settings.audiences);
  if (!settings.prefix.empty()) out.member("prefix", settings.prefix);
  out.key("groups").begin_array();
  for (const config::TokenGroup& group : settings.groups) {
    out.begin_object().member("name", group.name);
    write_names(out, "models", group.models);
    write_names(out, "recipes", group.recipes);
    write_limits(out, group.limits);
    out.end_object();
  }
  out.end_array().member("has_keys", issuer.keys.keys != nullptr);
  if (!issuer.keys.trouble.empty()) out.member("trouble", issuer.keys.trouble);
  out.end_object();
}

void write_key(json::Writer& out, const config::ClientKey& key, std::string_view where) {
  out.begin_object().member("name", key.name).member("user", key.user_or_name());
  write_names(out, "groups", key.groups);
  write_names(out, "models", key.models);
  write_names(out, "recipes", key.recipes);
  write_limits(out, key.limits);
  out.key("expires");
  key.expires.empty() ? out.null() : out.string(key.expires);
  out.member("from", where).end_object();
}

void write_store(json::Writer& out, const shared_keys::SharedKeys& store) {
  const shared_keys::SharedKeys::Stats stats = store.stats();
  out.key("store").begin_object().member("name", store.name()).member("works", stats.works);
  if (!stats.trouble.empty()) out.member("trouble", stats.trouble);
  out.end_object();
}

/// If the store does not answer, clients may try again: the keys are unchanged, or the message
/// states that this is not known.
AdminReply refusal_of(const Error& error) {
  if (error.code == Code::kUpstream)
    return AdminReply::of({503, "KEYS_UNAVAILABLE", error.message});
  return AdminReply::of(access::failure_of(error));
}

AdminReply list_keys(const http::Request&, const ServingState& state) {
  const access::Clients& clients = *state.clients;
  const auto stored = clients.stored();
  if (!stored) return AdminReply::of(access::failure_of(stored.error()));
  json::Writer out;
  out.begin_object().member("required", clients.requires_key());
  out.member("has_file", clients.can_change_keys());  // also true for a store: keys can be added
  if (clients.store() != nullptr) write_store(out, *clients.store());
  out.key("keys").begin_array();
  for (const auto& key : clients.configured()) write_key(out, key, kInConfiguration);
  for (const auto& key : *stored)
    write_key(out, key, clients.store() == nullptr ? kInFile : kInStore);
  out.end_array().key("issuers").begin_array();
  for (const auto& issuer : state.clients->issuers()) write_issuer(out, issuer);
  return {200, out.end_array().end_object().take()};
}

/// Reads a key from the client's description, by the same rules as in a keys file, and adds its
/// hash.
Result<config::ClientKey> read_key(std::string_view body, const std::string& hash) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::string(body)));
  const json::Value root = document.root();
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  if (root.find("hash"))
    return fail(Code::kInvalid, "hash: the router makes the key, and the hash with it");
  json::Writer out;
  out.begin_object().member("hash", hash);
  for (const json::Member& member : root.members()) out.key(member.key).raw(member.value.raw());
  const std::string file = fmt::format("{{\"keys\": [{}]}}", out.end_object().take());
  SIGNALBOX_TRY(auto keys, config::parse_keys(file, "the request"));
  return std::move(keys.front());
}

AdminReply add_key(const http::Request& request, const ServingState& state) {
  const access::NewKey made = access::new_key();
  const auto key = read_key(request.body, made.hash);
  if (!key) return AdminReply::of(access::failure_of(key.error()));
  if (const auto done = state.clients->change(access::adding(*key)); !done)
    return refusal_of(done.error());
  log::info("access", "the key \"{}\" was added", key->name);
  json::Writer out;
  out.begin_object().member("name", key->name).member("key", made.secret);
  return {.status = 201, .body = out.end_object().take(), .subject = key->name};
}

AdminReply revoke_key(const http::Request& request, const ServingState& state) {
  const std::string name = decoded(request.path().substr(kKeys.size() + 1));
  if (const auto done = state.clients->change(access::removing(name)); !done)
    return refusal_of(done.error());
  log::info("access", "the key \"{}\" was revoked", name);
  json::Writer out;
  return {.status = 200,
          .body = out.begin_object().member("revoked", name).end_object().take(),
          .subject = name};
}

}  // namespace

std::vector<http::Route> key_routes(const serving::CurrentState& current, http::ThreadPool& pool) {
  const std::string all(kKeys), one = all + '/';
  return {management_route("GET", all, access::kKeysRead, current, pool, list_keys),
          management_route("POST", all, access::kKeysWrite, current, pool, add_key),
          management_route("DELETE", one, access::kKeysWrite, current, pool, revoke_key)};
}

}  // namespace signalbox::admin
