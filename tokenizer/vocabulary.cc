// Open addressing with linear probing. hash(text + byte) = (hash(text) + byte + 1) * K modulo 2^64;
// K is odd, so it has an inverse and the step can be undone. The high bits are the well-mixed ones.

#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace signalbox::tokenizer {
namespace {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio

constexpr uint64_t inverse_of(uint64_t odd) {
  uint64_t inverse = odd;  // right in three bits; each step of Newton's doubles them
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return inverse;
}
constexpr uint64_t kInverse = inverse_of(kMultiplier);
static_assert(kMultiplier * kInverse == 1);

uint64_t extend(uint64_t hash, char c) {
  return (hash + static_cast<unsigned char>(c) + 1) * kMultiplier;
}
uint64_t unwind(uint64_t hash, char c) {
  return hash * kInverse - static_cast<unsigned char>(c) - 1;
}
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0;
  for (const char c : text) hash = extend(hash, c);
  return hash;
}
uint32_t tag_of(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 16);
}

bool ends_a_code_point(std::string_view text, size_t length) {
  return length == text.size() || (static_cast<unsigned char>(text[length]) & 0xC0) != 0x80;
}

}  // namespace

Vocabulary::Vocabulary(const std::vector<Entry>& entries) {
  reserve(entries.size());
  for (const Entry& entry : entries) SIGNALBOX_CHECK(add(entry.piece, entry.id));
}

void Vocabulary::reserve(size_t pieces) {
  pieces_.reserve(pieces_.size() + pieces);
  const size_t slots = std::bit_ceil(2 * (pieces_.size() + pieces) + 2);
  if (slots > slots_.size()) rehash(slots);
}

void Vocabulary::rehash(size_t slots) {
  shift_ = 64 - std::countr_zero(slots);
  slots_.assign(slots, {});
  for (uint32_t i = 0; i < pieces_.size(); ++i) {
    const std::string_view piece = entry(i).piece;
    const uint64_t hash = hash_of(piece);
    slots_[probe(hash, piece)] = {tag_of(hash), i + 1};
  }
}

bool Vocabulary::add(std::string_view piece, int32_t id) {
  SIGNALBOX_CHECK(piece.size() <= kPieceBytesMax && id >= 0);
  SIGNALBOX_CHECK(text_.size() + piece.size() < UINT32_MAX);
  if (2 * (pieces_.size() + 1) > slots_.size()) reserve(pieces_.size() + 1);
  const uint64_t hash = hash_of(piece);
  Slot& slot = slots_[probe(hash, piece)];
  if (slot.piece != 0) return false;
  pieces_.push_back({static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(piece.size()), id});
  slot = {tag_of(hash), static_cast<uint32_t>(pieces_.size())};
  text_ += piece;
  length_max_ = std::max(length_max_, piece.size());
  ids_end_ = std::max(ids_end_, id + 1);
  return true;
}

Vocabulary::Entry Vocabulary::entry(size_t i) const {
  return {std::string_view(text_).substr(pieces_[i].begin, pieces_[i].length), pieces_[i].id};
}

// The slot that holds the piece, or the free one where it would go.
size_t Vocabulary::probe(uint64_t hash, std::string_view text) const {
  size_t slot = hash >> shift_;
  for (; slots_[slot].piece != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].tag == tag_of(hash) && entry(slots_[slot].piece - 1).piece == text) break;
  }
  return slot;
}

int32_t Vocabulary::find(std::string_view piece) const {
  if (slots_.empty()) return -1;
  const uint32_t found = slots_[probe(hash_of(piece), piece)].piece;
  return found == 0 ? -1 : pieces_[found - 1].id;
}

Vocabulary::Found Vocabulary::longest(std::string_view text) const {
  size_t length = std::min(text.size(), length_max_);  // 0 when there are no pieces
  uint64_t hash = hash_of(text.substr(0, length));
  for (; length > 0; --length) {
    if (ends_a_code_point(text, length)) {
      const uint32_t found = slots_[probe(hash, text.substr(0, length))].piece;
      if (found != 0) return {pieces_[found - 1].id, static_cast<uint32_t>(length)};
    }
    hash = unwind(hash, text[length - 1]);
  }
  return {};
}

}  // namespace signalbox::tokenizer
