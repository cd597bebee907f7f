// Open addressing with linear probing. hash(text + byte) = (hash(text) + byte + 1) * K modulo 2^64.
// K is odd, so it has an inverse and the step can be undone. The high bits are mixed best.

#include "tokenizer/models/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.h"

namespace signalbox::tokenizer {
namespace {

constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio

constexpr uint64_t inverse_of(uint64_t odd) {
  uint64_t inverse = odd;  // correct in three bits; each Newton step doubles them
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
  arrays_.pieces.own().reserve(size() + pieces);
  const size_t slots = std::bit_ceil(2 * (size() + pieces) + 2);
  if (slots > arrays_.slots.size()) rehash(slots);
}

void Vocabulary::rehash(size_t slots) {
  shift_ = 64 - std::countr_zero(slots);
  arrays_.slots.own().assign(slots, {});
  for (uint32_t i = 0; i < size(); ++i) {
    const std::string_view piece = entry(i).piece;
    const uint64_t hash = hash_of(piece);
    arrays_.slots.own()[probe(hash, piece)] = {tag_of(hash), i + 1};
  }
}

bool Vocabulary::add(std::string_view piece, int32_t id) {
  auto& text = arrays_.text.own();
  SIGNALBOX_CHECK(piece.size() <= kPieceBytesMax && id >= 0);
  SIGNALBOX_CHECK(text.size() + piece.size() < UINT32_MAX);
  if (2 * (size() + 1) > arrays_.slots.size()) reserve(size() + 1);
  const uint64_t hash = hash_of(piece);
  Slot& slot = arrays_.slots.own()[probe(hash, piece)];
  if (slot.piece != 0) return false;
  arrays_.pieces.own().push_back(
      {static_cast<uint32_t>(text.size()), static_cast<uint32_t>(piece.size()), id});
  slot = {tag_of(hash), static_cast<uint32_t>(size())};
  text.insert(text.end(), piece.begin(), piece.end());
  length_max_ = std::max(length_max_, piece.size());
  ids_end_ = std::max(ids_end_, id + 1);
  return true;
}

Result<Vocabulary> Vocabulary::of(Arrays arrays, int64_t id_max) {
  Vocabulary out;
  out.arrays_ = std::move(arrays);
  const auto& [text, pieces, slots] = out.arrays_;
  for (const Piece& piece : pieces.span()) {
    if (piece.begin > text.size() || piece.length > text.size() - piece.begin ||
        piece.length > kPieceBytesMax || piece.id < 0 || piece.id > id_max) {
      return fail(Code::kCorrupt, "vocabulary: a piece of {} bytes at {} with the id {}",
                  piece.length, piece.begin, piece.id);
    }
    out.length_max_ = std::max<size_t>(out.length_max_, piece.length);
    out.ids_end_ = std::max(out.ids_end_, piece.id + 1);
  }
  size_t taken = 0;
  for (const Slot& slot : slots.span()) {
    if (slot.piece > pieces.size()) {
      return fail(Code::kCorrupt, "vocabulary: piece {} of {}", slot.piece, pieces.size());
    }
    taken += slot.piece != 0 ? 1 : 0;
  }
  if (!std::has_single_bit(slots.size()) || slots.size() < 2 || taken == slots.size()) {
    return fail(Code::kCorrupt, "vocabulary: a table of {} slots, {} taken", slots.size(), taken);
  }
  out.shift_ = 64 - std::countr_zero(slots.size());
  return out;
}

Vocabulary::Entry Vocabulary::entry(size_t i) const {
  const Piece& piece = arrays_.pieces[i];
  return {text_of(piece), piece.id};
}

// Returns the slot of the piece, or the free slot for inserting it.
size_t Vocabulary::probe(uint64_t hash, std::string_view text) const {
  const Slot* slots = arrays_.slots.data();
  const size_t mask = arrays_.slots.size() - 1;
  size_t slot = hash >> shift_;
  for (; slots[slot].piece != 0; slot = (slot + 1) & mask) {
    if (slots[slot].tag == tag_of(hash) && text_of(arrays_.pieces[slots[slot].piece - 1]) == text) {
      break;
    }
  }
  return slot;
}

int32_t Vocabulary::find(std::string_view piece) const {
  if (arrays_.slots.size() == 0) return -1;
  const uint32_t found = arrays_.slots[probe(hash_of(piece), piece)].piece;
  return found == 0 ? -1 : arrays_.pieces[found - 1].id;
}

void Vocabulary::find_all(std::span<const std::string_view> wanted, std::span<int32_t> ids) const {
  if (size() == 0) return std::fill(ids.begin(), ids.end(), -1);
  const Slot* slots = arrays_.slots.data();
  const Piece* pieces = arrays_.pieces.data();
  std::array<uint64_t, 32> hashes;
  for (size_t done = 0; done < wanted.size(); done += hashes.size()) {
    const size_t count = std::min(hashes.size(), wanted.size() - done);
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = hash_of(wanted[done + i]);
      __builtin_prefetch(&slots[hashes[i] >> shift_]);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t piece = slots[hashes[i] >> shift_].piece;
      __builtin_prefetch(&pieces[piece == 0 ? 0 : piece - 1]);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t piece = slots[hashes[i] >> shift_].piece;
      __builtin_prefetch(text_of(pieces[piece == 0 ? 0 : piece - 1]).data());
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t piece = slots[probe(hashes[i], wanted[done + i])].piece;
      ids[done + i] = piece == 0 ? -1 : pieces[piece - 1].id;
    }
  }
}

Vocabulary::Found Vocabulary::longest(std::string_view text) const {
  size_t length = std::min(text.size(), length_max_);  // 0 if there are no pieces
  uint64_t hash = hash_of(text.substr(0, length));
  for (; length > 0; --length) {
    if (ends_a_code_point(text, length)) {
      const uint32_t found = arrays_.slots[probe(hash, text.substr(0, length))].piece;
      if (found != 0) return {arrays_.pieces[found - 1].id, static_cast<uint32_t>(length)};
    }
    hash = unwind(hash, text[length - 1]);
  }
  return {};
}

}  // namespace signalbox::tokenizer
