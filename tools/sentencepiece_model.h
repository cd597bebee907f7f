#pragma once
// A sentencepiece `.model`, which is a ModelProto of sentencepiece_model.proto: what of it decides
// how text is cut. Read here and not by libsentencepiece: that library keeps the normalizer's and
// the trainer's settings to itself, and cannot share a process with another protobuf.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::tools {

struct SentencePieceModel {
  enum class Kind : uint8_t { kUnigram = 1, kBpe = 2 };
  enum class PieceType : uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,      // "<s>": not found in text
    kUserDefined = 4,  // always found in text, and before all else
    kUnused = 5,
    kByte = 6,  // "<0x0A>": stands for a byte of an unknown character
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
  std::string charsmap;          // for the Precompiled normalizer; empty: text stays as it is
  bool add_dummy_prefix = true;  // a space at the beginning of every text
  bool remove_extra_whitespaces = true;

  /// True of bytes that begin as such a file does.
  static bool is_one(std::string_view bytes);

  /// Errors: kCorrupt; kUnsupported for models of words or characters, for white space that is not
  /// escaped or goes to the end of words, and for pieces that are switched off.
  static Result<SentencePieceModel> parse(std::string_view bytes);
};

}  // namespace signalbox::tools
