#pragma once
// Reads a sentencepiece `.model` file, a ModelProto of sentencepiece_model.proto: the parts of it
// that decide how text is split. We do not use libsentencepiece, because it does not expose the
// settings of the normalizer and the trainer, and cannot share a process with another protobuf
// library.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::tools {

inline constexpr std::string_view kSpaceMark = "\u2581";  // stands for a space in pieces

struct SentencePieceModel {
  enum class Kind : uint8_t { kUnigram = 1, kBpe = 2 };
  enum class PieceType : uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,      // "<s>": never found in text
    kUserDefined = 4,  // always found in text, before all other pieces
    kUnused = 5,
    kByte = 6,  // "<0x0A>": stands for one byte of an unknown character
  };
  struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::kNormal;
  };

  Kind kind = Kind::kUnigram;
  std::vector<Piece> pieces;  // by id
  int32_t unknown_id = -1;
  int32_t begin_id = -1;  // -1: none
  int32_t end_id = -1;
  bool byte_fallback = false;
  std::string charsmap;          // for the Precompiled normalizer; empty: text is not changed
  bool add_dummy_prefix = true;  // puts a space in front of every text
  bool remove_extra_whitespaces = true;

  /// Returns true if the bytes begin as such a file does.
  static bool is_one(std::string_view bytes);

  /// Errors: kCorrupt; kUnsupported for word and character models, for white space that is not
  /// escaped or is a suffix, and for unused pieces.
  static Result<SentencePieceModel> parse(std::string_view bytes);

  /// Returns the id of a piece; -1: none.
  int64_t find(std::string_view text) const;
};

}  // namespace signalbox::tools
