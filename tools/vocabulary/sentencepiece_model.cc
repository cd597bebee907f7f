// The field numbers are those of sentencepiece_model.proto. Fields that are not handled here
// concern training and are skipped.

#include "tools/vocabulary/sentencepiece_model.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/protobuf.h"
#include "base/utf8.h"

namespace signalbox::tools {
namespace {

using Model = SentencePieceModel;
using Piece = SentencePieceModel::Piece;
using PieceType = SentencePieceModel::PieceType;

constexpr size_t kPiecesMax = size_t{1} << 24;
constexpr size_t kPieceBytesMax = 1024;  // the limit of the tokenizer.json reader

/// Calls read(field) for each field of a message. Prefixes errors with `where`.
template <class Read>
Result<void> for_each_field(std::string_view message, std::string_view where, const Read& read) {
  protobuf::Reader reader(message);
  while (true) {
    const auto field = reader.next();
    if (!field) return fail_in(where, field.error());
    if (!*field) return {};
    if (auto done = read(**field); !done) return fail_in(where, std::move(done).error());
  }
}

template <class T>
Result<void> set(T& target, const Result<T>& value) {
  if (!value) return tl::unexpected<Error>(value.error());
  target = *value;
  return {};
}

Result<void> set_text(std::string& target, const Result<std::string_view>& value) {
  if (!value) return tl::unexpected<Error>(value.error());
  target = *value;
  return {};
}

Result<PieceType> read_piece_type(const protobuf::Field& field) {
  SIGNALBOX_TRY(const int32_t type, field.int32());
  if (type < 1 || type > 6) return fail(Code::kCorrupt, "type: expected 1 to 6, found {}", type);
  return static_cast<PieceType>(type);
}

Result<Piece> read_piece(std::string_view message, std::string_view where) {
  Piece piece;
  SIGNALBOX_TRY_VOID(for_each_field(message, where, [&](const protobuf::Field& field) {
    if (field.number() == 1) return set_text(piece.text, field.bytes());
    if (field.number() == 2) return set(piece.score, field.float32());
    if (field.number() == 3) return set(piece.type, read_piece_type(field));
    return Result<void>();
  }));
  if (piece.text.empty() || piece.text.size() > kPieceBytesMax) {
    return fail(Code::kCorrupt, "{}: a piece of {} bytes, expected 1 to {}", where,
                piece.text.size(), kPieceBytesMax);
  }
  if (!utf8::is_valid(piece.text)) return fail(Code::kCorrupt, "{}: not UTF-8", where);
  if (!std::isfinite(piece.score)) {
    return fail(Code::kCorrupt, "{}: a score of {}", where, piece.score);
  }
  if (piece.type == PieceType::kUnused) {
    return fail(Code::kUnsupported,
                "{}: \"{}\" is an unused piece, which tokenizer.json cannot express", where,
                piece.text);
  }
  return piece;
}

Result<Model::Kind> read_kind(const protobuf::Field& field) {
  SIGNALBOX_TRY(const int32_t kind, field.int32());
  if (kind == 3 || kind == 4) {
    return fail(Code::kUnsupported, "a model of {} is not supported (supported: unigram, bpe)",
                kind == 3 ? "words" : "characters");
  }
  if (kind != 1 && kind != 2)
    return fail(Code::kCorrupt, "model_type: expected 1 to 4, found {}", kind);
  return static_cast<Model::Kind>(kind);
}

Result<void> read_trainer_spec(std::string_view message, Model& model) {
  bool whitespace_as_suffix = false;
  SIGNALBOX_TRY_VOID(for_each_field(message, "trainer_spec", [&](const protobuf::Field& field) {
    switch (field.number()) {
      case 3:
        return set(model.kind, read_kind(field));
      case 24:
        return set(whitespace_as_suffix, field.boolean());
      case 35:
        return set(model.byte_fallback, field.boolean());
      case 41:
        return set(model.begin_id, field.int32());
      case 42:
        return set(model.end_id, field.int32());
      default:
        return Result<void>();
    }
  }));
  if (whitespace_as_suffix) {
    return fail(Code::kUnsupported,
                "trainer_spec: treat_whitespace_as_suffix is not supported (supported: false)");
  }
  return {};
}

Result<void> read_normalizer_spec(std::string_view message, Model& model) {
  bool escape_whitespaces = true;
  SIGNALBOX_TRY_VOID(for_each_field(message, "normalizer_spec", [&](const protobuf::Field& field) {
    switch (field.number()) {
      case 2:
        return set_text(model.charsmap, field.bytes());
      case 3:
        return set(model.add_dummy_prefix, field.boolean());
      case 4:
        return set(model.remove_extra_whitespaces, field.boolean());
      case 5:
        return set(escape_whitespaces, field.boolean());
      default:
        return Result<void>();
    }
  }));
  if (!escape_whitespaces) {
    return fail(Code::kUnsupported,
                "normalizer_spec: escape_whitespaces: false is not supported (supported: true)");
  }
  return {};
}

Result<void> read_field(const protobuf::Field& field, Model& model) {
  if (field.number() < 1 || field.number() > 3) return {};
  SIGNALBOX_TRY(const std::string_view message, field.bytes());
  if (field.number() == 2) return read_trainer_spec(message, model);
  if (field.number() == 3) return read_normalizer_spec(message, model);
  if (model.pieces.size() == kPiecesMax) {
    return fail(Code::kCorrupt, "expected at most {} pieces", kPiecesMax);
  }
  SIGNALBOX_TRY(Piece piece, read_piece(message, fmt::format("pieces[{}]", model.pieces.size())));
  model.pieces.push_back(std::move(piece));
  return {};
}

// Checks the properties that concern all pieces together.
Result<void> check_pieces(Model& model) {
  std::unordered_set<std::string_view> seen;
  size_t bytes = 0;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const Piece& piece = model.pieces[i];
    if (!seen.insert(piece.text).second) {
      return fail(Code::kCorrupt, "pieces[{}]: duplicate piece \"{}\"", i, piece.text);
    }
    if (piece.type == PieceType::kByte) ++bytes;
    if (piece.type != PieceType::kUnknown) continue;
    if (model.unknown_id >= 0) {
      return fail(Code::kCorrupt, "pieces[{}] and pieces[{}] are both of type unknown",
                  model.unknown_id, i);
    }
    model.unknown_id = static_cast<int32_t>(i);
  }
  if (model.unknown_id < 0) return fail(Code::kCorrupt, "no piece has type unknown");
  if (model.byte_fallback && bytes != 256) {
    return fail(Code::kCorrupt, "byte_fallback with pieces for only {} of 256 bytes", bytes);
  }
  return {};
}

// The file may give an id for a piece that does not exist.
void forget_unless_control(const Model& model, int32_t& id) {
  if (id < 0 || static_cast<size_t>(id) >= model.pieces.size() ||
      model.pieces[static_cast<size_t>(id)].type != PieceType::kControl) {
    id = -1;
  }
}

}  // namespace

// Field 1 of the file is a piece; field 1 of the piece is its text.
bool SentencePieceModel::is_one(std::string_view bytes) {
  for (int depth = 0; depth < 2; ++depth) {
    const auto field = protobuf::Reader(bytes).next();
    if (!field || !*field || (*field)->number() != 1) return false;
    const auto inner = (*field)->bytes();
    if (!inner) return false;
    bytes = *inner;
  }
  return true;
}

Result<SentencePieceModel> SentencePieceModel::parse(std::string_view bytes) {
  Model model;
  model.begin_id = 1;  // the trainer's defaults
  model.end_id = 2;
  protobuf::Reader reader(bytes);
  while (true) {
    SIGNALBOX_TRY(const auto field, reader.next());
    if (!field) break;
    SIGNALBOX_TRY_VOID(read_field(*field, model));
  }
  SIGNALBOX_TRY_VOID(check_pieces(model));
  forget_unless_control(model, model.begin_id);
  forget_unless_control(model, model.end_id);
  return model;
}

int64_t SentencePieceModel::find(std::string_view text) const {
  const auto found = std::ranges::find(pieces, text, &Piece::text);
  return found == pieces.end() ? -1 : found - pieces.begin();
}

}  // namespace signalbox::tools
