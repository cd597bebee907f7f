// ASCII uses a table of 128 entries. Other characters are decoded and expanded. Consecutive
// combining marks are held back until the next starter, because canonical ordering may swap them.

#include "tokenizer/normalize/bert_normalizer.h"

#include "tokenizer/normalize/canonical_order.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

constexpr char kRemoved = '\x80';  // not an ASCII character

// The reference's list, in which the fifth block starts at U+2B920 although Unicode defines
// U+2B820.
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

// Empty between calls; keeps its capacity.
struct BertNormalizer::Work {
  CanonicalOrder order;
  Places places;
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
  static thread_local Work work;
  const auto flush = [&] {
    work.order.flush([&](const Piece& mark) {
      put_final(mark.code_point, work.places.take(mark.replaced), out);
    });
  };
  const std::string_view text = in.text();
  for (uint32_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      const char c = ascii_[byte];
      if (c != kRemoved) {
        flush();
        out.append(c, in.source(i, 1));
      }
      ++i;
      continue;
    }
    const utf8::Decoded decoded = utf8::decode(text, i);
    put(decoded.code_point, in.source(i, decoded.bytes), work, out);
    i += decoded.bytes;
  }
  flush();
}

void BertNormalizer::put(char32_t c, Span from, Work& work, Normalized& out) const {
  if (options_.clean_text) {
    if (is_cleaned_away(c)) return;
    if (unicode::is_whitespace(c)) c = ' ';
  }
  const bool chinese = options_.handle_chinese_chars && is_chinese(c);
  if (chinese) put_clean(' ', from, work, out);
  put_clean(c, from, work, out);
  if (chinese) put_clean(' ', from, work, out);
}

void BertNormalizer::put_clean(char32_t c, Span from, Work& work, Normalized& out) const {
  if (!options_.strip_accents) return put_final(c, from, out);
  work.places.add(from);
  const unicode::Expansion parts = unicode::decompose(c);
  for (uint32_t i = 0; i < parts.size; ++i) {
    const char32_t part = parts.code_points[i];
    work.order.add({part, unicode::combining_class(part), i == 0 ? 1u : 0u},
                   [&](const Piece& piece) {
                     put_final(piece.code_point, work.places.take(piece.replaced), out);
                   });
  }
}

void BertNormalizer::put_final(char32_t c, Span from, Normalized& out) const {
  if (options_.strip_accents && unicode::is_nonspacing_mark(c)) return;
  if (!options_.lowercase) return out.append(c, from);
  const unicode::Expansion lower = unicode::to_lower(c);
  for (uint32_t i = 0; i < lower.size; ++i) out.append(lower.code_points[i], from);
}

}  // namespace signalbox::tokenizer
