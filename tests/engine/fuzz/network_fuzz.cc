// Opens any bytes as a network: a line with a config.json, then a safetensors file. The network
// must give an error or encode a text, and its head must give an error or logits.

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "engine/heads.h"
#include "engine/scratch.h"
#include "engine/trunk.h"
#include "kernels/kernels.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const auto* line_end = static_cast<const uint8_t*>(std::memchr(data, '\n', size));
  if (line_end == nullptr) return 0;
  const auto line = static_cast<size_t>(line_end - data);
  const auto config = weights::HfConfig::parse(
      std::string(reinterpret_cast<const char*>(data), line), "config.json");
  if (!config) return 0;
  // As in a mapped file, the tensors begin at an aligned address.
  std::vector<uint64_t> aligned((size - line) / sizeof(uint64_t) + 1);
  std::memcpy(aligned.data(), line_end + 1, size - line - 1);
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(aligned.data()),
                                         size - line - 1);
  const auto file = weights::SafeTensors::parse(bytes, "model.safetensors");
  const weights::SafeTensors none;
  const auto trunk =
      engine::open_trunk(*config, file ? *file : none, {.kernels = **kernels::table_of("base")});
  if (!trunk) {
    SIGNALBOX_CHECK(!trunk.error().message.empty());
    return 0;
  }
  engine::Scratch scratch;
  scratch.batch.add(std::vector<int32_t>(std::min((*trunk)->shape().tokens_max, 5)), {});
  scratch.reserve((*trunk)->shape(), 1);
  engine::Workers workers(1);
  const engine::TrunkShape& shape = (*trunk)->shape();
  const auto head =
      engine::Head::open("", *config, file ? *file : none, **kernels::table_of("base"), shape);
  SIGNALBOX_CHECK(head || !head.error().message.empty());
  const int32_t first = head && *head ? (*head)->info().layers : shape.layers;
  (*trunk)->encode(scratch, first, workers);
  if (head && *head) (*head)->logits(scratch.batch, scratch.x.data());
  if (first < shape.layers) (*trunk)->resume(scratch, first, shape.layers, workers);
  return 0;
}
