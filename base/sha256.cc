// The adapter to OpenSSL's digests. It uses the EVP interface, which selects the processor's SHA
// instructions. A digest is fetched once: OpenSSL would search for EVP_sha256() at each use.

#include "base/sha256.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <array>
#include <initializer_list>

#include "base/error.h"

namespace signalbox {
namespace {

const EVP_MD* fetch(const char* name) {
  const EVP_MD* const kind = EVP_MD_fetch(nullptr, name, nullptr);
  SIGNALBOX_CHECK(kind != nullptr);
  return kind;
}

std::string digest_hex(const EVP_MD* kind, std::initializer_list<std::string_view> parts) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  SIGNALBOX_CHECK(context != nullptr && EVP_DigestInit_ex(context, kind, nullptr) == 1);
  for (const std::string_view part : parts) {
    SIGNALBOX_CHECK(EVP_DigestUpdate(context, part.data(), part.size()) == 1);
  }
  SIGNALBOX_CHECK(EVP_DigestFinal_ex(context, digest.data(), &size) == 1);
  EVP_MD_CTX_free(context);
  std::string hex(size_t{2} * size, '0');
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (size_t i = 0; i < size; ++i) {
    hex[2 * i] = kDigits[digest[i] >> 4];
    hex[2 * i + 1] = kDigits[digest[i] & 15];
  }
  return hex;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  static const EVP_MD* const kind = fetch("SHA256");
  return digest_hex(kind, {bytes});
}

std::string git_blob_hex(std::string_view bytes) {
  const std::string header = fmt::format("blob {}", bytes.size());
  static const EVP_MD* const kind = fetch("SHA1");
  return digest_hex(kind, {header, std::string_view("\0", 1), bytes});
}

}  // namespace signalbox
