// All keys are one text, as in a keys file, instead of one entry per key. So a change needs one
// comparison, and a router always knows a consistent set that it can restore.

#include "router/shared_keys/shared_keys.h"

#include <fmt/format.h>

#include <random>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/sha256.h"
#include "router/shared_keys/postgres_keys.h"
#include "router/shared_keys/redis_keys.h"
#include "router/stores/redis_config.h"

namespace signalbox::shared_keys {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kKeysSection = "global.access.keys_store";
constexpr milliseconds kTryAgain{50};

std::string new_epoch() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

Result<KeySetPointer> set_of(Stamp stamp, std::string text) {
  auto keys = config::parse_keys(text, "keys");
  // The mistake is not quoted: it may be a key that somebody put in the place of its hash.
  if (!keys)
    return fail(Code::kCorrupt, "the set of keys there has a form that this version cannot read");
  KeySet out{std::move(stamp), std::move(text), *std::move(keys)};
  return std::make_shared<const KeySet>(std::move(out));
}

/// True if the server has lost the set, or has an earlier version of it.
bool has_lost(const Stamp& found, const Stamp& known) {
  return known.version > 0 &&
         (found.version == 0 || (found.epoch == known.epoch && found.version < known.version));
}

Result<std::unique_ptr<KeyServer>> postgres_of(const config::Postgres& postgres,
                                               milliseconds grace) {
  PostgresOptions options{.grace = grace};
  SIGNALBOX_TRY_VOID(stores::set_postgres(postgres, options));
  return make_postgres_keys(options);
}

Result<std::unique_ptr<KeyServer>> redis_of(const config::KeysStore& store, milliseconds grace) {
  const bool is_redis = store.backend == "redis";
  RedisOptions options{.grace = grace};
  SIGNALBOX_TRY(options.server,
                is_redis ? stores::redis_server(store.redis) : stores::valkey_server(store.valkey));
  const std::string& prefix = is_redis ? store.redis.key_prefix : store.valkey.collection_prefix;
  if (!prefix.empty()) options.prefix = prefix;
  stores::set_seconds(is_redis ? store.redis.read_timeout : store.valkey.timeout, options.limit);
  return make_redis_keys(std::move(options));
}

}  // namespace

SharedKeys::SharedKeys(std::unique_ptr<KeyServer> server, Limits limits)
    : server_(std::move(server)), limits_(limits) {}

KeySetPointer SharedKeys::known() const {
  const std::lock_guard lock(mutex_);
  const bool is_old = Clock::now() - read_at_ > limits_.keys_age_max;
  return is_old ? nullptr : known_;
}

bool SharedKeys::has_read() const {
  const std::lock_guard lock(mutex_);
  return known_ != nullptr;
}

SharedKeys::Stats SharedKeys::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void SharedKeys::remember(KeySetPointer set) {
  const std::lock_guard lock(mutex_);
  known_ = std::move(set);
  read_at_ = Clock::now();
  stats_ = {.works = true, .trouble = {}};
}

// One code for all errors after which clients of the management API may try again later.
Error SharedKeys::unavailable(const Error& error) {
  const std::lock_guard lock(mutex_);
  stats_ = {.works = false, .trouble = error.message};
  return {error.code == Code::kCorrupt ? Code::kCorrupt : Code::kUpstream,
          fmt::format("{}: {}", kKeysSection, error.message)};
}

Result<KeySetPointer> SharedKeys::take(Found found, const KeySetPointer& before) {
  if (!found.text) {
    SIGNALBOX_CHECK(found.stamp == before->stamp);  // there was no set before, either
    return before;
  }
  const bool is_foreign =
      before->stamp.version > 0 &&
      (found.stamp.epoch != before->stamp.epoch || found.stamp.version == before->stamp.version);
  auto set = set_of(std::move(found.stamp), *std::move(found.text));
  if (!set) return fail_in(server_->name(), std::move(set).error());
  if (is_foreign) {
    log::warn("access",
              "{}: {} has another set of keys, which was not made from the one before; the keys "
              "that this router knew before have ended",
              kKeysSection, server_->name());
  }
  return set;
}

// Precondition: exchange_ is held.
Result<KeySetPointer> SharedKeys::exchange() {
  KeySetPointer before;
  {
    const std::lock_guard lock(mutex_);
    before = known_;
  }
  if (before == nullptr) before = std::make_shared<const KeySet>();
  auto found = server_->read(before->stamp);
  if (found && has_lost(found->stamp, before->stamp)) {
    const auto restored = server_->restore(before->stamp, before->text);
    if (!restored) return tl::unexpected(unavailable(restored.error()));
    if (*restored) {
      log::warn("access", "{}: {} had lost keys; it has the {} that this router knows again",
                kKeysSection, server_->name(), before->keys.size());
    }
    found = server_->read(before->stamp);
    if (found && has_lost(found->stamp, before->stamp))
      return tl::unexpected(
          unavailable({Code::kUpstream, fmt::format("{}: it loses its keys", server_->name())}));
  }
  if (!found) return tl::unexpected(unavailable(found.error()));
  auto set = take(*std::move(found), before);
  if (!set) return tl::unexpected(unavailable(set.error()));
  remember(*set);
  return set;
}

Result<KeySetPointer> SharedKeys::read() {
  const std::lock_guard exchanging(exchange_);
  return exchange();
}

Result<KeySetPointer> SharedKeys::follow() {
  auto out = read();
  const bool has_keys = known() != nullptr;
  const std::lock_guard lock(mutex_);
  const std::string trouble = out ? "" : out.error().message;
  if (trouble == logged_) return out;
  if (out) {
    log::info("access", "{}: {} can be read again", kKeysSection, server_->name());
  } else {
    log::warn("access", "{}; {}", trouble,
              has_keys ? fmt::format("the keys that were read last go on working for {} s, and "
                                     "none can be changed",
                                     limits_.keys_age_max.count() / 1000)
                       : "until it can be read, keys that are not in the configuration get 503");
  }
  logged_ = trouble;
  return out;
}

// The server may have made the change although its reply was lost.
Result<void> SharedKeys::settle(const KeySetPointer& next, Error error) {
  const auto now = exchange();
  if (now && (*now)->stamp == next->stamp) return {};
  Error out = unavailable(error);
  if (error.code != Code::kUpstream)
    out.message += "; it is not known whether the keys were changed, so list them";
  return tl::unexpected(std::move(out));
}

Result<SharedKeys::Outcome> SharedKeys::change_once(const Change& change, bool may_begin,
                                                    KeySetPointer& out) {
  const std::lock_guard exchanging(exchange_);
  SIGNALBOX_TRY(const KeySetPointer now, exchange());
  if (now->stamp.version == 0 && !may_begin) return Outcome::kEmpty;
  std::vector<config::ClientKey> keys = now->keys;
  SIGNALBOX_TRY_VOID(change(keys));
  std::string text = config::keys_text(keys);
  if (text.size() > kTextBytesMax)
    return fail(Code::kTooLarge, "{}: the keys take {} bytes; at most {} are possible",
                kKeysSection, text.size(), kTextBytesMax);
  Stamp stamp{.epoch = now->stamp.version == 0 ? new_epoch() : now->stamp.epoch,
              .version = now->stamp.version + 1,
              .digest = sha256_hex(text)};
  SIGNALBOX_TRY(const KeySetPointer next, set_of(std::move(stamp), std::move(text)));
  const auto written = server_->write(now->stamp, next->stamp, next->text);
  if (!written) {
    SIGNALBOX_TRY_VOID(settle(next, written.error()));
  } else if (*written != KeyServer::Written::kDone) {
    return Outcome::kAgain;
  }
  remember(next);
  out = next;
  return Outcome::kDone;
}

// A server without a set may have lost it. Routers that know the set have time to put it back
// before this makes another one.
Result<KeySetPointer> SharedKeys::change(const Change& change) {
  const Clock::time_point until = Clock::now() + limits_.change;
  bool may_begin = false;
  do {
    KeySetPointer out;
    SIGNALBOX_TRY(const Outcome outcome, change_once(change, may_begin, out));
    if (outcome == Outcome::kDone) return out;
    std::this_thread::sleep_for(outcome == Outcome::kEmpty ? limits_.grace : kTryAgain);
    may_begin = may_begin || outcome == Outcome::kEmpty;
  } while (Clock::now() < until);
  return fail(Code::kUpstream, "{}: {} was changed by others all the time; try again", kKeysSection,
              server_->name());
}

Result<std::unique_ptr<SharedKeys>> open(const config::KeysStore& store) {
  Limits limits;
  limits.keys_age_max = store.keys_age_max;
  auto server = store.backend == "postgres" ? postgres_of(store.postgres, limits.grace)
                                            : redis_of(store, limits.grace);
  if (!server) return fail_in(kKeysSection, std::move(server).error());
  return std::make_unique<SharedKeys>(*std::move(server), limits);
}

}  // namespace signalbox::shared_keys
