// A block is read twice: first its texts are measured, so that no buffer grows to twice its size.

#include "base/json_escapes.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/utf8.h"

namespace signalbox::json {
namespace {

constexpr uint32_t kBlockBits = 12;  // of the places in one block
constexpr uint32_t kMarkStep = 64;   // bytes of the source
constexpr size_t kUnitBytes = 6;     // as in "\u0041"

// Returns the number behind "\u" at `at`; nullopt if four hexadecimal digits do not follow.
std::optional<char32_t> unit_at(std::string_view text, size_t at) {
  if (at + kUnitBytes > text.size() || text[at] != '\\' || text[at + 1] != 'u') return {};
  uint32_t unit = 0;
  const char* const end = text.data() + at + kUnitBytes;
  if (std::from_chars(text.data() + at + 2, end, unit, 16).ptr != end) return {};
  return unit;
}

size_t bytes_of(char32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

struct Measured {
  size_t end;    // behind the string in the source
  size_t bytes;  // of its text
  bool escaped;
};

Measured measure(std::string_view source, size_t begin) {
  size_t bytes = 0;
  bool escaped = false;
  for (size_t from = begin + 1, at = 0;; from = at) {
    at = plain_end(source, from);
    bytes += at - from;
    if (source[at] == '"') return {at + 1, bytes, escaped};
    const Escape escape = escape_at(source, at);
    bytes += bytes_of(escape.code);
    at += escape.bytes;
    escaped = true;
  }
}

void append(std::string_view source, size_t begin, std::string& out) {
  for (size_t from = begin + 1, at = 0;; from = at) {
    at = plain_end(source, from);
    out.append(source, from, at - from);
    if (source[at] == '"') return;
    const Escape escape = escape_at(source, at);
    utf8::append(out, escape.code);
    at += escape.bytes;
  }
}

// Calls `visit` for each string with escapes between `first` and `end`: its begin, its measures.
template <class Visit>
void visit_escaped(std::string_view source, size_t first, size_t end, const Visit& visit) {
  const std::string_view searched = source.substr(0, end);
  for (size_t at = first; at < end; at = searched.find('"', at)) {
    const Measured string = measure(source, at);
    if (string.escaped) visit(static_cast<uint32_t>(at), string);
    at = string.end;
  }
}

}  // namespace

size_t plain_end(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = ~uint64_t{0} / 255, kHigh = kOnes * 128;
  const auto has_zero = [](uint64_t v) { return (v - kOnes) & ~v & kHigh; };
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, 8);
    const uint64_t found = has_zero(bytes ^ (kOnes * '"')) | has_zero(bytes ^ (kOnes * '\\')) |
                           ((bytes - kOnes * 32) & ~bytes & kHigh);
    // Bytes above the first hit may be false hits of the borrow.
    if (found != 0) return at + static_cast<size_t>(std::countr_zero(found)) / 8;
  }
  const char* const all = text.data();  // the '\0' behind the view is read, too
  while (all[at] != '"' && all[at] != '\\' && static_cast<unsigned char>(all[at]) >= 32) ++at;
  return at;
}

Escape escape_at(std::string_view text, size_t at) {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  const char kind = text.data()[at + 1];
  const size_t letter = kLetters.find(kind);
  if (kind != '\0' && letter != std::string_view::npos)
    return {static_cast<char32_t>(kMeanings[letter]), 2};
  const auto unit = unit_at(text, at);
  if (!unit || (*unit >= 0xDC00 && *unit < 0xE000)) return {0, 0};
  if (*unit < 0xD800 || *unit >= 0xE000) return {*unit, kUnitBytes};
  const auto low = unit_at(text, at + kUnitBytes);
  if (!low || *low < 0xDC00 || *low >= 0xE000) return {0, 0};
  return {0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), 2 * kUnitBytes};
}

void EscapedTexts::add(uint32_t begin) {
  const size_t block = begin >> kBlockBits;
  if (block < firsts_.size()) return;
  firsts_.resize(block + 1);
  firsts_[block] = begin;
}

void EscapedTexts::finish() {
  if (firsts_.empty()) return;
  blocks_ = firsts_.size();
  slots_ = std::make_unique<Slot[]>(blocks_);
  for (size_t i = 0; i < blocks_; ++i) slots_[i].first = firsts_[i];
  firsts_ = std::vector<uint32_t>();  // `= {}` would keep the memory
}

bool EscapedTexts::may_have(uint32_t begin) const {
  const size_t block = begin >> kBlockBits;
  return block < blocks_ && slots_[block].first != 0 && slots_[block].first <= begin;
}

std::unique_ptr<const EscapedTexts::Block> EscapedTexts::resolve(std::string_view source,
                                                                 uint32_t first) {
  const size_t end = ((size_t{first} >> kBlockBits) + 1) << kBlockBits;
  size_t bytes = 0, marks = 0, marked = 0;
  const auto needs_mark = [&marked](uint32_t begin) {
    if (marked != 0 && begin < marked + kMarkStep) return false;
    marked = begin;
    return true;
  };
  visit_escaped(source, first, end, [&](uint32_t begin, const Measured& string) {
    bytes += string.bytes;
    marks += needs_mark(begin) ? 1 : 0;
  });
  marked = 0;
  auto out = std::make_unique<Block>();
  out->texts.reserve(bytes);
  out->marks.reserve(marks);
  visit_escaped(source, first, end, [&](uint32_t begin, const Measured&) {
    if (needs_mark(begin)) out->marks.push_back({begin, static_cast<uint32_t>(out->texts.size())});
    append(source, begin, out->texts);
  });
  return out;
}

// Several threads may resolve a block at the same time; the first one keeps its result.
const EscapedTexts::Block& EscapedTexts::block_of(std::string_view source, uint32_t begin) const {
  Slot& slot = slots_[begin >> kBlockBits];
  const Block* found = slot.block.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  auto made = resolve(source, slot.first);
  if (!slot.block.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel))
    return *found;
  return *made.release();
}

std::string_view EscapedTexts::text_of(std::string_view source, uint32_t begin,
                                       uint32_t end) const {
  const Block& block = block_of(source, begin);
  const auto next = std::upper_bound(block.marks.begin(), block.marks.end(), begin,
                                     [](uint32_t at, const Mark& each) { return at < each.begin; });
  const Mark& mark = *std::prev(next);
  size_t at = mark.at;
  visit_escaped(source, mark.begin, begin,
                [&at](uint32_t, const Measured& string) { at += string.bytes; });
  // If this string ends at least kMarkStep behind the mark, the next string has a mark of its own.
  size_t bytes = 0;
  if (end < mark.begin + kMarkStep) {
    bytes = measure(source, begin).bytes;
  } else {
    bytes = (next == block.marks.end() ? block.texts.size() : next->at) - at;
  }
  return std::string_view(block.texts).substr(at, bytes);
}

size_t EscapedTexts::memory_bytes() const {
  size_t out = blocks_ * sizeof(Slot);
  for (size_t i = 0; i < blocks_; ++i) {
    const Block* const block = slots_[i].block.load(std::memory_order_acquire);
    if (block == nullptr) continue;
    out += sizeof(Block) + block->texts.capacity() + block->marks.capacity() * sizeof(Mark);
  }
  return out;
}

}  // namespace signalbox::json
