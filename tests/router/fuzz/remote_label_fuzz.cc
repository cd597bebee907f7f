// Feeds arbitrary bytes as the reply of a language model that labels a text. What is accepted must
// be scores that sum up to 1.

#include <cmath>
#include <cstdint>
#include <numeric>
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
  SIGNALBOX_CHECK(std::abs(std::accumulate(scores->begin(), scores->end(), 0.0f) - 1) < 1e-4);
  for (const float score : *scores) SIGNALBOX_CHECK(score >= 0 && score <= 1);
  return 0;
}
