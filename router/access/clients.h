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
#include <vector>

#include "router/access/key_file.h"
#include "router/audit/log.h"
#include "router/config/config.h"
#include "router/http/message.h"
#include "router/tokens/verifier.h"

namespace signalbox::access {

/// The keys at one time. Immutable and thread-safe.
class KeyRing {
 public:
  using Key = std::shared_ptr<const config::ClientKey>;

  /// Errors: kInvalid for a name or a hash that two keys have.
  static Result<std::shared_ptr<const KeyRing>> create(std::vector<config::ClientKey> keys);

  /// Null for an unknown key. An expired key is found, too.
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
  /// The keys that the token needs are being read; identify again when they are. Null: refuse.
  std::shared_ptr<tokens::KeySource> awaited = nullptr;
};

/// The keys of the keys files as they were noted last, by whichever configuration. Configurations
/// that live at the same time share it, so that each change is noted once.
struct KeyHistory {
  using Keys = std::map<std::string, std::string>;  // by name, as the file writes them
  audit::Log& audit;
  std::mutex mutex{};  // held while a file is read and noted
  std::map<std::filesystem::path, Keys> files{};
};

/// One for each configuration. Thread-safe.
class Clients {
 public:
  /// Reads the keys file and, on a thread of its own, follows its changes. A changed file that is
  /// wrong is reported and changes nothing. Errors: those of read_keys(), of KeyRing::create() and
  /// of tokens::Verifier::create(); kInvalid for a key with the name of a token.
  static Result<std::unique_ptr<Clients>> create(const config::Config& config,
                                                 tokens::KeySources& sources, KeyHistory& history);
  ~Clients();

  /// Finds out who sends the request, writes that into it (`key` and the identity headers), and
  /// removes what must not go further: keys, tokens, and identity headers of a sender that is not
  /// trusted or has a token, which names its user itself. `from_proxy`: the sender is trusted,
  /// whatever its address is. `may_verify`: see tokens::Verifier. A denied request is unchanged.
  std::optional<Denial> identify(http::Request& request, bool from_proxy,
                                 const std::function<bool()>& may_verify = {}) const;

  bool requires_key() const { return access_.requires_key(); }
  /// "": the configuration names none.
  const std::filesystem::path& keys_file() const { return file_; }
  /// SHA-256 of the keys of the file as they were last read, in hexadecimal digits; "": no file.
  std::string keys_hash() const;
  /// The keys of the configuration and those of the file, as they were last read.
  std::vector<config::ClientKey> configured() const { return access_.keys; }
  /// The issuers of tokens; empty: no token is accepted.
  std::vector<tokens::Verifier::IssuerState> issuers() const {
    return verifier_ ? verifier_->issuers() : std::vector<tokens::Verifier::IssuerState>();
  }
  /// Changes the keys file; the change counts when this returns. Errors: those of change_keys().
  Result<void> change(const KeyChange& change);

 private:
  struct Fields;
  Clients(const config::Config& config, KeyHistory& history);
  Result<void> read();
  void watch();
  std::shared_ptr<const KeyRing> ring() const;
  bool is_trusted(std::string_view address) const;
  size_t field_of(std::string_view name) const;
  Result<std::shared_ptr<const KeyRing>> make_ring(std::vector<config::ClientKey> keys) const;
  std::optional<Denial> find_key(const Fields& fields, http::Request& request,
                                 const std::function<bool()>& may_verify) const;
  std::optional<Denial> verify(std::string_view token, http::Request& request,
                               const std::function<bool()>& may_verify) const;

  void note_changes(const std::vector<config::ClientKey>& keys, const std::string& hash);

  KeyHistory& history_;
  const config::ClientAccess access_;
  const config::Authz::Identity identity_;
  const std::filesystem::path file_;
  std::vector<config::Network> proxies_;
  std::unique_ptr<const tokens::Verifier> verifier_;  // null: no token is accepted
  mutable std::atomic<bool> warned_{false};           // that identity headers do not count

  mutable std::mutex mutex_;  // guards the rest
  std::string keys_hash_;
  std::shared_ptr<const KeyRing> ring_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;  // none: there is no file
};

}  // namespace signalbox::access
