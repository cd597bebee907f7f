// The adapter to OpenSSL's public keys. JSON writes an ECDSA signature as two numbers of fixed
// length, OpenSSL as DER.

#include "router/tokens/signature.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <string>

#include "router/config/access.h"

namespace signalbox::tokens {
namespace {

constexpr int kRsaBitsMin = 2048, kRsaBitsMax = 8192;
constexpr size_t kExponentBytesMax = 8;
constexpr size_t kEd25519Bytes = 32;

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Number = std::unique_ptr<BIGNUM, Free<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Free<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Free<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Free<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX_free>>;
using PairOfNumbers = std::unique_ptr<ECDSA_SIG, Free<ECDSA_SIG_free>>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

/// Null if OpenSSL refuses the parameters.
EVP_PKEY* key_from(const char* type, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  SIGNALBOX_CHECK(parameters != nullptr && context != nullptr);
  EVP_PKEY* key = nullptr;
  const bool is_made =
      EVP_PKEY_fromdata_init(context.get()) == 1 &&
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) == 1;
  ERR_clear_error();
  return is_made ? key : nullptr;
}

const EVP_MD* digest_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRs256:
    case Algorithm::kPs256:
    case Algorithm::kEs256:
      return EVP_sha256();
    case Algorithm::kRs384:
    case Algorithm::kPs384:
    case Algorithm::kEs384:
      return EVP_sha384();
    case Algorithm::kRs512:
    case Algorithm::kPs512:
      return EVP_sha512();
    case Algorithm::kEdDsa:
      return nullptr;  // hashes by itself
  }
  return nullptr;
}

bool has_salt(Algorithm algorithm) {
  return algorithm == Algorithm::kPs256 || algorithm == Algorithm::kPs384 ||
         algorithm == Algorithm::kPs512;
}

/// Returns the DER form of two numbers of `size` bytes each, or "" for another length.
std::string der_of(std::string_view signature, size_t size) {
  if (signature.size() != 2 * size) return {};
  Number r = number_of(signature.substr(0, size)), s = number_of(signature.substr(size));
  const PairOfNumbers pair(ECDSA_SIG_new());
  SIGNALBOX_CHECK(r != nullptr && s != nullptr && pair != nullptr);
  SIGNALBOX_CHECK(ECDSA_SIG_set0(pair.get(), r.release(), s.release()) == 1);
  const int length = i2d_ECDSA_SIG(pair.get(), nullptr);
  if (length <= 0) return {};
  std::string out(static_cast<size_t>(length), '\0');
  auto* at = reinterpret_cast<unsigned char*>(out.data());
  i2d_ECDSA_SIG(pair.get(), &at);
  return out;
}

}  // namespace

std::optional<Algorithm> algorithm_of(std::string_view name) {
  const auto& names = config::kTokenAlgorithms;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Algorithm>(found - names.begin());
}

std::string_view name_of(Algorithm algorithm) {
  return config::kTokenAlgorithms[static_cast<size_t>(algorithm)];
}

struct PublicKey::Handle {
  explicit Handle(EVP_PKEY* owned) : key(owned) {}
  std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>> key;
};

Result<PublicKey> PublicKey::rsa(std::string_view modulus, std::string_view exponent) {
  if (exponent.empty() || exponent.size() > kExponentBytesMax || (exponent.back() & 1) == 0 ||
      exponent == "\x01")
    return fail(Code::kInvalid, "e: expected an odd number from 3, of at most {} bytes",
                kExponentBytesMax);
  if (modulus.size() > kRsaBitsMax / 8 + 1)
    return fail(Code::kInvalid, "n: {} bytes, at most {} bits are read", modulus.size(),
                kRsaBitsMax);
  const Number n = number_of(modulus), e = number_of(exponent);
  const Builder builder(OSSL_PARAM_BLD_new());
  SIGNALBOX_CHECK(n != nullptr && e != nullptr && builder != nullptr);
  const int bits = BN_num_bits(n.get());
  if (bits < kRsaBitsMin || bits > kRsaBitsMax)
    return fail(Code::kInvalid, "n: an RSA key of {} bits, expected {} to {}", bits, kRsaBitsMin,
                kRsaBitsMax);
  SIGNALBOX_CHECK(OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
                  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1);
  EVP_PKEY* const key = key_from("RSA", builder.get());
  if (key == nullptr) return fail(Code::kInvalid, "n and e are not an RSA key");
  return PublicKey(Kind::kRsa, std::make_shared<const Handle>(key));
}

Result<PublicKey> PublicKey::ec(std::string_view curve, std::string_view x, std::string_view y) {
  const bool is_p256 = curve == "P-256";
  if (!is_p256 && curve != "P-384") return fail(Code::kInvalid, "crv: expected P-256 or P-384");
  const size_t size = is_p256 ? 32 : 48;
  if (x.size() != size || y.size() != size)
    return fail(Code::kInvalid, "x, y: expected {} bytes each for {}", size, curve);
  const Builder builder(OSSL_PARAM_BLD_new());
  SIGNALBOX_CHECK(builder != nullptr);
  const std::string point = "\x04" + std::string(x) + std::string(y);  // uncompressed
  const char* const group = is_p256 ? "prime256v1" : "secp384r1";
  SIGNALBOX_CHECK(
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1 &&
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) == 1);
  EVP_PKEY* const key = key_from("EC", builder.get());
  if (key == nullptr) return fail(Code::kInvalid, "x, y: no point of {}", curve);
  auto handle = std::make_shared<const Handle>(key);
  const KeyContext context(EVP_PKEY_CTX_new(key, nullptr));
  const bool is_good = context != nullptr && EVP_PKEY_public_check(context.get()) == 1;
  ERR_clear_error();
  if (!is_good) return fail(Code::kInvalid, "x, y: no point of {}", curve);
  return PublicKey(is_p256 ? Kind::kP256 : Kind::kP384, std::move(handle));
}

Result<PublicKey> PublicKey::ed25519(std::string_view x) {
  if (x.size() != kEd25519Bytes)
    return fail(Code::kInvalid, "x: {} bytes, expected {} for Ed25519", x.size(), kEd25519Bytes);
  EVP_PKEY* const key =
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(x), x.size());
  ERR_clear_error();
  if (key == nullptr) return fail(Code::kInvalid, "x: no key of Ed25519");
  return PublicKey(Kind::kEd25519, std::make_shared<const Handle>(key));
}

bool PublicKey::fits(Algorithm algorithm) const {
  if (algorithm == Algorithm::kEs256) return kind_ == Kind::kP256;
  if (algorithm == Algorithm::kEs384) return kind_ == Kind::kP384;
  if (algorithm == Algorithm::kEdDsa) return kind_ == Kind::kEd25519;
  return kind_ == Kind::kRsa;
}

bool PublicKey::verifies(Algorithm algorithm, std::string_view text,
                         std::string_view signature) const {
  if (!fits(algorithm)) return false;
  std::string der;
  if (kind_ == Kind::kP256 || kind_ == Kind::kP384) {
    der = der_of(signature, kind_ == Kind::kP256 ? 32 : 48);
    if (der.empty()) return false;
    signature = der;
  }
  const DigestContext context(EVP_MD_CTX_new());
  SIGNALBOX_CHECK(context != nullptr);
  EVP_PKEY_CTX* options = nullptr;  // owned by `context`
  bool is_good = EVP_DigestVerifyInit(context.get(), &options, digest_of(algorithm), nullptr,
                                      handle_->key.get()) == 1;
  if (is_good && has_salt(algorithm)) {
    is_good = EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1 &&
              EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  is_good = is_good && EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(),
                                        bytes_of(text), text.size()) == 1;
  ERR_clear_error();
  return is_good;
}

}  // namespace signalbox::tokens
