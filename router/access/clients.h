#pragma once
// Identifies the sender of a request to the data listeners: its key, user and groups.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "router/access/key_file.h"
#include "router/audit/log.h"
#include "router/config/config.h"
#include "router/http/message.h"
#include "router/shared_keys/shared_keys.h"
#include "router/tokens/verifier.h"

namespace signalbox::access {

/// A snapshot of the keys. Immutable and thread-safe.
class KeyRing {
 public:
  using Key = std::shared_ptr<const config::ClientKey>;

  /// Errors: kInvalid for a name or a hash that two keys have.
  static Result<std::shared_ptr<const KeyRing>> create(std::vector<config::ClientKey> keys);

  /// Returns null for an unknown key. It also returns expired keys.
  Key find(std::string_view secret) const;
  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    std::string hash;
    Key key;
  };
  std::vector<Row> rows_;  // sorted by hash
};

/// The reason why a request is refused.
struct Denial {
  int status = 401;
  std::string_view reason;  // label in the metrics, static: "missing_key"
  std::string message;
  bool of_token = false;  // the reason lies in a token
  /// If not null, the issuer's keys are still being read: wait for them and identify again. Null:
  /// refuse now.
  std::shared_ptr<tokens::KeySource> awaited = nullptr;
};

/// The keys that the audit log recorded last, for each keys file and store. All live configurations
/// share this history. So each change is recorded once, and a new configuration knows the keys even
/// while their store does not respond.
struct KeyHistory {
  using Keys = std::map<std::string, std::string>;  // by name, as the file writes them
  audit::Log& audit;
  std::mutex mutex{};                   // held while keys are read and recorded
  std::map<std::string, Keys> noted{};  // by the file's path or the store's name
  bool has_started = false;             // a configuration was made
  /// The stores of the live configurations, which own them.
  std::vector<std::pair<config::KeysStore, std::weak_ptr<shared_keys::SharedKeys>>> stores{};
};

/// One for each configuration. Thread-safe.
class Clients {
 public:
  /// Reads the keys file or store and, on a thread of its own, follows its changes. An invalid new
  /// version of the file is logged and ignored. An unreadable store is not an error if its keys are
  /// known, if this is the first configuration, or if another live configuration uses the same
  /// store. Errors: those of read_keys(), of shared_keys::SharedKeys, of KeyRing::create() and of
  /// tokens::Verifier::create(); kInvalid for a key with the name of a token.
  static Result<std::unique_ptr<Clients>> create(const config::Config& config,
                                                 tokens::KeySources& sources, KeyHistory& history);
  ~Clients();

  /// Finds out who sends the request, and writes the result into it (`key` and the identity
  /// headers). Removes everything that must not go further: keys, tokens, and identity headers from
  /// a sender that is not trusted or whose token names its user. `from_proxy`: the sender is
  /// trusted, whatever its address is. `may_verify`: see tokens::Verifier. A denied request is
  /// unchanged.
  std::optional<Denial> identify(http::Request& request, bool from_proxy,
                                 const std::function<bool()>& may_verify = {}) const;

  bool requires_key() const { return access_.requires_key(); }
  /// True if the keys of the store were never read. Does not block.
  bool awaits_keys() const { return awaits_keys_; }
  /// True if the configuration names a file or a store, so that keys can be changed.
  bool can_change_keys() const { return !file_.empty() || store_ != nullptr; }
  /// Null: the configuration names no store.
  const shared_keys::SharedKeys* store() const { return store_.get(); }
  /// SHA-256 in hexadecimal digits of the keys of the file or store, as they were read last; "" if
  /// there is neither, or if no keys were read.
  std::string keys_hash() const;
  std::vector<config::ClientKey> configured() const { return access_.keys; }
  /// The keys of the file, read anew, or of the store as they were last read. Errors: those of
  /// read_keys().
  Result<std::vector<config::ClientKey>> stored() const;
  /// The issuers of tokens; empty: no token is accepted.
  std::vector<tokens::Verifier::IssuerState> issuers() const {
    return verifier_ ? verifier_->issuers() : std::vector<tokens::Verifier::IssuerState>();
  }
  /// Changes the keys in the file or store. The change is in effect when this returns. Errors:
  /// those of change_keys() and of shared_keys::SharedKeys::change().
  Result<void> change(const KeyChange& change);

 private:
  struct Fields;
  Clients(const config::Config& config, KeyHistory& history);
  /// Sets `store_`: the one that the history has for these settings, or a new one.
  Result<void> find_store();
  Result<void> begin();
  Result<void> read();
  Result<void> read_store();
  void note_missing_file();
  /// Uses the keys of a set; null means that the keys are not known.
  Result<void> use(const shared_keys::KeySetPointer& set);
  Result<void> set_keys(std::vector<config::ClientKey> stored, std::string hash, uint64_t version);
  /// Returns the store's keys without those that contradict the configuration.
  std::vector<config::ClientKey> usable(const std::vector<config::ClientKey>& stored) const;
  void watch();
  void watch_file();
  std::shared_ptr<const KeyRing> ring() const;
  bool is_trusted(std::string_view address) const;
  size_t field_of(std::string_view name) const;
  Result<std::shared_ptr<const KeyRing>> make_ring(std::vector<config::ClientKey> keys) const;
  std::optional<Denial> find_key(const Fields& fields, http::Request& request,
                                 const std::function<bool()>& may_verify) const;
  std::optional<Denial> verify(std::string_view token, http::Request& request,
                               const std::function<bool()>& may_verify) const;

  void note_changes(const std::vector<config::ClientKey>& keys, const std::string& hash,
                    uint64_t version);

  KeyHistory& history_;
  const config::ClientAccess access_;
  const config::Authz::Identity identity_;
  const std::filesystem::path file_;
  /// Owned by the configurations with these settings; null: there is none.
  std::shared_ptr<shared_keys::SharedKeys> store_;
  bool shares_store_ = false;  // another live configuration uses the same store
  std::string place_;          // the file's path or the store's name
  std::vector<config::Network> proxies_;
  std::unique_ptr<const tokens::Verifier> verifier_;  // null: no token is accepted
  // A warning was logged that identity headers are ignored.
  mutable std::atomic<bool> warned_{false};

  std::atomic<bool> lacks_keys_{false};   // the store's keys are not known
  std::atomic<bool> awaits_keys_{false};  // they never were
  // The history's mutex guards these.
  shared_keys::KeySetPointer seen_;  // the set of the store that was tried last
  bool began_without_keys_ = false;  // the audit log records the first keys of the store
  bool lacks_file_ = false;          // a missing file was logged

  mutable std::mutex mutex_;  // guards the rest
  std::string keys_hash_;
  std::shared_ptr<const KeyRing> ring_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;  // none: there is neither a file nor a store
};

}  // namespace signalbox::access
