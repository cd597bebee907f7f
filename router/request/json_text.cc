// In well-formed JSON, backslashes and quotes occur only in and around strings, so finding strings
// needs no grammar.

#include "router/request/json_text.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"

namespace signalbox::request {
namespace {

constexpr size_t kUnitBytes = 6;  // as in "\u0041"

char32_t unit_at(std::string_view source, size_t at) {
  char32_t unit = 0;
  for (const char c : source.substr(at + 2, kUnitBytes - 2)) {
    const char low = ascii::lower(c);
    unit = unit * 16 + static_cast<char32_t>(ascii::is_digit(low) ? low - '0' : low - 'a' + 10);
  }
  return unit;
}

bool is_structure(char c) {
  return std::string_view(" \t\r\n,:[]{}\"").find(c) != std::string_view::npos;
}

bool has_word(std::string_view text) {
  return std::any_of(text.begin(), text.end(), ascii::is_word_byte);
}

}  // namespace

JsonText::JsonText(std::string_view source) : source_(source) {
  bool in_string = false;
  size_t kept = 0;
  for (size_t at = source.find_first_of("\"\\"); at != std::string_view::npos;
       at = source.find_first_of("\"\\", at)) {
    if (source[at] == '\\') {
      keep(kept, at);
      kept = at += unescape(at);
      continue;
    }
    const size_t place = text_.size() + (at++ - kept);
    if (in_string) {
      strings_.back().end = place;
    } else {
      strings_.push_back({place + 1, place + 1});
    }
    in_string = !in_string;
  }
  if (kept > 0) keep(kept, source.size());
}

void JsonText::keep(size_t begin, size_t end) {
  if (begin == end) return;
  pieces_.push_back({text_.size(), begin, 0});
  text_ += source_.substr(begin, end - begin);
}

// Appends the character of the escape at `at`. Returns the number of bytes of the escape.
size_t JsonText::unescape(size_t at) {
  constexpr std::string_view kShort = "bfnrt", kResolved = "\b\f\n\r\t";
  const char kind = source_[at + 1];
  const size_t place = text_.size();
  size_t bytes = 2;
  if (kind == 'u') {
    char32_t code = unit_at(source_, at);
    bytes = kUnitBytes;
    if (code >= 0xD800 && code < 0xDC00 && source_.substr(at + bytes, 2) == "\\u") {
      code = 0x10000 + ((code - 0xD800) << 10) + (unit_at(source_, at + bytes) - 0xDC00);
      bytes += kUnitBytes;
    }
    utf8::append(text_, code);
  } else {
    const size_t found = kShort.find(kind);
    text_.push_back(found == std::string_view::npos ? kind : kResolved[found]);
  }
  pieces_.push_back({place, at, bytes});
  return bytes;
}

const JsonText::Piece& JsonText::piece_at(size_t at) const {
  const auto behind = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                       [](size_t a, const Piece& piece) { return a < piece.at; });
  return *std::prev(behind);
}

JsonText::Range JsonText::origin(size_t begin, size_t end) const {
  if (pieces_.empty()) return {begin, end};
  const Piece& first = piece_at(begin);
  const Piece& last = piece_at(end - 1);
  return {first.from + (first.escape > 0 ? 0 : begin - first.at),
          last.from + (last.escape > 0 ? last.escape : end - last.at)};
}

std::vector<JsonText::Part> JsonText::parts(size_t begin, size_t end) const {
  std::vector<Part> out;
  auto string = std::lower_bound(strings_.begin(), strings_.end(), begin,
                                 [](const Range& each, size_t at) { return each.end < at; });
  for (; begin < end && string != strings_.end() && string->begin < end; ++string) {
    add_numbers(begin, string->begin, out);
    const size_t from = std::max(begin, string->begin), to = std::min(end, string->end);
    if (from < to && has_word(text().substr(from, to - from))) out.push_back({from, to, true});
    begin = std::max(begin, string->end);
  }
  add_numbers(begin, end, out);
  return out;
}

// Adds the numbers outside strings that overlap [begin, end). A number that the range cuts is added
// whole, because replacing a part of it would not leave valid JSON.
void JsonText::add_numbers(size_t begin, size_t end, std::vector<Part>& out) const {
  const std::string_view all = text();
  for (size_t at = begin; at < end;) {
    if (is_structure(all[at])) {
      ++at;
      continue;
    }
    size_t from = at;
    while (from > 0 && !is_structure(all[from - 1])) --from;
    while (at < all.size() && !is_structure(all[at])) ++at;
    if (all[from] == '-' || ascii::is_digit(all[from])) out.push_back({from, at, false});
  }
}

}  // namespace signalbox::request
