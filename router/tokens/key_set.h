#pragma once
// The public keys that an issuer publishes: a JSON Web Key Set (RFC 7517).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/tokens/signature.h"

namespace signalbox::tokens {

inline constexpr size_t kKeySetBytesMax = size_t{256} << 10;
inline constexpr size_t kKeysMax = 100;

/// Immutable and thread-safe.
class KeySet {
 public:
  /// Keys that cannot verify one of our algorithms are left out: secrets, keys for encryption,
  /// other curves, short keys. The set may be empty, because an issuer withdraws all of its keys in
  /// this way. Errors: kInvalid, kTooLarge.
  static Result<KeySet> parse(std::string_view text);

  /// Returns the key of that id for the algorithm. Without an id it returns the only key that fits.
  /// Null: there is none.
  const PublicKey* find(const std::optional<std::string>& id, Algorithm algorithm) const;
  /// True if a key has the id, for whatever algorithm.
  bool has(std::string_view id) const;
  size_t size() const { return rows_.size(); }
  /// Returns the reasons of the first keys that were left out: "; key 1: kty is missing".
  const std::string& left_out() const { return left_out_; }

 private:
  struct Row {
    std::string id;
    std::optional<Algorithm> only;  // the algorithm that the set names
    PublicKey key;

    bool fits(Algorithm algorithm) const {
      return key.fits(algorithm) && (!only || *only == algorithm);
    }
  };
  std::vector<Row> rows_;
  std::string left_out_;
};

}  // namespace signalbox::tokens
