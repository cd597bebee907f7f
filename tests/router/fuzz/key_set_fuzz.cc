// Feeds arbitrary texts as key sets, as discovery documents and as fields Cache-Control. Keys that
// are read must refuse a signature that nobody has made.

#include <cstdint>
#include <string>

#include "router/tokens/key_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto lifetime = tokens::lifetime_of(text);
  SIGNALBOX_CHECK(lifetime.count() >= 60 && lifetime.count() <= 86'400);
  const auto address = tokens::read_discovery(text, "https://issuer.example");
  SIGNALBOX_CHECK(!address || config::is_safe_url(*address));
  const auto keys = tokens::KeySet::parse(text);
  if (!keys) {
    SIGNALBOX_CHECK(keys.error().message.size() < 2000);
    return 0;
  }
  SIGNALBOX_CHECK(keys->size() <= tokens::kKeysMax && keys->left_out().size() < 2000);
  const std::string signature(64, '\1');
  for (const std::string_view name : config::kTokenAlgorithms) {
    const auto algorithm = *tokens::algorithm_of(name);
    const tokens::PublicKey* key = keys->find(std::nullopt, algorithm);
    SIGNALBOX_CHECK(key == nullptr || !key->verifies(algorithm, "text", signature));
  }
  return 0;
}
