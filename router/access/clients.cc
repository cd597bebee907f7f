// A key has 256 random bits, so a fast hash is enough: nobody can try them all. A search compares
// the first digits of the hash, which reveals nothing about a key, and then compares the rest in
// constant time.

#include "router/access/clients.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <set>

#include "base/ascii.h"
#include "base/log.h"
#include "base/sha256.h"
#include "router/access/access.h"
#include "router/tokens/token.h"

namespace signalbox::access {
namespace {

constexpr std::chrono::milliseconds kPoll{500}, kStorePoll{250};
constexpr size_t kIndexBytes = sizeof("sha256:") - 1 + 16;

enum : size_t {
  kUser,
  kGroups,
  kAuthorization,
  kXApiKey,
  kApiKey,
  kGoogleKey,
  kFieldCount,
  kOtherIdentity
};

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// The properties of a file that change when it is replaced or written to.
struct Stamp {
  uint64_t inode = 0;
  int64_t size = -1, seconds = 0, nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const std::filesystem::path& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return {};
  return {found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ",").append(name);
  return out;
}

}  // namespace

Result<std::shared_ptr<const KeyRing>> KeyRing::create(std::vector<config::ClientKey> keys) {
  auto out = std::make_shared<KeyRing>();
  std::vector<std::string_view> names;
  for (config::ClientKey& key : keys) {
    std::string hash = key.hash;
    // Shared by the ring and by the requests that use the key.
    auto shared = std::make_shared<const config::ClientKey>(std::move(key));
    names.push_back(shared->name);
    out->rows_.push_back({std::move(hash), std::move(shared)});
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return fail(Code::kInvalid, "two keys have the name \"{}\"", *twice);
  std::ranges::sort(out->rows_, {}, &Row::hash);
  if (const auto twice = std::ranges::adjacent_find(out->rows_, {}, &Row::hash);
      twice != out->rows_.end())
    return fail(Code::kInvalid, "the keys \"{}\" and \"{}\" have the same hash", twice->key->name,
                std::next(twice)->key->name);
  return out;
}

KeyRing::Key KeyRing::find(std::string_view secret) const {
  const std::string hash = hash_of(secret);
  const std::string_view index = std::string_view(hash).substr(0, kIndexBytes);
  const auto index_of = [](const Row& row) {
    return std::string_view(row.hash).substr(0, kIndexBytes);
  };
  for (auto row = std::ranges::lower_bound(rows_, index, {}, index_of);
       row != rows_.end() && index_of(*row) == index; ++row) {
    if (equal(row->hash, hash)) return row->key;
  }
  return nullptr;
}

/// The fields of a request that matter here, by their number.
struct Clients::Fields {
  std::array<std::optional<std::string_view>, kFieldCount> values;
  bool other_identity = false;  // such as x-authz-tenant-id

  bool has_identity() const { return values[kUser] || values[kGroups] || other_identity; }
};

Clients::Clients(const config::Config& config, KeyHistory& history)
    : history_(history),
      access_(config.access),
      identity_(config.authz.identity),
      file_(keys_file_of(config.access, config.source)) {
  const std::vector<std::string> local{"127.0.0.0/8", "::1"}, nobody;
  const auto& proxies = access_.trusted_proxies ? *access_.trusted_proxies
                                                : (access_.requires_key() ? nobody : local);
  for (const std::string& each : proxies) {
    if (const auto network = config::parse_network(each)) proxies_.push_back(*network);
  }
}

Result<std::unique_ptr<Clients>> Clients::create(const config::Config& config,
                                                 tokens::KeySources& sources, KeyHistory& history) {
  auto out = std::unique_ptr<Clients>(new Clients(config, history));
  if (auto begun = out->begin(); !begun) {
    if (out->store_ != nullptr) return tl::unexpected<Error>(std::move(begun).error());
    return fail_in(fmt::format("{}: global.access.keys_file", config.source),
                   std::move(begun).error());
  }
  if (!config.access.tokens.empty()) {
    SIGNALBOX_TRY(out->verifier_,
                  tokens::Verifier::create(config.access.tokens, config.source, sources));
  }
  if (out->can_change_keys()) out->thread_ = std::thread([self = out.get()] { self->watch(); });
  const std::lock_guard lock(history.mutex);
  history.has_started = true;
  return out;
}

Result<void> Clients::find_store() {
  const std::lock_guard lock(history_.mutex);
  std::erase_if(history_.stores, [](const auto& each) { return each.second.expired(); });
  for (const auto& [settings, store] : history_.stores) {
    if (settings == access_.keys_store) store_ = store.lock();
  }
  shares_store_ = store_ != nullptr;
  if (!shares_store_) {
    SIGNALBOX_TRY(store_, shared_keys::open(access_.keys_store));
    history_.stores.emplace_back(access_.keys_store, store_);
  }
  place_ = store_->name();
  return {};
}

// A new configuration with wrong settings of its store must not take the keys away from a router
// that works. So only two configurations may begin without keys: the first one, and one whose store
// the router uses already.
Result<void> Clients::begin() {
  place_ = file_.string();
  if (access_.keys_store.is_used()) SIGNALBOX_TRY_VOID(find_store());
  Result<void> done = read();
  if (done || store_ == nullptr || done.error().code == Code::kInvalid) return done;
  const std::lock_guard lock(history_.mutex);
  if (lacks_keys_ && history_.has_started && !shares_store_) return done;
  began_without_keys_ = lacks_keys_;
  return {};
}

Clients::~Clients() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<std::shared_ptr<const KeyRing>> Clients::make_ring(
    std::vector<config::ClientKey> keys) const {
  for (const config::ClientKey& key : keys) {
    if (auto done = check_key_name(key.name, access_.tokens); !done)
      return tl::unexpected<Error>(done.error());
  }
  return KeyRing::create(std::move(keys));
}

Result<void> Clients::read() {
  const std::lock_guard reading(history_.mutex);
  if (store_ != nullptr) return read_store();
  if (file_.empty()) return set_keys({}, "", 0);
  SIGNALBOX_TRY(std::vector<config::ClientKey> keys, read_keys(file_));
  note_missing_file();
  const std::string hash = sha256_hex(config::keys_text(keys));
  return set_keys(std::move(keys), hash, 0);
}

// Without the file, its keys are refused like unknown keys. Only this log line shows the reason.
void Clients::note_missing_file() {
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(file_, ignored);
  if (!is_there && !lacks_file_)
    log::warn(
        "access",
        "the keys file {} does not exist, so none of its keys is accepted; `signalbox keys new "
        "NAME` makes the file",
        file_.string());
  lacks_file_ = !is_there;
}

// If the store does not answer, the keys that were read last stay valid until they are too old.
Result<void> Clients::read_store() {
  const auto followed = store_->follow();
  SIGNALBOX_TRY_VOID(use(followed ? *followed : store_->known()));
  return followed ? Result<void>() : tl::unexpected(followed.error());
}

// Precondition: the history's mutex is held.
Result<void> Clients::use(const shared_keys::KeySetPointer& set) {
  if (set != nullptr && set != seen_) {
    const std::string hash = sha256_hex(set->text.empty() ? config::keys_text({}) : set->text);
    SIGNALBOX_TRY_VOID(set_keys(usable(set->keys), hash, set->stamp.version));
    lacks_keys_ = false;
  } else if (set == nullptr && !lacks_keys_.exchange(true)) {
    if (seen_ != nullptr) {
      log::error("access",
                 "{} could not be read for global.access.keys_store.keys_age_max; its keys get 503 "
                 "now",
                 store_->name());
    }
    SIGNALBOX_TRY_VOID(set_keys({}, "", 0));
  }
  seen_ = set;
  awaits_keys_ = set == nullptr && !store_->has_read();
  return {};
}

// Routers with other configurations share the store. If one of its keys contradicts this
// configuration, this router must still learn that another key was revoked.
std::vector<config::ClientKey> Clients::usable(const std::vector<config::ClientKey>& stored) const {
  std::set<std::string_view> names, hashes;
  for (const config::ClientKey& key : access_.keys) {
    names.insert(key.name);
    hashes.insert(key.hash);
  }
  std::vector<config::ClientKey> out;
  for (const config::ClientKey& key : stored) {
    if (names.insert(key.name).second && hashes.insert(key.hash).second &&
        check_key_name(key.name, access_.tokens)) {
      out.push_back(key);
    } else {
      log::error("access",
                 "the key \"{}\" of the keys store is not used here: the configuration has its "
                 "name or its hash already, or an issuer with its name",
                 key.name);
    }
  }
  return out;
}

Result<void> Clients::set_keys(std::vector<config::ClientKey> stored, std::string hash,
                               uint64_t version) {
  std::vector<config::ClientKey> keys = access_.keys;
  keys.insert(keys.end(), stored.begin(), stored.end());
  SIGNALBOX_TRY(auto ring, make_ring(std::move(keys)));
  if (!hash.empty()) note_changes(stored, hash, version);
  const std::lock_guard lock(mutex_);
  keys_hash_ = std::move(hash);
  ring_ = std::move(ring);
  return {};
}

// Commands and other routers also change the keys, so the audit log records the differences between
// the keys read now and before.
void Clients::note_changes(const std::vector<config::ClientKey>& keys, const std::string& hash,
                           uint64_t version) {
  KeyHistory::Keys now;
  for (const config::ClientKey& key : keys) now[key.name] = config::keys_text({key});
  const auto [place, is_first] = history_.noted.try_emplace(place_);
  KeyHistory::Keys& noted = place->second;
  const auto note = [&](audit::Entry entry) {
    entry.text("after", hash);
    if (version != 0) entry.number("version", static_cast<int64_t>(version));
    history_.audit.add(std::move(entry));
  };
  const auto note_key = [&, first = is_first](std::string_view event, std::string_view name) {
    if (!first) note(std::move(audit::Entry(event).text("key", name)));
  };
  if (is_first && began_without_keys_) note(audit::Entry("keys_read"));
  for (const auto& [name, text] : now) {
    const auto before = noted.find(name);
    if (before == noted.end()) {
      note_key("key_added", name);
    } else if (before->second != text) {
      note_key("key_changed", name);
    }
  }
  for (const auto& [name, text] : noted) {
    if (!now.contains(name)) note_key("key_removed", name);
  }
  noted = std::move(now);
}

void Clients::watch_file() {
  Stamp seen;  // differs from every file, so that a change since the first reading counts
  for (;;) {
    const Stamp now = stamp_of(file_);
    if (now != seen) {
      seen = now;
      if (const auto done = read(); !done)
        log::error("access", "the keys stay as they were: {}", done.error().message);
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kPoll, [this] { return stopping_; })) return;
  }
}

// The store logs its own read errors.
void Clients::watch() {
  if (store_ == nullptr) return watch_file();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, kStorePoll, [this] { return stopping_; })) return;
    }
    static_cast<void>(read());
  }
}

std::string Clients::keys_hash() const {
  const std::lock_guard lock(mutex_);
  return keys_hash_;
}

std::shared_ptr<const KeyRing> Clients::ring() const {
  const std::lock_guard lock(mutex_);
  return ring_;
}

Result<std::vector<config::ClientKey>> Clients::stored() const {
  if (store_ == nullptr) {
    return file_.empty() ? Result<std::vector<config::ClientKey>>() : read_keys(file_);
  }
  const shared_keys::KeySetPointer known = store_->known();
  return known == nullptr ? std::vector<config::ClientKey>() : known->keys;
}

Result<void> Clients::change(const KeyChange& change) {
  if (!can_change_keys()) {
    return fail(Code::kInvalid,
                "global.access.keys_file: the configuration names no file for keys; add "
                "\"keys_file: keys.json\"");
  }
  // A new key must not have a name of the configuration, because the keys would be unreadable. Keys
  // that are in the store already are not checked: another router may have put a wrong one there,
  // and this router must still be able to revoke keys.
  const KeyChange checked = [&](std::vector<config::ClientKey>& keys) -> Result<void> {
    std::set<std::string> before;
    if (store_ != nullptr) {
      for (const config::ClientKey& key : keys) before.insert(key.name);
    }
    SIGNALBOX_TRY_VOID(change(keys));
    std::vector<config::ClientKey> all = access_.keys;
    std::ranges::copy_if(keys, std::back_inserter(all),
                         [&](const auto& key) { return !before.contains(key.name); });
    SIGNALBOX_TRY(const auto ring, make_ring(std::move(all)));
    return {};
  };
  if (store_ == nullptr) {
    SIGNALBOX_TRY_VOID(change_keys(file_, checked));
    return read();
  }
  SIGNALBOX_TRY_VOID(store_->change(checked));
  const std::lock_guard lock(history_.mutex);
  return use(store_->known());  // the set may already contain later changes of others
}

bool Clients::is_trusted(std::string_view address) const {
  return std::ranges::any_of(proxies_, [&](const auto& each) { return each.contains(address); });
}

std::optional<Denial> Clients::verify(std::string_view token, http::Request& request,
                                      const std::function<bool()>& may_verify) const {
  tokens::Verification verification = verifier_->verify(token, seconds_now(), may_verify);
  request.key = std::move(verification.owner);
  if (request.key != nullptr) return std::nullopt;
  return Denial{verification.refusal.status, verification.refusal.reason,
                std::move(verification.refusal.message), true, std::move(verification.awaited)};
}

// Sets request.key, or returns the reason for refusing the request. Some clients send two
// credentials, a placeholder and a real one. Only the first field with a credential counts, so that
// the second one cannot change who the sender is.
std::optional<Denial> Clients::find_key(const Fields& fields, http::Request& request,
                                        const std::function<bool()>& may_verify) const {
  std::string_view secret = bearer_token(fields.values[kAuthorization].value_or(""));
  for (const size_t field : {kXApiKey, kApiKey}) {
    if (secret.empty()) secret = fields.values[field].value_or("");
  }
  if (KeyRing::Key key = secret.empty() ? nullptr : ring()->find(secret)) {
    const auto end = config::parse_time(key->expires);
    if (end && *end <= seconds_now())
      return Denial{401, "expired_key", fmt::format("the key \"{}\" has expired", key->name)};
    request.key = std::move(key);
    return std::nullopt;
  }
  if (verifier_ != nullptr && tokens::looks_like_token(secret))
    return verify(secret, request, may_verify);
  if (!secret.empty() && lacks_keys_) {
    return Denial{503, "keys_unavailable",
                  "the clients' keys cannot be read at the moment; try again later"};
  }
  if (!secret.empty()) return Denial{401, "unknown_key", "the key is not valid here"};
  return Denial{401, "missing_key",
                fmt::format("a key{} is required: send it as Authorization: Bearer {}, or as "
                            "x-api-key",
                            verifier_ == nullptr ? "" : " or a token",
                            verifier_ == nullptr ? "KEY" : "TOKEN")};
}

size_t Clients::field_of(std::string_view name) const {
  const auto is = [name](std::string_view other) { return ascii::iequals(name, other); };
  if (is(identity_.user_id_header)) return kUser;
  if (is(identity_.user_groups_header)) return kGroups;
  constexpr std::string_view kIdentity = "x-authz-";
  if (ascii::iequals(name.substr(0, kIdentity.size()), kIdentity)) return kOtherIdentity;
  if (!access_.requires_key()) return kFieldCount;
  if (is("authorization")) return kAuthorization;
  if (is("x-api-key")) return kXApiKey;
  if (is("api-key")) return kApiKey;
  return is("x-goog-api-key") ? kGoogleKey : kFieldCount;
}

std::optional<Denial> Clients::identify(http::Request& request, bool from_proxy,
                                        const std::function<bool()>& may_verify) const {
  const http::Headers& sent = request.headers;
  Fields fields;
  for (size_t i = 0; i < sent.size(); ++i) {
    const size_t field = field_of(sent[i].name);
    if (field == kOtherIdentity) fields.other_identity = true;
    if (field >= kFieldCount) continue;
    if (fields.values[field]) {
      return Denial{400, "duplicate_header",
                    fmt::format("the header {} is there twice", sent[i].name)};
    }
    fields.values[field] = sent[i].value;
  }
  if (access_.requires_key()) {
    if (auto denied = find_key(fields, request, may_verify)) return denied;
  }
  const bool has_token = request.key != nullptr && request.key->is_token;
  const bool has_ingress = identity_.ingress != "none";
  const bool trusts = !fields.has_identity() ||
                      (has_ingress && !has_token && (from_proxy || is_trusted(request.peer)));
  if (trusts && !access_.requires_key()) return std::nullopt;
  if (!trusts && !has_token && !warned_.exchange(true)) {
    log::warn("access", "a request has identity headers, and {}; they do not count",
              has_ingress ? "its sender is not in global.access.trusted_proxies"
                          : "global.services.authz.identity.ingress is none");
  }
  http::Headers kept;
  for (size_t i = 0; i < sent.size(); ++i) {
    const size_t field = field_of(sent[i].name);
    if (field == kFieldCount || (field == kOtherIdentity && trusts)) kept.add(sent, i);
  }
  if (request.key != nullptr) {
    const auto field = [&](size_t at) {
      return config::identity_of(trusts ? fields.values[at].value_or("") : "");
    };
    const std::string_view user = field(kUser), groups = field(kGroups);
    kept.add(identity_.user_id_header, user.empty() ? request.key->user_or_name() : user);
    const std::string own = groups.empty() ? joined(request.key->groups) : std::string(groups);
    if (!own.empty()) kept.add(identity_.user_groups_header, own);
  }
  request.headers = std::move(kept);
  return std::nullopt;
}

}  // namespace signalbox::access
