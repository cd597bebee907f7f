// Reads `model`.

#include "tokenizer/hf/sections.h"

#include <limits>
#include <utility>

#include "tokenizer/models/wordpiece.h"

namespace signalbox::tokenizer {
namespace {

// Files from before 2020-10 have no type. They are recognised by a member that only one model type
// has.
Result<std::string_view> kind_of(const Field& model) {
  SIGNALBOX_TRY_VOID(model.expect(json::Type::kObject));
  if (!model.value().find("type")) {
    if (model.value().find("max_input_chars_per_word")) return "WordPiece";
    if (model.value().find("merges")) return "BPE";
    if (model.value().find("unk_id")) return "Unigram";
  }
  SIGNALBOX_TRY(const Field type, type_of(model));
  return type.value().text();
}

Result<LoadedModel> read_wordpiece(const Field& model) {
  SIGNALBOX_TRY(const Field vocab, model.member("vocab"));
  SIGNALBOX_TRY(Vocabulary vocabulary, read_vocabulary(vocab));
  WordPiece::Options options;
  SIGNALBOX_TRY(options.continuing_prefix, text(model, "continuing_subword_prefix"));
  SIGNALBOX_TRY(const Field most, model.member("max_input_chars_per_word"));
  SIGNALBOX_TRY(options.word_code_points_max, most.integer(0, std::numeric_limits<int32_t>::max()));
  SIGNALBOX_TRY(const Field unknown, model.member("unk_token"));
  SIGNALBOX_TRY(options.unknown_id, id_of_piece(unknown, vocabulary));
  auto wordpiece = std::make_unique<const WordPiece>(std::move(vocabulary), options);
  const Vocabulary* pieces = &wordpiece->vocabulary();
  return LoadedModel{std::move(wordpiece), pieces};
}

}  // namespace

Result<LoadedModel> read_model(const Field& model, bool byte_level, const BpeTables* tables) {
  SIGNALBOX_TRY(const std::string_view kind, kind_of(model));
  if (kind == "WordPiece" && !byte_level) return read_wordpiece(model);
  if (kind == "BPE") return read_bpe(model, byte_level, tables);
  if (kind == "Unigram" && !byte_level) return read_unigram(model);
  SIGNALBOX_TRY(const Field type, type_of(model));
  return unsupported(type, byte_level ? "BPE with ByteLevel" : "WordPiece, BPE, Unigram");
}

}  // namespace signalbox::tokenizer
