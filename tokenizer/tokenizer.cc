// Opens a tokenizer and adds the file's name to errors.

#include "tokenizer/tokenizer.h"

#include <string>
#include <utility>

#include "base/json.h"
#include "base/mapped_file.h"
#include "tokenizer/compiled.h"
#include "tokenizer/hf/file.h"
#include "tokenizer/hf/settings.h"
#include "tokenizer/pipeline.h"

namespace signalbox::tokenizer {

void Encoding::clear() {
  ids.clear();
  offsets.clear();
  type_ids.clear();
  first_tokens = second_tokens = {};
}

namespace {

using Opened = Result<std::unique_ptr<const Tokenizer>>;

// `bytes` point into `storage`, or are JSON.
Opened read(std::string_view bytes, Storage storage, const Settings& settings) {
  CompiledTokenizer compiled{.json = bytes, .has_tables = false, .tables = {}};
  if (is_compiled(bytes)) {
    SIGNALBOX_TRY(compiled, read_compiled(bytes));
  }
  SIGNALBOX_TRY(auto parts, read_hf_json(std::string(compiled.json), settings,
                                         compiled.has_tables ? &compiled.tables : nullptr));
  if (compiled.has_tables) parts.storage = std::move(storage);
  return std::make_unique<const Pipeline>(std::move(parts));
}

Opened open_with(const std::filesystem::path& path, const Settings& settings) {
  SIGNALBOX_TRY(MappedFile file, MappedFile::open(path));
  const std::string_view bytes = file.text();  // the address does not change when the owner moves
  auto tokenizer = read(bytes, {std::move(file), {}}, settings);
  if (!tokenizer) return fail_in(path.string(), std::move(tokenizer).error());
  return tokenizer;
}

}  // namespace

Opened Tokenizer::open(const std::filesystem::path& path) {
  return open_with(path, {});
}

Opened Tokenizer::open_directory(const std::filesystem::path& directory) {
  SIGNALBOX_TRY(const Settings settings, read_settings(directory));
  return open_with(directory / "tokenizer.json", settings);
}

Opened Tokenizer::parse(std::string_view bytes, std::string_view name) {
  Storage storage;
  if (is_compiled(bytes)) {
    storage.copy = Buffer<char>(bytes.size());
    bytes.copy(storage.copy.data(), bytes.size());
    bytes = {storage.copy.data(), bytes.size()};
  }
  auto tokenizer = read(bytes, std::move(storage), {});
  if (!tokenizer) return fail_in(name, std::move(tokenizer).error());
  return tokenizer;
}

Result<std::string> Tokenizer::compile(std::string_view json, std::string_view name) {
  auto parts = read_hf_json(std::string(json), {});
  if (!parts) return fail_in(name, std::move(parts).error());
  return write_compiled(json, dynamic_cast<const Bpe*>(parts->model.get()));
}

}  // namespace signalbox::tokenizer
