#pragma once
// The compiled form of a tokenizer.json: its tables as they lie in memory, to be mapped and used in
// place, and the rest of it as JSON. Opening one costs a look at each entry instead of building the
// tables. Little-endian; the arrays begin at multiples of 64 bytes:
//
//   magic (8)  flags (8)  7 x { offset (8), bytes (8) }
//   JSON, vocabulary text, pieces, slots, merges, small junctions, other junctions
//
// Of models other than BPE it holds the JSON alone. A file that was tampered with may give wrong
// ids, but none out of range.

#include <string>
#include <string_view>

#include "base/error.h"
#include "tokenizer/bpe.h"

namespace signalbox::tokenizer {

/// Whether bytes begin as a compiled form does.
bool is_compiled(std::string_view bytes);

/// What of a BPE model is compiled.
struct BpeTables {
  Vocabulary::Arrays vocabulary;
  std::span<const Merges::Slot> merges;
  Junctions::Arrays junctions;
  bool fallback_merges = false;
};

struct Compiled {
  std::string_view json;  // without model.vocab and model.merges where there are tables
  bool has_tables = false;
  BpeTables tables;
};

/// Views into `bytes`, which must be aligned to 64 bytes. Checks where the arrays lie, not what is
/// in them. Error: kCorrupt.
Result<Compiled> read_compiled(std::string_view bytes);

/// The file's bytes. Precondition: `json` is one that read_hf_json accepts, `bpe` its model or
/// null when that is of another kind.
std::string write_compiled(std::string_view json, const Bpe* bpe);

}  // namespace signalbox::tokenizer
