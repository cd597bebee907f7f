// Opens any bytes as a GLiNER: a line with a gliner_config.json, then a safetensors file. The
// result is an error, or an encoder and a head whose logits lead to spans. The line is also split
// into words.

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "engine/gliner.h"
#include "engine/scratch.h"
#include "engine/trunk.h"
#include "engine/word_spans.h"
#include "engine/words.h"
#include "kernels/kernels.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox {
namespace {

void check_split_words(std::string_view text) {
  uint32_t past = 0;
  for (const tokenizer::Span word : engine::split_words(text)) {
    SIGNALBOX_CHECK(word.begin >= past && word.begin < word.end && word.end <= text.size());
    past = word.end;
  }
}

void run_gliner(const weights::HfConfig& config, const weights::SafeTensors& file) {
  const kernels::Table& kernels = **kernels::table_of("base");
  const auto gliner = engine::read_gliner_config(config.root());
  const auto encoder = engine::find_encoder_config(config, nullptr, file);
  SIGNALBOX_CHECK(gliner || !gliner.error().message.empty());
  SIGNALBOX_CHECK(encoder || !encoder.error().message.empty());
  if (!gliner || !encoder) return;
  const auto trunk = engine::open_trunk(*encoder, file, {.kernels = kernels});
  if (!trunk) return;
  const engine::TrunkShape& shape = (*trunk)->shape();
  const auto head = engine::GlinerHead::open(*gliner, shape.hidden, file, kernels);
  SIGNALBOX_CHECK(head || !head.error().message.empty());
  if (!head) return;
  const int32_t tokens = std::min(shape.tokens_max, 5);
  engine::Scratch scratch;
  scratch.batch.add(std::vector<int32_t>(tokens), {});
  scratch.reserve(shape, 1);
  engine::Workers workers(1);
  (*trunk)->encode(scratch, shape.layers, workers);
  engine::GlinerLayout layout{{0}, {engine::kNoToken}};
  for (int32_t token = 0; token < tokens; ++token) layout.words.push_back(token);
  const std::vector<float> logits = head->logits(scratch.x.data(), layout, workers);
  engine::choose_spans(logits, tokens + 1, gliner->width_max, 1, 0.5f);
}

}  // namespace
}  // namespace signalbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const auto* line_end = static_cast<const uint8_t*>(std::memchr(data, '\n', size));
  if (line_end == nullptr) return 0;
  const std::string line(reinterpret_cast<const char*>(data), line_end - data);
  check_split_words(line);
  const auto config = weights::HfConfig::parse(line, "gliner_config.json");
  if (!config) return 0;
  // As in a mapped file, the tensors begin at an aligned address.
  const size_t rest = size - line.size() - 1;
  std::vector<uint64_t> aligned(rest / sizeof(uint64_t) + 1);
  std::memcpy(aligned.data(), line_end + 1, rest);
  const auto file = weights::SafeTensors::parse(
      {reinterpret_cast<const std::byte*>(aligned.data()), rest}, "model.safetensors");
  if (file) run_gliner(*config, *file);
  return 0;
}
