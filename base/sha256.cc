// The adapter to OpenSSL's digests. It uses the EVP interface, which selects the processor's SHA
// instructions.

#include "base/sha256.h"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace signalbox {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  SIGNALBOX_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  std::string hex;
  hex.reserve(2 * size);
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace signalbox
