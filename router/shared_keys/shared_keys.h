#pragma once
// The clients' keys that several routers share at a server. The server has one set of keys with a
// version. A change reads a version and writes the next one. If another change has written that
// version first, the change is repeated on top of it, so none is lost.
//
// A server that comes back without the set, or with an earlier version of it, has lost data. The
// router that notices this puts back the set that it knows. Another router that knows a later
// version replaces it. No key is changed until the routers have had time for that.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "router/config/access.h"
#include "router/shared_keys/key_server.h"

namespace signalbox::shared_keys {

/// A snapshot of the keys. Immutable.
struct KeySet {
  Stamp stamp = {};  // version 0: the server has no keys yet
  std::string text = {};
  std::vector<config::ClientKey> keys = {};
};
/// Owned by SharedKeys and by those who use the keys.
using KeySetPointer = std::shared_ptr<const KeySet>;

struct Limits {
  std::chrono::milliseconds keys_age_max = std::chrono::hours(24);
  std::chrono::milliseconds grace{2000};  // for routers that know what the server has lost
  std::chrono::milliseconds change{
      10'000};  // for a change, including the wait for changes of others
};

/// Thread-safe; calls block unless stated otherwise.
class SharedKeys {
 public:
  using Change = std::function<Result<void>(std::vector<config::ClientKey>& keys)>;
  using Clock = std::chrono::steady_clock;

  SharedKeys(std::unique_ptr<KeyServer> server, Limits limits);

  /// Reads the set if it is another one than before. Never null. Errors: kUpstream if the server
  /// cannot be read or written, kCorrupt for a set that no router wrote.
  Result<KeySetPointer> read();
  /// Like read(), for the router's thread. It also logs when the server stops and starts to
  /// respond.
  Result<KeySetPointer> follow();
  /// Returns the set with the change. Errors: those of `change` and of read(), kTooLarge. After
  /// kUpstream the keys are as they were, unless the message states that this is not known.
  Result<KeySetPointer> change(const Change& change);

  /// The set that was read last; null if none was, or too long ago. Does not block.
  KeySetPointer known() const;
  /// True if a set was read, however long ago. Does not block.
  bool has_read() const;
  struct Stats {
    bool works = false;   // the last exchange succeeded
    std::string trouble;  // why it failed
  };
  Stats stats() const;
  /// For log lines: "redis 127.0.0.1:6379".
  const std::string& name() const { return server_->name(); }

 private:
  enum class Outcome : uint8_t { kDone, kAgain, kEmpty };
  Result<KeySetPointer> exchange();
  Result<KeySetPointer> take(Found found, const KeySetPointer& before);
  Result<Outcome> change_once(const Change& change, bool may_begin, KeySetPointer& out);
  Result<void> settle(const KeySetPointer& next, Error error);
  void remember(KeySetPointer set);
  Error unavailable(const Error& error);

  const std::unique_ptr<KeyServer> server_;
  const Limits limits_;
  std::mutex exchange_;  // held during an exchange

  mutable std::mutex mutex_;  // guards the rest
  KeySetPointer known_;       // null: none was read yet
  Clock::time_point read_at_{};
  Stats stats_;
  std::string logged_;  // the trouble that was logged last
};

/// As configured. Precondition: store.is_used(). Errors: those of redis_server(), postgres_server()
/// and make_postgres(), with the key in the file.
Result<std::unique_ptr<SharedKeys>> open(const config::KeysStore& store);

}  // namespace signalbox::shared_keys
