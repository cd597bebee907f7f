#pragma once
// The compiled form of a tokenizer.json. Its tables have the same layout as in memory, so the file
// is mapped and used in place; the other settings are stored as JSON. Opening it checks each entry
// instead of building the tables. Little-endian; the arrays begin at multiples of 64 bytes:
//
//   magic (8)  flags (8)  7 x { offset (8), bytes (8) }
//   JSON, vocabulary text, pieces, slots, merges, small junctions, other junctions
//
// For models other than BPE the file contains only the JSON. A manipulated file can produce wrong
// ids, but none out of range.

#include <string>
#include <string_view>

#include "base/error.h"
#include "tokenizer/models/bpe.h"

namespace signalbox::tokenizer {

/// Returns true if the bytes begin like a compiled form.
bool is_compiled(std::string_view bytes);

/// The compiled tables of a BPE model.
struct BpeTables {
  Vocabulary::Arrays vocabulary;
  std::span<const Merges::Slot> merges;
  Junctions::Arrays junctions;
  bool fallback_merges = false;
};

struct CompiledTokenizer {
  std::string_view json;  // without model.vocab and model.merges if there are tables
  bool has_tables = false;
  BpeTables tables;
};

/// Returns views into `bytes`, which must be aligned to 64 bytes. Checks the positions of the
/// arrays, not their contents. Error: kCorrupt.
Result<CompiledTokenizer> read_compiled(std::string_view bytes);

/// Returns the contents of the file. `json` must be accepted by read_hf_json. `bpe` is its model,
/// or null for other kinds of models.
std::string write_compiled(std::string_view json, const Bpe* bpe);

}  // namespace signalbox::tokenizer
