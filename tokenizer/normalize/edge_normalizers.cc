// Copies the text that is neither stripped nor prepended.

#include "tokenizer/normalize/edge_normalizers.h"

#include "base/utf8.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

Span whole(std::string_view text) {
  return {0, static_cast<uint32_t>(text.size())};
}

}  // namespace

bool Strip::keeps(std::string_view text) const {
  return kept(text) == whole(text);
}

void Strip::normalize(const TextView& in, Normalized& out) const {
  in.copy_to(out, kept(in.text()));
}

Span Strip::kept(std::string_view text) const {
  Span kept = whole(text);
  while (left_ && kept.begin < kept.end) {
    const utf8::Decoded first = utf8::decode(text, kept.begin);
    if (!unicode::is_whitespace(first.code_point)) break;
    kept.begin += first.bytes;
  }
  while (right_ && kept.begin < kept.end) {
    const uint32_t last = last_code_point(text, kept.end);
    if (!unicode::is_whitespace(utf8::decode(text, last).code_point)) break;
    kept.end = last;
  }
  return kept;
}

void Prepend::normalize(const TextView& in, Normalized& out) const {
  if (in.text().empty()) return;
  out.append(content_, in.source(0, utf8::decode(in.text(), 0).bytes));
  in.copy_to(out, whole(in.text()));
}

}  // namespace signalbox::tokenizer
