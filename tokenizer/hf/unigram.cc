// Reads a `model` of type Unigram: `vocab` is an array of pairs of a piece and its score.

#include "tokenizer/hf/sections.h"

#include <utility>

#include "tokenizer/hf/reference_number.h"
#include "tokenizer/models/unigram.h"

namespace signalbox::tokenizer {
namespace {

// Reads one piece. `at` builds its path, which only errors need.
template <class At>
Result<Unigram::Piece> read_piece(const json::Value& pair, const At& at) {
  size_t count = 0;
  Unigram::Piece piece;
  for (const json::Value& item : pair.items()) {
    if (count == 0) {
      if (!item.is_string()) SIGNALBOX_TRY_VOID(at(item, "[0]").string());
      piece.text = item.text();
    } else if (count == 1) {
      if (!item.is_number()) SIGNALBOX_TRY_VOID(at(item, "[1]").expect(json::Type::kNumber));
      const auto score = reference_number(item.raw());
      if (!score) return at(item, "[1]").corrupt("{}", score.error().message);
      piece.score = *score;
    }
    ++count;
  }
  const Field field = at(pair, "");
  if (!pair.is_array()) SIGNALBOX_TRY_VOID(field.elements());
  if (count != 2) return field.corrupt("expected a piece and its score, found {} values", count);
  if (piece.text.size() > Vocabulary::kPieceBytesMax) {
    return field.corrupt("a piece of {} bytes, expected at most {}", piece.text.size(),
                         Vocabulary::kPieceBytesMax);
  }
  return piece;
}

Result<std::vector<Unigram::Piece>> read_pieces(const Field& vocab) {
  SIGNALBOX_TRY_VOID(vocab.expect(json::Type::kArray));
  std::vector<Unigram::Piece> pieces;
  for (const json::Value& pair : vocab.value().items()) {
    const auto at = [&vocab, &pieces](const json::Value& value, std::string_view rest) {
      return Field(value, fmt::format("{}[{}]{}", vocab.path(), pieces.size(), rest));
    };
    if (pieces.size() > static_cast<size_t>(kIdMax)) {
      return at(pair, "").corrupt("expected at most {} pieces", kIdMax + 1);
    }
    SIGNALBOX_TRY(const Unigram::Piece piece, read_piece(pair, at));
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace

Result<LoadedModel> read_unigram(const Field& model) {
  SIGNALBOX_TRY(const Field vocab, model.member("vocab"));
  SIGNALBOX_TRY(const auto pieces, read_pieces(vocab));
  SIGNALBOX_TRY(const Field unknown, model.member("unk_id"));
  // The reference accepts null and fails when it encounters a character that is not a piece.
  // Encoding cannot fail here, so the file is rejected.
  if (unknown.value().is_null()) return unsupported(unknown, "an id");
  if (pieces.empty()) return vocab.corrupt("expected at least the unknown piece, found none");
  SIGNALBOX_TRY(const int64_t id, unknown.integer(0, static_cast<int64_t>(pieces.size()) - 1));
  bool byte_fallback = false;
  SIGNALBOX_TRY(const auto fallback, model.optional_member("byte_fallback"));
  if (fallback) {
    SIGNALBOX_TRY(byte_fallback, fallback->boolean());
  }
  auto unigram = std::make_unique<const Unigram>(pieces, static_cast<int32_t>(id), byte_fallback);
  const Vocabulary* vocabulary = &unigram->vocabulary();
  return LoadedModel{std::move(unigram), vocabulary, static_cast<int32_t>(id)};
}

}  // namespace signalbox::tokenizer
