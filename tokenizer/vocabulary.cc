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
  const size_t size = std::bit_ceil(2 * entries.size() + 2);
  shift_ = 64 - std::countr_zero(size);
  slots_.resize(size);
  pieces_.reserve(entries.size());
  for (const Entry& entry : entries) {
    SIGNALBOX_CHECK(entry.piece.size() <= kPieceBytesMax && entry.id >= 0);
    pieces_.push_back(
        {static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(entry.piece.size()), entry.id});
    text_ += entry.piece;
    length_max_ = std::max(length_max_, entry.piece.size());
    const uint64_t hash = hash_of(entry.piece);
    size_t slot = hash >> shift_;
    while (slots_[slot].piece != 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = {tag_of(hash), static_cast<uint32_t>(pieces_.size())};
  }
}

int32_t Vocabulary::probe(uint64_t hash, std::string_view text) const {
  for (size_t slot = hash >> shift_; slots_[slot].piece != 0;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].tag != tag_of(hash)) continue;
    const Piece& piece = pieces_[slots_[slot].piece - 1];
    if (std::string_view(text_).substr(piece.begin, piece.length) == text) return piece.id;
  }
  return -1;
}

int32_t Vocabulary::find(std::string_view piece) const {
  return slots_.empty() ? -1 : probe(hash_of(piece), piece);
}

Vocabulary::Found Vocabulary::longest(std::string_view text) const {
  size_t length = std::min(text.size(), length_max_);
  uint64_t hash = hash_of(text.substr(0, length));
  for (; length > 0; --length) {
    if (ends_a_code_point(text, length)) {
      const int32_t id = probe(hash, text.substr(0, length));
      if (id >= 0) return {id, static_cast<uint32_t>(length)};
    }
    hash = unwind(hash, text[length - 1]);
  }
  return {};
}

}  // namespace signalbox::tokenizer
