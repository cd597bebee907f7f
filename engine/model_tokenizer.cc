// An id or a type beyond its table would be read from outside of it.

#include "engine/model_tokenizer.h"

#include <system_error>

namespace signalbox::engine {

Result<std::unique_ptr<const tokenizer::Tokenizer>> open_tokenizer(
    const std::filesystem::path& directory, const TrunkShape& shape) {
  std::error_code ignored;  // the opening reports it
  const auto there = status(directory / "tokenizer.json", ignored);
  if (there.type() == std::filesystem::file_type::not_found) return nullptr;
  SIGNALBOX_TRY(auto tokenizer, tokenizer::Tokenizer::open_directory(directory));
  if (tokenizer->vocabulary_size() > shape.vocabulary) {
    return fail(Code::kCorrupt, "{}: the tokenizer has {} ids, config.json's vocab_size is {}",
                directory.string(), tokenizer->vocabulary_size(), shape.vocabulary);
  }
  // A network with one type ignores those of the tokenizer.
  if (shape.types > 1 && tokenizer->types() > shape.types) {
    return fail(Code::kCorrupt,
                "{}: the tokenizer's post_processor has {} segment types, the network has {}",
                directory.string(), tokenizer->types(), shape.types);
  }
  return tokenizer;
}

}  // namespace signalbox::engine
