#pragma once
// The sections of a tokenizer.json: one reader each, one file each. A component that is not built
// is refused by its name.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/compiled.h"
#include "tokenizer/json_field.h"
#include "tokenizer/model.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/postprocess.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/vocabulary.h"

namespace signalbox::tokenizer {

constexpr int64_t kIdMax = (int64_t{1} << 24) - 1;  // 64 times the largest vocabulary in use

struct LoadedModel {
  std::unique_ptr<const Model> model;
  /// Its pieces, looked up by name while the rest of the file is read; the model owns them.
  const Vocabulary* vocabulary;
  /// The id whose tokens are spelled as the text that they stand for; -1: none.
  int32_t verbatim_id = -1;
};
/// `byte_level`: as the pre-tokenizer says. `tables`: null, or those of a compiled form.
Result<LoadedModel> read_model(const Field& model, bool byte_level, const BpeTables* tables);

/// The model where its type is Unigram.
Result<LoadedModel> read_unigram(const Field& model);
Result<LoadedModel> read_bpe(const Field& model, bool byte_level, const BpeTables* tables);

/// `vocab` where it is an object of pieces and ids.
Result<Vocabulary> read_vocabulary(const Field& vocab);
/// The id of the piece that a member names, which must be one of the vocabulary.
Result<int32_t> id_of_piece(const Field& name, const Vocabulary& vocabulary);

Result<Normalizers> read_normalizers(const Field& root);
/// A normalizer of type Precompiled.
Result<std::unique_ptr<const Normalizer>> read_precompiled(const Field& normalizer);
Result<Pretokenizer> read_pretokenizer(const Field& root);
Result<Postprocessor> read_postprocessor(const Field& root, int32_t ids_end);

struct Added {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
};
/// `ids_end`, the first id after the vocabulary, is raised where a token extends it.
Result<Added> read_added_tokens(const Field& root, const Normalizers& normalizers,
                                const Vocabulary& vocabulary, int32_t& ids_end);

/// kUnsupported: "<path>: <value> is not built (built: <built>)".
tl::unexpected<Error> not_built(const Field& at, std::string_view built);
/// "A, B": the names of a table of components.
template <class Table>
std::string names_of(const Table& table) {
  std::string out;
  for (const auto& row : table) {
    if (!out.empty()) out += ", ";
    out += row.name;
  }
  return out;
}
/// The `type` member of a component.
Result<Field> type_of(const Field& component);
/// A boolean or a string member that must be there.
Result<bool> flag(const Field& object, std::string_view key);
Result<std::string_view> text(const Field& object, std::string_view key);

}  // namespace signalbox::tokenizer
