// Reads arbitrary bytes as a sentencepiece model. The result must be an error, or a model whose
// tokenizer.json can be written.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/sentencepiece_model.h"
#include "tools/sentencepiece_to_hf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::tools;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)SentencePieceModel::is_one(bytes);
  const auto model = SentencePieceModel::parse(bytes);
  if (model) (void)sentencepiece_to_hf(*model, {.begin = true, .end = model->end_id >= 0});
  return 0;
}
