// An id beyond the table of tokens would be read from outside of it.

#include "engine/model_tokenizer.h"

namespace signalbox::engine {

Result<std::unique_ptr<const tokenizer::Tokenizer>> open_tokenizer(
    const std::filesystem::path& directory, int32_t vocabulary) {
  const auto path = directory / "tokenizer.json";
  if (!std::filesystem::exists(path)) return nullptr;
  SIGNALBOX_TRY(auto tokenizer, tokenizer::Tokenizer::open(path));
  if (tokenizer->vocabulary_size() > vocabulary) {
    return fail(Code::kCorrupt, "{}: the tokenizer has {} ids, config.json's vocab_size is {}",
                directory.string(), tokenizer->vocabulary_size(), vocabulary);
  }
  return tokenizer;
}

}  // namespace signalbox::engine
