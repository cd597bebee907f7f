// Copies runs of unchanged code points.

#include "tokenizer/normalize/character_map.h"

namespace signalbox::tokenizer {
namespace {

unicode::Expansion one(char32_t c) {
  unicode::Expansion out;
  out.code_points[0] = c;
  out.size = 1;
  return out;
}

unicode::Expansion none() {
  unicode::Expansion out;
  out.size = 0;
  return out;
}

}  // namespace

unicode::Expansion without_marks(char32_t c) {
  return unicode::is_mark(c) ? none() : one(c);
}

unicode::Expansion clean_for_translation(char32_t c) {
  if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
      c == 0x9F) {
    return none();
  }
  if (c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
      (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
      c == utf8::kReplacement) {
    return one(' ');
  }
  return one(c);
}

CharacterMap::CharacterMap(Map map)
    : map_(map), stable_([map](char32_t c) {
        const unicode::Expansion mapped = map(c);
        return mapped.size == 1 && mapped.code_points[0] == c;
      }) {}

bool CharacterMap::keeps(std::string_view text) const {
  return stable_.find_other(text, 0) == text.size();
}

void CharacterMap::normalize(const TextView& in, Normalized& out) const {
  const std::string_view text = in.text();
  for (uint32_t i = 0; i < text.size();) {
    const auto other = static_cast<uint32_t>(stable_.find_other(text, i));
    in.copy_to(out, {i, other});
    i = other;
    if (i == text.size()) return;
    const utf8::Decoded decoded = utf8::decode(text, i);
    const Span from = in.source(i, decoded.bytes);
    const unicode::Expansion mapped = map_(decoded.code_point);
    for (uint32_t k = 0; k < mapped.size; ++k) out.append(mapped.code_points[k], from);
    i += decoded.bytes;
  }
}

}  // namespace signalbox::tokenizer
