#pragma once
// Verifies the tokens of the issuers that a configuration names.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "router/config/access.h"
#include "router/tokens/claims.h"
#include "router/tokens/key_source.h"

namespace signalbox::tokens {

inline constexpr std::string_view kWrongSignature = "wrong_signature";  // a TokenRefusal::reason

/// The token's owner in the form of a key: what it may use, its user and its groups.
using Owner = std::shared_ptr<const config::ClientKey>;

struct Verification {
  Owner owner;           // null: refused
  TokenRefusal refusal;  // if it is
  /// If not null, the issuer's keys are still being read: wait() for them and verify again. Null:
  /// waiting does not help.
  std::shared_ptr<KeySource> awaited = nullptr;
};

/// Tokens that were verified, by their digests, for as long as they and the issuer's keys stay
/// valid. When it is full, it forgets the older half. Thread-safe.
class Remembered {
 public:
  struct Entry {
    Owner owner;
    int64_t until = 0;  // seconds since 1970
    size_t issuer = 0;
    uint64_t generation = 0;  // of the issuer's keys
  };
  explicit Remembered(size_t entries_max) : half_(entries_max / 2) {}
  std::optional<Entry> find(const std::string& digest);
  void add(const std::string& digest, Entry entry);

 private:
  const size_t half_;
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> young_, old_;
};

/// One for each configuration. Thread-safe.
class Verifier {
 public:
  /// `remembered_max`: tokens that are remembered. Errors: those of files of keys.
  static Result<std::unique_ptr<Verifier>> create(const std::vector<config::TokenIssuer>& issuers,
                                                  const std::filesystem::path& config_file,
                                                  KeySources& sources,
                                                  size_t remembered_max = 16'384);

  /// An issuer and its keys at this moment.
  struct IssuerState {
    const config::TokenIssuer& settings;
    KeySource::Snapshot keys;
  };
  std::vector<IssuerState> issuers() const;

  /// Never blocks. `now` is in seconds since 1970. `may_verify` is called before a signature is
  /// verified, which costs time; if it returns false, the token is refused with 429. Empty: true.
  Verification verify(std::string_view token, int64_t now,
                      const std::function<bool()>& may_verify = {}) const;

 private:
  struct Issuer {
    config::TokenIssuer settings;
    std::shared_ptr<KeySource> source;  // shared with the verifiers of other configurations
  };
  explicit Verifier(size_t remembered_max) : remembered_(remembered_max) {}
  Verification verify_new(std::string_view token, int64_t now, const std::string& digest,
                          const std::function<bool()>& may_verify) const;

  std::vector<Issuer> issuers_;
  mutable Remembered remembered_;
};

}  // namespace signalbox::tokens
