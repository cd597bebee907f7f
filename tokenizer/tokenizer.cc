// Opens a tokenizer and puts the file's name in front of what went wrong.

#include "tokenizer/tokenizer.h"

#include <string>

#include "base/mapped_file.h"
#include "tokenizer/hf_json.h"

namespace signalbox::tokenizer {

void Encoding::clear() {
  ids.clear();
  offsets.clear();
  type_ids.clear();
  first_tokens = second_tokens = {};
}

Result<std::unique_ptr<const Tokenizer>> Tokenizer::open(const std::filesystem::path& path) {
  SIGNALBOX_TRY(const MappedFile file, MappedFile::open(path));
  return parse(file.text(), path.string());
}

Result<std::unique_ptr<const Tokenizer>> Tokenizer::parse(std::string_view json,
                                                          std::string_view name) {
  auto tokenizer = read_hf_json(std::string(json));
  if (!tokenizer) return fail_in(name, std::move(tokenizer).error());
  return tokenizer;
}

}  // namespace signalbox::tokenizer
