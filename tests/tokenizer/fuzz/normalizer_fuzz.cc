// Runs any text through each normalizer. Its claims about a text (unchanged, splittable) must be
// true, and its result well-formed. The first line, if there is one, is the regular expression of a
// Replace.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/hf/sections.h"
#include "tokenizer/normalize/replace.h"

namespace {

using namespace signalbox;
using namespace signalbox::tokenizer;

const Normalizers& normalizers() {
  static const Normalizers steps = [] {
    const auto document =
        json::Document::parse(R"({"normalizer": {"type": "Sequence", "normalizers": [
        {"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"},
        {"type": "Lowercase"}, {"type": "StripAccents"}, {"type": "Nmt"},
        {"type": "Strip", "strip_left": true, "strip_right": true},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        {"type": "Replace", "pattern": {"String": "ab"}, "content": "c"},
        {"type": "Prepend", "prepend": "▁"},
        {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
         "strip_accents": true, "lowercase": true}]}})");
    SIGNALBOX_CHECK(document.has_value());
    auto read = read_normalizers(Field(document->root(), ""));
    SIGNALBOX_CHECK(read.has_value());
    return *std::move(read);
  }();
  return steps;
}

// The pipeline decodes bad bytes before normalising.
std::string repaired(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size();) {
    const utf8::Decoded decoded = utf8::decode(bytes, i);
    utf8::append(out, decoded.code_point);
    i += decoded.bytes;
  }
  return out;
}

bool is_ascii_mark(char c) {
  return c > ' ' && c < 0x7F;
}

void check_parts(const Normalizer& normalizer, std::string_view text, const Normalized& whole) {
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] != ' ' || !is_ascii_mark(text[i - 1]) || !is_ascii_mark(text[i + 1])) continue;
    Normalized parts;
    normalizer.normalize(TextView(text.substr(0, i), 0), parts);
    normalizer.normalize(TextView(text.substr(i), static_cast<uint32_t>(i)), parts);
    SIGNALBOX_CHECK(parts.text == whole.text);
    SIGNALBOX_CHECK(parts.source == whole.source);
    return;
  }
}

void check(const Normalizer& normalizer, std::string_view text) {
  const TextView view(text, 0);
  Normalized out;
  normalizer.normalize(view, out);
  SIGNALBOX_CHECK(utf8::is_valid(out.text));
  SIGNALBOX_CHECK(out.source.size() == out.text.size());
  for (const Span source : out.source) {
    SIGNALBOX_CHECK(source.begin <= source.end && source.end <= text.size());
  }
  if (normalizer.keeps(text)) {
    Normalized copy;
    view.copy_to(copy, {0, static_cast<uint32_t>(text.size())});
    SIGNALBOX_CHECK(out.text == copy.text);
    SIGNALBOX_CHECK(out.source == copy.source);
  }
  if (normalizer.is_local()) check_parts(normalizer, text, out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = repaired(std::string_view(reinterpret_cast<const char*>(data), size));
  for (const auto& normalizer : normalizers()) check(*normalizer, text);
  const size_t line_end = text.find('\n');
  if (line_end == std::string::npos) return 0;
  auto regex = Regex::compile(std::string_view(text).substr(0, line_end));
  const std::string_view rest = std::string_view(text).substr(line_end + 1);
  std::vector<Span> matches;
  if (regex) regex->find_all(rest, matches);
  uint32_t last = 0;
  bool may_be_empty = false;
  for (const Span match : matches) {
    SIGNALBOX_CHECK(match.begin >= last && match.end >= match.begin && match.end <= rest.size());
    may_be_empty |= match.begin == match.end;
    last = match.end;
  }
  if (regex && !may_be_empty) check(ReplaceRegex(*std::move(regex), "x"), rest);
  return 0;
}
