#pragma once
// The public keys of issuers, and the signatures that they verify (RFC 7518, RFC 8037).

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace signalbox::tokens {

/// In the order of config::kTokenAlgorithms. "none" and those with a shared secret do not exist
/// here.
enum class Algorithm : uint8_t {
  kRs256,
  kRs384,
  kRs512,
  kPs256,
  kPs384,
  kPs512,
  kEs256,
  kEs384,
  kEdDsa
};

/// Nullopt for any other name; case matters.
std::optional<Algorithm> algorithm_of(std::string_view name);
std::string_view name_of(Algorithm algorithm);

/// Immutable and thread-safe; copies share the key.
class PublicKey {
 public:
  /// Numbers are big-endian. Errors: kInvalid for a modulus of less than 2,048 or more than 8,192
  /// bits, and for an exponent that is even, 1, or of more than 8 bytes.
  static Result<PublicKey> rsa(std::string_view modulus, std::string_view exponent);
  /// A point of "P-256" or "P-384". Errors: kInvalid for another curve and for a point that does
  /// not lie on it.
  static Result<PublicKey> ec(std::string_view curve, std::string_view x, std::string_view y);
  /// Errors: kInvalid for a key that has not 32 bytes.
  static Result<PublicKey> ed25519(std::string_view x);

  /// True if the algorithm is one for this type of key.
  bool fits(Algorithm algorithm) const;
  /// True if the key's owner has signed the text. False if the algorithm does not fit.
  bool verifies(Algorithm algorithm, std::string_view text, std::string_view signature) const;

 private:
  struct Handle;
  enum class Kind : uint8_t { kRsa, kP256, kP384, kEd25519 };
  PublicKey(Kind kind, std::shared_ptr<const Handle> handle)
      : kind_(kind), handle_(std::move(handle)) {}

  Kind kind_;
  std::shared_ptr<const Handle> handle_;  // shared by copies
};

}  // namespace signalbox::tokens
