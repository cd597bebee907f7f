// Reads arbitrary bytes as a sentencepiece model. The result must be an error, or a model whose
// tokenizer.json can be written.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/vocabulary/sentencepiece_model.h"
#include "tools/vocabulary/sentencepiece_to_hf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::tools;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)SentencePieceModel::is_one(bytes);
  const auto model = SentencePieceModel::parse(bytes);
  if (!model) return 0;
  auto marks = sentencepiece_marks(*model, model->begin_id >= 0, model->end_id >= 0);
  if (marks) (void)sentencepiece_to_hf(*model, {.marks = *std::move(marks)});
  return 0;
}
