// Words that mix scripts do not occur in other writing, except for a few terms of science. So a
// text with several of them is read in Latin letters. One form of it changes words that consist of
// look-alikes only, too. They can be words of another language, so the other form keeps them. Words
// end at signs such as curly quotes.

#include "router/text/lookalikes.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "router/text/normalize.h"

namespace signalbox::text {
namespace {

constexpr size_t kWordsMin = 3;

// Cyrillic, Greek and Armenian letters and small capitals, and the letters that they look like.
constexpr std::u32string_view kLookalikes =
    U"\u01EB\u0251\u0261\u0262\u026A\u0274\u0280\u028F\u0299\u029C\u029F\u0391\u0392"
    U"\u0395\u0396\u0397\u0399\u039A\u039C\u039D\u039F\u03A1\u03A4\u03A5\u03A7\u03B1\u03B2"
    U"\u03B3\u03B5\u03B7\u03B9\u03BA\u03BD\u03BF\u03C1\u03C4\u03C5\u03C7\u03C9\u0405\u0406"
    U"\u0408\u0410\u0412\u0415\u041A\u041C\u041D\u041E\u0420\u0421\u0422\u0423\u0425\u0430"
    U"\u0432\u0433\u0435\u043A\u043C\u043D\u043E\u043F\u0440\u0441\u0442\u0443\u0445\u0455"
    U"\u0456\u0457\u0458\u0474\u0475\u0493\u04AE\u04BB\u04CF\u0501\u050C\u051B\u051C\u051D"
    U"\u0566\u0570\u0575\u0578\u057D\u0581\u0585\u1D00\u1D04\u1D05\u1D07\u1D0A\u1D0B\u1D0D"
    U"\u1D0F\u1D18\u1D1B\u1D1C\u1D20\u1D21\u1D22\uA730\uA731";
constexpr std::string_view kLatin =
    "qagginrybhlABEZHIKMNOPTYXabyenikvoptuxwSIJABEKMHOPCTYXabrekmhonpctyxsiijVvfYhldGqWw"
    "qhjnugoacdejkmoptuvwzfs";
static_assert(kLookalikes.size() == kLatin.size());
static_assert(std::ranges::is_sorted(kLookalikes));

// Returns 0 if there is none.
char latin_of(char32_t c) {
  const auto found = std::ranges::lower_bound(kLookalikes, c);
  if (found == kLookalikes.end() || *found != c) return '\0';
  return kLatin[static_cast<size_t>(found - kLookalikes.begin())];
}

// Small capitals belong to the phonetic alphabet, whose words have other letters, too. So a word of
// Latin letters and small capitals only is disguised.
bool is_small_capital(char32_t c) {
  return (c >= 0x1D00 && c <= 0x1D22) || c == 0x262 || c == 0x26A || c == 0x274 || c == 0x280;
}

struct LatinWord {
  std::string letters;  // empty if the word has a character that is neither Latin nor like it
  bool is_disguised = false;
};

LatinWord latin_word(std::string_view word) {
  LatinWord out;
  bool has_latin = false, has_lookalike = false, has_capital = false;
  for (size_t at = 0; at < word.size();) {
    const utf8::Decoded here = utf8::decode(word, at);
    at += here.bytes;
    if (is_invisible(here.code_point)) continue;
    const bool is_ascii = here.code_point < 0x80;
    const char letter = is_ascii ? static_cast<char>(here.code_point) : latin_of(here.code_point);
    if (letter == '\0') return {};
    has_latin = has_latin || (is_ascii && ascii::is_alpha(letter));
    has_lookalike = has_lookalike || !is_ascii;
    has_capital = has_capital || is_small_capital(here.code_point);
    out.letters += letter;
  }
  out.is_disguised = (has_latin && has_lookalike) || has_capital;
  return out;
}

bool is_in_word(char32_t c) {
  if (c < 0x80) return ascii::is_word_byte(static_cast<char>(c));
  return is_letter(c) || is_invisible(c);
}

}  // namespace

std::optional<LatinText> latin_letters(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return std::nullopt;
  LatinText out;
  size_t disguised = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    utf8::Decoded here{};
    for (; at < text.size(); at += here.bytes) {
      here = utf8::decode(text, at);
      if (!is_in_word(here.code_point)) break;
    }
    const std::string_view word = text.substr(begin, at - begin);
    const LatinWord latin = std::ranges::all_of(word, is_ascii) ? LatinWord{} : latin_word(word);
    disguised += latin.is_disguised ? 1 : 0;
    out.mixed += latin.is_disguised ? std::string_view(latin.letters) : word;
    out.all += latin.letters.empty() ? word : std::string_view(latin.letters);
    if (at == text.size()) break;
    const std::string_view after = text.substr(at, here.bytes);
    out.mixed += after;
    out.all += after;
    at += here.bytes;
  }
  if (disguised < kWordsMin) return std::nullopt;
  return out;
}

}  // namespace signalbox::text
