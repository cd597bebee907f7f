// Feeds the parts of arbitrary bytes as the set of clients' keys that a server returns. A text
// that is read has the digest of its stamp.

#include <cstdint>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "router/config/access.h"
#include "router/shared_keys/key_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\0') {
      parts.emplace_back();
    } else {
      parts.back() += static_cast<char>(data[i]);
    }
  }
  // The digest of any text can be reached.
  if (parts.size() == 4 && parts[2] == "right") parts[2] = sha256_hex(parts[3]);
  const auto found = shared_keys::read_set(std::move(parts), {"e", 7, "d"});
  if (!found) return 0;
  SIGNALBOX_CHECK(found->stamp.epoch.empty() == (found->stamp.version == 0));
  if (!found->text) return 0;
  SIGNALBOX_CHECK(sha256_hex(*found->text) == found->stamp.digest);
  static_cast<void>(config::parse_keys(*found->text, "keys"));
  return 0;
}
