#pragma once
// The sections of a tokenizer.json. Each has its own reader and file. An unsupported component is
// rejected by name.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/compiled.h"
#include "tokenizer/hf/json_field.h"
#include "tokenizer/hf/settings.h"
#include "tokenizer/model.h"
#include "tokenizer/models/vocabulary.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/postprocess.h"
#include "tokenizer/pretokenizer.h"

namespace signalbox::tokenizer {

constexpr int64_t kIdMax = (int64_t{1} << 24) - 1;  // 64 times the largest vocabulary in use
constexpr size_t kAddedBytesMax = 1024;  // of an added token; limits the cost per text position

struct LoadedModel {
  std::unique_ptr<const Model> model;
  /// The model's pieces, for lookups by name while the rest of the file is read. The model owns
  /// them.
  const Vocabulary* vocabulary;
  /// Tokens with this id are spelled like the text they represent; -1: none.
  int32_t verbatim_id = -1;
};
/// `byte_level` comes from the pre-tokenizer. `tables` come from a compiled form, or are null.
Result<LoadedModel> read_model(const Field& model, bool byte_level, const BpeTables* tables);

/// Readers for one model type each.
Result<LoadedModel> read_unigram(const Field& model);
Result<LoadedModel> read_bpe(const Field& model, bool byte_level, const BpeTables* tables);

/// Reads `vocab` if it is an object of pieces and ids.
Result<Vocabulary> read_vocabulary(const Field& vocab);
/// Returns the id of the piece named by a member. The vocabulary must contain it.
Result<int32_t> id_of_piece(const Field& name, const Vocabulary& vocabulary);

Result<Normalizers> read_normalizers(const Field& root, const Settings& settings = {});
/// Reads a normalizer of type Precompiled.
Result<std::unique_ptr<const Normalizer>> read_precompiled(const Field& normalizer);
Result<Pretokenizer> read_pretokenizer(const Field& root, const Settings& settings = {});

/// The ids of the tokens that begin and end a text; -1 for a token that the settings do not name.
struct MarkIds {
  int32_t bos = -1;
  int32_t eos = -1;
};
Result<Postprocessor> read_postprocessor(const Field& root, const Settings& settings, MarkIds marks,
                                         int32_t ids_end);

struct Added {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  MarkIds marks;
};
/// `ids_end` is the first id after the vocabulary. A token that extends the vocabulary increases
/// it.
Result<Added> read_added_tokens(const Field& root, const Settings& settings,
                                const Normalizers& normalizers, const Vocabulary& vocabulary,
                                int32_t& ids_end);

/// Returns kUnsupported: "<path>: <value> is not supported (supported: <built>)".
tl::unexpected<Error> unsupported(const Field& at, std::string_view supported);
/// Returns "A, B": the names in a table of components.
template <class Table>
std::string names_of(const Table& table) {
  std::string out;
  for (const auto& row : table) {
    if (!out.empty()) out += ", ";
    out += row.name;
  }
  return out;
}
/// Returns kCorrupt if the content of an added token is too long.
Result<void> check_added_size(const Field& at, std::string_view content);
/// Returns the `type` member of a component.
Result<Field> type_of(const Field& component);
/// Returns a required member: a boolean (flag) or a string (text).
Result<bool> flag(const Field& object, std::string_view key);
/// Returns a boolean member, or nullopt if it is missing or null.
Result<std::optional<bool>> optional_flag(const Field& object, std::string_view key);
/// Returns a boolean member, or `otherwise` if it is missing or null.
Result<bool> flag_or(const Field& object, std::string_view key, bool otherwise);
Result<std::string_view> text(const Field& object, std::string_view key);

}  // namespace signalbox::tokenizer
