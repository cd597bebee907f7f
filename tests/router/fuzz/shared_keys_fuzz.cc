// Feeds the parts of arbitrary bytes as the reply of Redis with the set of clients' keys. A text
// that is read has the digest of its stamp.

#include <cstdint>
#include <string>

#include "base/sha256.h"
#include "router/config/access.h"
#include "router/shared_keys/redis_keys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  stores::RedisValue reply{.type = stores::RedisValue::Type::kList};
  const auto add = [&] { reply.items.push_back({.type = stores::RedisValue::Type::kText}); };
  add();
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\0') {
      add();
    } else {
      reply.items.back().text += static_cast<char>(data[i]);
    }
  }
  // The digest of any text can be reached.
  if (reply.items.size() == 4 && reply.items[2].text == "right")
    reply.items[2].text = sha256_hex(reply.items[3].text);
  const auto found = shared_keys::read_set(reply, {"e", 7, "d"});
  if (!found) return 0;
  SIGNALBOX_CHECK(found->stamp.epoch.empty() == (found->stamp.version == 0));
  if (!found->text) return 0;
  SIGNALBOX_CHECK(sha256_hex(*found->text) == found->stamp.digest);
  static_cast<void>(config::parse_keys(*found->text, "keys"));
  return 0;
}
