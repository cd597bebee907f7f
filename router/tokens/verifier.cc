// The claims are read before the signature is verified, but only to find the issuer. Only issuers
// in the configuration have keys here, so a token gains nothing by naming another one.

#include "router/tokens/verifier.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/sha256.h"
#include "router/tokens/token.h"

namespace signalbox::tokens {
namespace {

Verification refused(std::string_view reason, std::string message, int status = 401) {
  return {nullptr, {status, reason, std::move(message)}};
}

Owner owner_of(Identity identity, const config::TokenIssuer& issuer) {
  config::ClientKey out;
  out.is_token = true;
  out.name = fmt::format("{}/{}", issuer.name, identity.user);
  out.user = std::move(identity.user);
  out.groups = std::move(identity.groups);
  if (identity.rights != nullptr) {
    out.models = identity.rights->models;
    out.recipes = identity.rights->recipes;
    out.limits = identity.rights->limits;
  }
  // Shared by the remembered tokens and by the requests with them.
  return std::make_shared<const config::ClientKey>(std::move(out));
}

/// Returns the reason why there is no key for the token, and the keys to wait for. The client gets
/// no details about the issuer's server, because it is not authenticated yet; the log has them.
Verification without_key(const std::shared_ptr<KeySource>& source, const KeySource::Snapshot& state,
                         const config::TokenIssuer& issuer, const Token& token) {
  const bool is_new = state.keys == nullptr ||
                      (token.key_id ? !state.keys->has(*token.key_id) : state.keys->size() == 0);
  const bool waits = is_new && source->refresh();
  if (state.keys == nullptr || waits || (is_new && !state.trouble.empty())) {
    Verification out =
        refused("keys_unavailable",
                "the token cannot be verified now, because the keys of its issuer are "
                "not available; try again later",
                503);
    if (waits) out.awaited = source;
    return out;
  }
  const std::string id = token.key_id ? json::quote_briefly(*token.key_id) : "no key";
  if (!token.key_id) {
    return refused("unknown_signing_key",
                   fmt::format("the token names no key (kid), and the issuer \"{}\" does not have "
                               "exactly one for {}",
                               issuer.name, name_of(token.algorithm)));
  }
  return refused(
      "unknown_signing_key",
      fmt::format(
          "the token's key {} is not one of the issuer \"{}\"{}", id, issuer.name,
          state.keys->has(*token.key_id) ? fmt::format(" for {}", name_of(token.algorithm)) : ""));
}

}  // namespace

std::optional<Remembered::Entry> Remembered::find(const std::string& digest) {
  const std::lock_guard lock(mutex_);
  for (const auto* map : {&young_, &old_}) {
    if (const auto found = map->find(digest); found != map->end()) return found->second;
  }
  return std::nullopt;
}

void Remembered::add(const std::string& digest, Entry entry) {
  const std::lock_guard lock(mutex_);
  if (half_ == 0) return;
  if (young_.size() >= half_) {
    old_ = std::move(young_);
    young_.clear();
  }
  young_.insert_or_assign(digest, std::move(entry));
}

Result<std::unique_ptr<Verifier>> Verifier::create(const std::vector<config::TokenIssuer>& issuers,
                                                   const std::filesystem::path& config_file,
                                                   KeySources& sources, size_t remembered_max) {
  std::unique_ptr<Verifier> out(new Verifier(remembered_max));
  for (const config::TokenIssuer& issuer : issuers) {
    auto source = sources.of(origin_of(issuer, config_file));
    if (!source)
      return fail(source.error().code, "global.access.tokens: {}: {}", issuer.name,
                  source.error().message);
    out->issuers_.push_back({issuer, *std::move(source)});
  }
  return out;
}

std::vector<Verifier::IssuerState> Verifier::issuers() const {
  std::vector<IssuerState> out;
  for (const Issuer& issuer : issuers_) out.push_back({issuer.settings, issuer.source->snapshot()});
  return out;
}

Verification Verifier::verify(std::string_view token, int64_t now,
                              const std::function<bool()>& may_verify) const {
  if (token.size() > kTokenBytesMax) {
    return refused("token_too_large", fmt::format("the token has {} bytes, at most {} are read",
                                                  token.size(), kTokenBytesMax));
  }
  const std::string digest = sha256_hex(token);
  const auto known = remembered_.find(digest);
  if (known && now < known->until &&
      issuers_[known->issuer].source->generation() == known->generation)
    return {known->owner, {}};
  return verify_new(token, now, digest, may_verify);
}

Verification Verifier::verify_new(std::string_view text, int64_t now, const std::string& digest,
                                  const std::function<bool()>& may_verify) const {
  const auto token = parse_token(text);
  if (!token) return refused("invalid_token", token.error().message);
  const json::Value claims = token->claims.root();
  const auto named = only_member(claims, "iss");
  if (!named) return refused("invalid_token", named.error().message);
  const auto issuer = std::ranges::find_if(issuers_, [&](const Issuer& each) {
    return *named && (*named)->is_string() && (*named)->text() == each.settings.issuer;
  });
  if (issuer == issuers_.end())
    return refused("unknown_issuer", "the token's issuer (iss) is not one that is accepted here");
  const config::TokenIssuer& settings = issuer->settings;
  const std::string_view algorithm = name_of(token->algorithm);
  if (!settings.algorithms.empty() &&
      std::ranges::find(settings.algorithms, algorithm) == settings.algorithms.end())
    return refused(
        "invalid_token",
        fmt::format("the token's algorithm {} is not accepted for its issuer", algorithm));
  const KeySource::Snapshot state = issuer->source->snapshot();
  const PublicKey* key =
      state.keys == nullptr ? nullptr : state.keys->find(token->key_id, token->algorithm);
  if (key == nullptr) return without_key(issuer->source, state, settings, *token);
  if (may_verify && !may_verify()) {
    return refused("too_many_failures",
                   "too many tokens with a wrong signature come from this address; try again later",
                   429);
  }
  if (!key->verifies(token->algorithm, token->signed_text, token->signature))
    return refused(kWrongSignature, "the token's signature is not one of its issuer");
  auto identity = check_claims(claims, settings, now);
  if (!identity) return {nullptr, std::move(identity).error()};
  const int64_t until = identity->until;
  Owner owner = owner_of(*std::move(identity), settings);
  remembered_.add(digest,
                  {owner, until, static_cast<size_t>(issuer - issuers_.begin()), state.generation});
  return {std::move(owner), {}};
}

}  // namespace signalbox::tokens
