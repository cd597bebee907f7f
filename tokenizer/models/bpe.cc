// A word is split where no merge can join the two sides. Each part is looked up in the cache of
// known words, and merged only if it is not there. Short parts are merged by repeatedly scanning
// for the lowest rank. Long ones use a queue, so that a word of a megabyte costs n log n.

#include "tokenizer/models/bpe.h"

#include <algorithm>
#include <utility>

#include "tokenizer/models/byte_alphabet.h"
#include "tokenizer/scratch.h"

namespace signalbox::tokenizer {
namespace {

// Above this number of symbols the queue is faster than scanning, measured on words of
// vocabularies.
constexpr size_t kScannedMax = 32;

// Spells one byte as in the vocabulary.
std::string byte_piece(uint32_t byte, bool byte_level) {
  if (!byte_level) return fallback_piece(byte);
  std::string piece;
  utf8::append(piece, kByteAlphabet[byte]);
  return piece;
}

uint32_t character_bytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, Merges merges, Junctions junctions, Options options)
    : vocabulary_(std::move(vocabulary)),
      merges_(std::move(merges)),
      junctions_(std::move(junctions)),
      options_(std::move(options)),
      plain_(options_.continuing_prefix.empty() && options_.end_suffix.empty()),
      owner_(WordCache::next_owner()) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary_.find(byte_piece(byte, options_.byte_level));
  }
  for (uint32_t c = 0; c < 128; ++c) {
    ascii_ids_[c] = vocabulary_.find(std::string(1, static_cast<char>(c)));
  }
  // A split must not separate characters that are processed together: unknown characters and their
  // neighbours, or a word's ends and their affixes. A vocabulary whose fallback tokens take part in
  // merges cannot be split either, because such a token is not a character.
  can_cut_ = covers_all(vocabulary_, options_) && !options_.fallback_merges;
  is_local_ = can_cut_ && !options_.ignore_merges;
  for (char32_t c = '!'; c <= '~'; ++c) {
    is_local_ = is_local_ && !junctions_.join(c, ' ') && !junctions_.join(c, 0x2581);
  }
}

bool Bpe::covers_all(const Vocabulary& vocabulary, const Options& options) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool ascii_known = !options.byte_level && byte < 128 &&
                             vocabulary.find(std::string(1, static_cast<char>(byte))) >= 0;
    const bool byte_known = (options.byte_level || options.byte_fallback) &&
                            vocabulary.find(byte_piece(byte, options.byte_level)) >= 0;
    if (!ascii_known && !byte_known) return false;
  }
  return options.continuing_prefix.empty() && options.end_suffix.empty();
}

void Bpe::tokenize(std::string_view text, Span word, ModelScratch& scratch,
                   std::vector<Token>& tokens) const {
  if (options_.ignore_merges) {
    std::string_view piece = text.substr(word.begin, word.end - word.begin);
    if (options_.byte_level) {
      scratch.bpe.spelled.clear();
      for (const char byte : piece) {
        utf8::append(scratch.bpe.spelled, kByteAlphabet[static_cast<unsigned char>(byte)]);
      }
      piece = scratch.bpe.spelled;
    }
    const int32_t id = vocabulary_.find(piece);
    if (id >= 0) return tokens.push_back({id, word});
  }
  if (!can_cut_ || (options_.byte_level && word.end - word.begin <= WordCache::kWordBytesMax)) {
    return tokenize_unit(text, word, scratch, tokens);
  }
  for (uint32_t begin = word.begin; begin < word.end;) {
    const uint32_t end = unit_end(text, begin, word.end);
    tokenize_unit(text, {begin, end}, scratch, tokens);
    begin = end;
  }
}

uint32_t Bpe::unit_end(std::string_view text, uint32_t begin, uint32_t end) const {
  const auto character = [&](uint32_t i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    return options_.byte_level || byte < 0x80 ? utf8::Decoded{byte, 1} : utf8::decode(text, i);
  };
  utf8::Decoded left = character(begin);
  for (uint32_t i = begin + left.bytes; i < end;) {
    const utf8::Decoded right = character(i);
    if (!junctions_.join(left.code_point, right.code_point)) return i;
    i += right.bytes;
    left = right;
  }
  return end;
}

void Bpe::tokenize_unit(std::string_view text, Span unit, ModelScratch& scratch,
                        std::vector<Token>& tokens) const {
  const std::string_view word = text.substr(unit.begin, unit.end - unit.begin);
  if (word.size() > WordCache::kWordBytesMax) {
    return merge_unit(word, unit.begin, scratch.bpe, tokens);
  }
  const WordCache::Place place = scratch.words.place(owner_, word);
  if (place.recall(unit.begin, tokens)) return;
  const size_t first = tokens.size();
  merge_unit(word, unit.begin, scratch.bpe, tokens);
  place.keep(tokens, first);
}

void Bpe::merge_unit(std::string_view unit, uint32_t begin, BpeScratch& scratch,
                     std::vector<Token>& tokens) const {
  spell(unit, scratch);
  std::vector<Symbol>& symbols = scratch.symbols;
  // Scanning gives the same result as the queue only if every merge lengthens a token's text.
  if (symbols.size() <= kScannedMax && options_.continuing_prefix.empty()) {
    merge_by_scan(symbols);
  } else {
    merge_by_queue(scratch);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.bytes == 0) continue;
    tokens.push_back({symbol.id, {begin, begin + symbol.bytes}});
    begin += symbol.bytes;
  }
}

// Converts the characters of a word to symbols. This reproduces two quirks of the reference. An
// unknown character that is dropped because there is no unknown token shifts the following tokens
// forward by its bytes (in a byte-level vocabulary the reference shifts them by the bytes of the
// alphabet's letter). Fallback bytes are placed before a preceding unknown token.
void Bpe::spell(std::string_view unit, BpeScratch& scratch) const {
  scratch.symbols.clear();
  const auto add = [&](int32_t id, uint32_t bytes) {
    const auto at = static_cast<int32_t>(scratch.symbols.size());
    scratch.symbols.push_back({id, bytes, at - 1, at + 1});
  };
  uint32_t unknown_bytes = 0;  // length of the pending unknown token; 0: none
  const auto add_unknown = [&] {
    if (unknown_bytes > 0) add(options_.unknown_id, unknown_bytes);
    unknown_bytes = 0;
  };
  uint32_t bytes = 0;
  for (uint32_t i = 0; i < unit.size(); i += bytes) {
    bytes = options_.byte_level ? 1 : character_bytes(unit[i]);
    const int32_t id = id_of(unit, {i, i + bytes}, scratch);
    if (id >= 0) {
      add_unknown();
      add(id, bytes);
    } else if (options_.byte_fallback && fall_back(scratch)) {
      for (const char byte : scratch.spelled) add(byte_ids_[static_cast<unsigned char>(byte)], 1);
    } else if (options_.unknown_id >= 0) {
      if (!options_.fuse_unknown) add_unknown();
      unknown_bytes += bytes;
    }
  }
  add_unknown();
  if (!scratch.symbols.empty()) scratch.symbols.back().next = -1;
}

// If the character is not found, scratch.spelled contains its spelling in the vocabulary.
int32_t Bpe::id_of(std::string_view unit, Span character, BpeScratch& scratch) const {
  const auto first = static_cast<unsigned char>(unit[character.begin]);
  if (plain_ && options_.byte_level && byte_ids_[first] >= 0) return byte_ids_[first];
  if (plain_ && !options_.byte_level && first < 0x80 && ascii_ids_[first] >= 0) {
    return ascii_ids_[first];
  }
  scratch.spelled.clear();
  if (character.begin > 0) scratch.spelled += options_.continuing_prefix;
  if (options_.byte_level) {
    utf8::append(scratch.spelled, kByteAlphabet[first]);
  } else {
    scratch.spelled += unit.substr(character.begin, character.end - character.begin);
  }
  if (character.end == unit.size()) scratch.spelled += options_.end_suffix;
  return vocabulary_.find(scratch.spelled);
}

// Returns true if all bytes of scratch.spelled have tokens.
bool Bpe::fall_back(BpeScratch& scratch) const {
  return std::all_of(scratch.spelled.begin(), scratch.spelled.end(),
                     [&](char byte) { return byte_ids_[static_cast<unsigned char>(byte)] >= 0; });
}

void Bpe::merge_by_scan(std::vector<Symbol>& symbols) const {
  std::array<Merges::Merge, kScannedMax> merges;  // merge of symbol i with symbol i + 1
  const auto look = [&](size_t i) { merges[i] = merges_.find(symbols[i].id, symbols[i + 1].id); };
  for (size_t i = 0; i + 1 < symbols.size(); ++i) look(i);
  while (symbols.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < symbols.size(); ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == Merges::kNone) return;
    symbols[best].id = merges[best].id;
    symbols[best].bytes += symbols[best + 1].bytes;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(merges.begin() + best + 1, merges.begin() + symbols.size(), merges.begin() + best);
    if (best > 0) look(best - 1);
    if (best + 1 < symbols.size()) look(best);
  }
}

// The algorithm of the reference. A candidate can be outdated when it is reached. It is still
// applied if its two symbols merge to the same token.
void Bpe::merge_by_queue(BpeScratch& scratch) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  std::vector<BpeScratch::Candidate>& queue = scratch.queue;
  const auto later = [](const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  queue.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) offer(scratch, static_cast<int32_t>(i), queue);
  std::make_heap(queue.begin(), queue.end(), later);
  const auto push = [&](int32_t left) {
    const size_t size = queue.size();
    offer(scratch, left, queue);
    if (queue.size() > size) std::push_heap(queue.begin(), queue.end(), later);
  };
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), later);
    const BpeScratch::Candidate top = queue.back();
    queue.pop_back();
    Symbol& left = symbols[top.position];
    if (left.bytes == 0 || left.next < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    const Merges::Merge now = merges_.find(left.id, right.id);
    if (now.rank == Merges::kNone || now.id != top.id) continue;
    left.id = top.id;
    left.bytes += right.bytes;
    right.bytes = 0;
    left.next = right.next;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = top.position;
    if (left.previous >= 0) push(left.previous);
    if (left.next >= 0) push(static_cast<int32_t>(top.position));
  }
}

// Adds the candidate for merging a symbol with its right neighbour, if there is one.
void Bpe::offer(const BpeScratch& scratch, int32_t left,
                std::vector<BpeScratch::Candidate>& out) const {
  const Symbol& symbol = scratch.symbols[static_cast<size_t>(left)];
  const Symbol& right = scratch.symbols[static_cast<size_t>(symbol.next)];
  const Merges::Merge merge = merges_.find(symbol.id, right.id);
  if (merge.rank == Merges::kNone) return;
  out.push_back({merge.rank, static_cast<uint32_t>(left), merge.id});
}

}  // namespace signalbox::tokenizer
