// The pattern is that of GLiNER's "whitespace" splitter.

#include "engine/words.h"

#include <string>

#include "base/utf8.h"
#include "tokenizer/unicode/regex.h"

namespace signalbox::engine {
namespace {

// Returns the text with "?" for each byte that is not UTF-8, so that places stay the same.
std::string as_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded next = utf8::decode(text, at);
    const std::string_view bytes = text.substr(at, next.bytes);
    at += next.bytes;
    if (utf8::is_valid(bytes)) {
      out += bytes;
    } else {
      out.append(bytes.size(), '?');
    }
  }
  return out;
}

const tokenizer::Regex& pattern() {
  // Python, unlike Unicode, counts the separators 1C to 1F as white space.
  static const auto compiled =
      tokenizer::Regex::compile(R"([\p{L}\p{N}_]+(?:[-_][\p{L}\p{N}_]+)*|[^\s)"
                                "\x1C-\x1F]");
  SIGNALBOX_CHECK(compiled);
  return *compiled;
}

}  // namespace

std::vector<tokenizer::Span> split_words(std::string_view text) {
  std::vector<tokenizer::Span> out;
  if (utf8::is_valid(text)) {
    pattern().find_all(text, out);
  } else {
    pattern().find_all(as_utf8(text), out);
  }
  return out;
}

}  // namespace signalbox::engine
