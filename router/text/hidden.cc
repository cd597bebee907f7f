// Harmless texts hold identifiers, hashes and pictures that look like encodings. So a decoded run
// counts only if it is valid UTF-8 that mostly consists of letters, in words.

#include "router/text/hidden.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "router/text/lookalikes.h"
#include "router/text/normalize.h"
#include "router/text/rearranged.h"

namespace signalbox::text {
namespace {

constexpr size_t kChangedMin = 3;
constexpr size_t kRunMin = 16;      // characters of an encoded run
constexpr size_t kDecodedMin = 8;   // bytes of a decoded text
constexpr size_t kLettersMin = 10;  // that stand alone

// Returns the value of the digits at `at`, at most `count` of them, in the base; moves `at` behind
// them. Returns nullopt without a digit.
std::optional<char32_t> number_at(std::string_view text, size_t& at, size_t count, int base) {
  char32_t value = 0;
  const size_t begin = at;
  for (; at < text.size() && at - begin < count; ++at) {
    const char c = ascii::lower(text[at]);
    const int digit = ascii::is_digit(c)                   ? c - '0'
                      : base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                           : base;
    if (digit >= base) break;
    value = value * static_cast<char32_t>(base) + static_cast<char32_t>(digit);
  }
  if (at == begin) return std::nullopt;
  return value;
}

struct Escape {
  char32_t character;
  size_t end;
};

// Reads &#73; and &#x49; at '&'.
std::optional<Escape> entity_at(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "&#") return std::nullopt;
  size_t end = at + 2;
  const bool is_hex = end < text.size() && ascii::lower(text[end]) == 'x';
  if (is_hex) ++end;
  const auto value = number_at(text, end, 7, is_hex ? 16 : 10);
  if (!value) return std::nullopt;
  if (end < text.size() && text[end] == ';') ++end;
  return Escape{*value, end};
}

// Reads an entity, %49, \x49 or \u0049. A byte above ASCII is left as it is.
std::optional<Escape> escape_at(std::string_view text, size_t at) {
  if (text[at] == '&') return entity_at(text, at);
  const bool is_percent = text[at] == '%';
  if (!is_percent && text[at] != '\\') return std::nullopt;
  size_t end = at + 1, digits = 2;
  if (!is_percent) {
    const char kind = end < text.size() ? text[end] : '\0';
    if (kind != 'x' && kind != 'u') return std::nullopt;
    digits = kind == 'u' ? 4 : 2;
    ++end;
  }
  const size_t begin = end;
  const auto value = number_at(text, end, digits, 16);
  if (!value || end - begin != digits || *value < ' ' || (digits == 2 && *value > '~'))
    return std::nullopt;
  return Escape{*value, end};
}

// Reads an escape, or a tag character, which stands for ASCII.
std::optional<Escape> disguised_at(std::string_view text, size_t at) {
  if (const auto escape = escape_at(text, at)) return escape;
  if (static_cast<unsigned char>(text[at]) < 0x80) return std::nullopt;
  const utf8::Decoded here = utf8::decode(text, at);
  if (here.code_point < 0xE0020 || here.code_point >= 0xE007F) return std::nullopt;
  return Escape{here.code_point - 0xE0000, at + here.bytes};
}

// Returns the text in plain characters; nullopt if fewer than kChangedMin differ, with the
// characters that were changed before.
std::optional<std::string> plain_characters(std::string_view text, size_t changed) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (const auto disguised = disguised_at(text, at)) {
      utf8::append(out, disguised->character);
      at = disguised->end;
      ++changed;
      continue;
    }
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      out.push_back(text[at++]);
      continue;
    }
    const utf8::Decoded here = utf8::decode(text, at);
    const char32_t c = here.code_point;
    if (const char ascii = ascii_of(c); ascii != '\0') {
      out.push_back(ascii);
      ++changed;
    } else if (is_invisible(c)) {
      ++changed;
    } else {
      out += text.substr(at, here.bytes);
    }
    at += here.bytes;
  }
  if (changed < kChangedMin) return std::nullopt;
  return out;
}

// Joins "i g n o r e   a l l" to "ignore all"; nullopt if most of the text is not written so.
std::optional<std::string> joined_letters(std::string_view text) {
  std::string out;
  size_t single = 0, others = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t space = text.find(' ', at);
    const std::string_view piece = text.substr(at, space - at);
    const bool is_letter = piece.size() == 1;
    single += is_letter && ascii::is_alpha(piece[0]) ? 1 : 0;
    others += piece.size() > 1 ? piece.size() : 0;
    if (piece.empty()) {
      if (!out.ends_with(' ')) out.push_back(' ');
    } else if (!is_letter) {
      if (!out.empty() && !out.ends_with(' ')) out.push_back(' ');
      out.append(piece).push_back(' ');
    } else {
      out += piece;
    }
    if (space == std::string_view::npos) break;
    at = space + 1;
  }
  if (single < kLettersMin || single < others) return std::nullopt;
  return out;
}

// Returns whether bytes are text: UTF-8 with words, without control characters.
bool is_text(std::string_view bytes) {
  if (bytes.size() < kDecodedMin || !utf8::is_valid(bytes)) return false;
  size_t letters = 0, spaces = 0;
  for (const char c : bytes) {
    if (ascii::is_space(c)) {
      ++spaces;
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) {
      return false;
    } else {
      letters += ascii::is_word_byte(c) ? 1 : 0;
    }
  }
  return (letters + spaces) * 10 >= bytes.size() * 7;
}

bool is_base64(char c) {
  return ascii::is_alnum(c) || c == '+' || c == '/' || c == '-' || c == '_';
}

// Reads a text that was encoded once or several times.
std::optional<std::string> base64_text(std::string_view run) {
  std::string standard(run);
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  constexpr size_t kGroup = 4;
  if (standard.size() % kGroup == 1) return std::nullopt;
  standard.append((kGroup - standard.size() % kGroup) % kGroup, '=');
  auto bytes = base64::decode(standard);
  if (!bytes) return std::nullopt;
  std::string digits = *bytes;  // encoders break lines
  std::erase_if(digits, ascii::is_space);
  digits.erase(digits.find_last_not_of('=') + 1);
  if (digits.size() >= kRunMin && std::ranges::all_of(digits, is_base64)) {
    if (auto inner = base64_text(digits)) return inner;
  }
  if (!is_text(*bytes)) return std::nullopt;
  return *std::move(bytes);
}

// Reads digits of `bits` bits each; a space, a colon or "\x" may stand between bytes.
std::optional<std::string> digits_text(std::string_view run, unsigned bits) {
  std::string bytes;
  unsigned value = 0, filled = 0;
  for (const char each : run) {
    const char c = ascii::lower(each);
    if (!ascii::is_digit(c) && (c < 'a' || c > 'f')) {
      if (filled != 0) return std::nullopt;
      continue;
    }
    value = value << bits | static_cast<unsigned>(ascii::is_digit(c) ? c - '0' : c - 'a' + 10);
    filled += bits;
    if (filled < 8) continue;
    bytes.push_back(static_cast<char>(value & 0xFF));
    value = filled = 0;
  }
  if (filled != 0 || !is_text(bytes)) return std::nullopt;
  return bytes;
}

bool is_base32(char c) {
  return ascii::is_upper(c) || (c >= '2' && c <= '7');
}

std::optional<std::string> base32_text(std::string_view run) {
  std::string bytes;
  uint32_t bits = 0, filled = 0;
  for (const char c : run) {
    bits = bits << 5 | static_cast<uint32_t>(ascii::is_upper(c) ? c - 'A' : c - '2' + 26);
    filled += 5;
    if (filled < 8) continue;
    filled -= 8;
    bytes.push_back(static_cast<char>(bits >> filled & 0xFF));
  }
  if (!is_text(bytes)) return std::nullopt;
  return bytes;
}

bool is_hex_run(char c) {
  return ascii::is_digit(c) || (ascii::lower(c) >= 'a' && ascii::lower(c) <= 'f') || c == ' ' ||
         c == ':' || c == '\\' || c == 'x';
}
bool is_binary_run(char c) {
  return c == '0' || c == '1' || c == ' ';
}

// Returns the longest part of a run without spaces. The letters around it may be those of words
// ("and 49676e", "49676e be").
std::string_view longest_part(std::string_view run) {
  std::string_view out;
  for (size_t at = 0; at < run.size();) {
    const size_t end = std::min(run.find(' ', at), run.size());
    if (end - at > out.size()) out = run.substr(at, end - at);
    at = end + 1;
  }
  return out;
}

// Calls decode(run) for each longest run of characters of a kind that has at least kRunMin of them.
template <class IsOf, class Decode>
void add_runs(std::string_view text, const IsOf& is_of, const Decode& decode,
              std::vector<HiddenText>& out) {
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t begin = at;
    while (at < text.size() && is_of(text[at])) ++at;
    std::string_view run = text.substr(begin, at - begin);
    while (!run.empty() && !ascii::is_alnum(run.front())) run.remove_prefix(1);
    while (!run.empty() && !ascii::is_alnum(run.back())) run.remove_suffix(1);
    if (run.size() < kRunMin) continue;
    auto found = decode(run);
    if (!found) {
      run = longest_part(run);
      if (run.size() >= kRunMin) found = decode(run);
    }
    if (!found) continue;
    const auto from = static_cast<size_t>(run.data() - text.data());
    size_t end = from + run.size();
    while (end < text.size() && text[end] == '=') ++end;  // padding of base64 and base32
    out.push_back({.text = *std::move(found), .begin = from, .end = end});
  }
}

// Returns false for "ignoreallpreviousinstructions", which a model hardly understands.
bool has_gaps(std::string_view text) {
  constexpr size_t kWordMax = 20;
  size_t word = 0;
  return std::ranges::none_of(text, [&](char c) {
    word = c == ' ' ? 0 : word + 1;
    return word > kWordMax;
  });
}

// Adds "ignore all" for each run such as "i g n o r e   a l l" in a line that has words, too.
void add_spaced_runs(std::string_view text, std::vector<HiddenText>& out) {
  HiddenText run;
  size_t letters = 0;
  const auto finish = [&] {
    run.is_complete = has_gaps(run.text);
    if (letters >= kLettersMin) out.push_back(run);
    run.text.clear();
    letters = 0;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (end - at > 1) finish();
    if (end - at == 1) {
      if (run.text.empty()) run.begin = at;
      run.text += text[at];
      run.end = end;
      letters += ascii::is_alpha(text[at]) ? 1 : 0;
    } else if (end == at && !run.text.empty() && !run.text.ends_with(' ')) {
      run.text += ' ';
    }
    if (end < text.size() && text[end] == '\n') finish();
    at = end + 1;
  }
  finish();
}

std::vector<HiddenText> digit_runs(std::string_view text) {
  std::vector<HiddenText> out;
  add_runs(text, is_base64, base64_text, out);
  add_runs(text, is_base32, base32_text, out);
  add_runs(
      text, is_hex_run, [](std::string_view run) { return digits_text(run, 4); }, out);
  add_runs(
      text, is_binary_run, [](std::string_view run) { return digits_text(run, 1); }, out);
  return out;
}

// Adds what runs of entities, escapes and tag characters stand for.
void add_disguised_runs(std::string_view text, std::vector<HiddenText>& out) {
  for (size_t at = 0; at < text.size(); ++at) {
    HiddenText run{.text = {}, .begin = at, .end = at};
    while (run.end < text.size()) {
      const auto disguised = disguised_at(text, run.end);
      if (!disguised) break;
      utf8::append(run.text, disguised->character);
      run.end = disguised->end;
    }
    at = run.end;
    if (is_text(run.text)) out.push_back(std::move(run));
  }
}

}  // namespace

std::vector<HiddenText> encoded_texts(std::string_view text) {
  std::vector<HiddenText> out = digit_runs(text);
  add_disguised_runs(text, out);
  return out;
}

std::vector<HiddenText> hidden_texts(std::string_view text) {
  std::vector<HiddenText> out = digit_runs(text);
  const auto add_whole = [&](std::string found, bool is_complete) {
    out.push_back(
        {.text = std::move(found), .begin = 0, .end = text.size(), .is_complete = is_complete});
  };
  if (const auto latin = latin_letters(text)) {
    if (latin->all != latin->mixed) add_whole(*plain_characters(latin->all, kChangedMin), false);
    add_whole(*plain_characters(latin->mixed, kChangedMin), true);
  } else if (auto plain = plain_characters(text, 0)) {
    add_whole(*std::move(plain), true);
  }
  if (auto joined = joined_letters(text)) {
    const bool is_complete = has_gaps(*joined);
    add_whole(*std::move(joined), is_complete);
  } else {
    add_spaced_runs(text, out);
  }
  if (auto readable = rearranged(text)) add_whole(std::move(readable->text), readable->is_complete);
  return out;
}

}  // namespace signalbox::text
