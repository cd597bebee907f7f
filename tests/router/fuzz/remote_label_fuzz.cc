// Feeds arbitrary bytes as the reply of a language model that labels a text. A reply that is
// accepted must give a score from 0 to 1 for at most one label.

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "router/models/remote_classifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::string labels[] = {"SAFE", "RISKY", "none"};
  const auto scores =
      models::read_remote_label(std::string(reinterpret_cast<const char*>(data), size), labels);
  if (!scores) {
    SIGNALBOX_CHECK(!scores.error().message.empty());
    return 0;
  }
  SIGNALBOX_CHECK(scores->size() == std::size(labels));
  for (const float score : *scores) SIGNALBOX_CHECK(score >= 0 && score <= 1);
  SIGNALBOX_CHECK(std::ranges::count_if(*scores, [](float score) { return score > 0; }) <= 1);
  return 0;
}
