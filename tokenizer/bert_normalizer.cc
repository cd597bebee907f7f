// ASCII goes through a table of 128 entries. Everything else is decoded, expanded and, where
// combining marks follow each other, held back until the next starter, because canonical order may
// swap them.

#include "tokenizer/bert_normalizer.h"

#include <algorithm>
#include <vector>

#include "tokenizer/unicode.h"

namespace signalbox::tokenizer {
namespace {

constexpr char kRemoved = '\x80';  // no ASCII character

// The reference's own list, in which the fifth block starts at U+2B920 where Unicode says U+2B820.
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_cleaned_away(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c == 0 || c == utf8::kReplacement || unicode::is_control(c);
}

}  // namespace

// A run of combining marks in canonical order. The reference aligns by position, not by character:
// the n-th mark that replaces a character takes the place of the n-th character replaced, even
// where sorting has swapped them, and a mark that a decomposition added takes the place of whatever
// stands before it.
class BertNormalizer::Marks {
 public:
  void add(char32_t c, uint8_t combining_class, bool added, Span from) {
    marks_.push_back({c, combining_class, added});
    if (!added) places_.push_back(from);
  }
  void set_last_place(Span place) { last_ = place; }
  bool empty() const { return marks_.empty(); }

  /// Calls put(code_point, place) for each in order, and forgets them.
  template <class Put>
  void flush(const Put& put) {
    const auto before = [](const Mark& a, const Mark& b) {
      return a.combining_class < b.combining_class;
    };
    // Sorting allocates, and most runs are in order.
    if (!std::is_sorted(marks_.begin(), marks_.end(), before)) {
      std::stable_sort(marks_.begin(), marks_.end(), before);
    }
    size_t next = 0;
    for (const Mark& mark : marks_) {
      if (!mark.added) last_ = places_[next++];
      put(mark.code_point, last_);
    }
    marks_.clear();
    places_.clear();
  }

 private:
  struct Mark {
    char32_t code_point;
    uint8_t combining_class;
    bool added;
  };
  std::vector<Mark> marks_;
  std::vector<Span> places_;  // of the marks that are not added, in text order
  Span last_;
};

BertNormalizer::BertNormalizer(const BertNormalizerOptions& options) : options_(options) {
  for (char32_t c = 0; c < ascii_.size(); ++c) {
    char& out = ascii_[c];
    out = static_cast<char>(c);
    if (options.clean_text && is_cleaned_away(c)) {
      out = kRemoved;
    } else if (options.clean_text && unicode::is_whitespace(c)) {
      out = ' ';
    } else if (options.lowercase && c >= 'A' && c <= 'Z') {
      out = static_cast<char>(c + ('a' - 'A'));
    }
  }
}

bool BertNormalizer::keeps(std::string_view text) const {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || ascii_[byte] != c) return false;
  }
  return true;
}

void BertNormalizer::normalize(const TextView& in, Normalized& out) const {
  static thread_local Marks marks;  // keeps its capacity; empty between calls
  const auto flush = [&] {
    marks.flush([&](char32_t c, Span place) { put_final(c, place, out); });
  };
  const std::string_view text = in.text();
  for (uint32_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      const char c = ascii_[byte];
      if (c != kRemoved) {
        if (!marks.empty()) flush();
        const Span from = in.source(i, 1);
        out.append(c, from);
        marks.set_last_place(from);
      }
      ++i;
      continue;
    }
    const utf8::Decoded decoded = utf8::decode(text, i);
    put(decoded.code_point, in.source(i, decoded.bytes), marks, out);
    i += decoded.bytes;
  }
  flush();
}

void BertNormalizer::put(char32_t c, Span from, Marks& marks, Normalized& out) const {
  if (options_.clean_text) {
    if (is_cleaned_away(c)) return;
    if (unicode::is_whitespace(c)) c = ' ';
  }
  const bool chinese = options_.handle_chinese_chars && is_chinese(c);
  if (chinese) put_clean(' ', from, marks, out);
  put_clean(c, from, marks, out);
  if (chinese) put_clean(' ', from, marks, out);
}

void BertNormalizer::put_clean(char32_t c, Span from, Marks& marks, Normalized& out) const {
  if (!options_.strip_accents) return put_final(c, from, out);
  const unicode::Expansion parts = unicode::decompose(c);
  for (uint32_t i = 0; i < parts.size; ++i) {
    const char32_t part = parts.code_points[i];
    const uint8_t combining_class = unicode::combining_class(part);
    if (combining_class != 0) {
      marks.add(part, combining_class, i > 0, from);
      continue;
    }
    marks.flush([&](char32_t mark, Span place) { put_final(mark, place, out); });
    put_final(part, from, out);
    marks.set_last_place(from);
  }
}

void BertNormalizer::put_final(char32_t c, Span from, Normalized& out) const {
  if (options_.strip_accents && unicode::is_nonspacing_mark(c)) return;
  if (!options_.lowercase) return out.append(c, from);
  const unicode::Expansion lower = unicode::to_lower(c);
  for (uint32_t i = 0; i < lower.size; ++i) out.append(lower.code_points[i], from);
}

}  // namespace signalbox::tokenizer
