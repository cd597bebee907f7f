// Checks the grammar of a document in one pass without recursion, and remembers where long values
// end. simdjson checks the encoding. Its parsers were rejected: their indices take four bytes for
// each byte of a dense document.

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/json.h"
#include "base/json_scan.h"
#include "base/utf8.h"

namespace signalbox::json {
namespace {

/// A moved std::string keeps its bytes in place only if they do not lie within the object.
constexpr size_t kOutsideObject = 32;
constexpr size_t kUnitBytes = 6;  // as in "\u0041"

// Returns the first quote, backslash or control character at or after `at`. The text ends in '\0'.
size_t plain_end(const std::string& text, size_t at) {
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
  while (text[at] != '"' && text[at] != '\\' && static_cast<unsigned char>(text[at]) >= 32) ++at;
  return at;
}

// Returns the number behind "\u" at `at`; nullopt if it has not four hexadecimal digits.
std::optional<char32_t> unit_at(const std::string& text, size_t at) {
  if (at + kUnitBytes > text.size() || text[at] != '\\' || text[at + 1] != 'u') return {};
  uint32_t unit = 0;
  const char* const end = text.data() + at + kUnitBytes;
  if (std::from_chars(text.data() + at + 2, end, unit, 16).ptr != end) return {};
  return unit;
}

struct Escape {
  char32_t code;
  size_t bytes;  // in the source; 0: it is not an escape
};

Escape escape_at(const std::string& text, size_t at) {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  const size_t letter = kLetters.find(text[at + 1]);
  if (text[at + 1] != '\0' && letter != std::string_view::npos)
    return {static_cast<char32_t>(kMeanings[letter]), 2};
  const auto unit = unit_at(text, at);
  if (!unit || (*unit >= 0xDC00 && *unit < 0xE000)) return {0, 0};
  if (*unit < 0xD800 || *unit >= 0xE000) return {*unit, kUnitBytes};
  const auto low = unit_at(text, at + kUnitBytes);
  if (!low || *low < 0xDC00 || *low >= 0xE000) return {0, 0};
  return {0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), 2 * kUnitBytes};
}

}  // namespace

// Checks the grammar of a document.
class Checker {
 public:
  Checker(Document& document, uint32_t depth_max)
      : document_(document), text_(document.text_), depth_max_(depth_max) {}

  Result<void> check() {
    skip_space();
    document_.root_ = static_cast<uint32_t>(at_);
    if (text_[at_] != '{' && text_[at_] != '[') {
      if (at_ == text_.size()) return fail(Code::kInvalid, "JSON: the text is empty");
      return fail(Code::kInvalid, "JSON: expected an object or an array at the top");
    }
    SIGNALBOX_TRY_VOID(value());
    while (!open_.empty()) SIGNALBOX_TRY_VOID(step());
    skip_space();
    if (at_ < text_.size())
      return fail(Code::kInvalid, "JSON: unexpected content after the end at byte {}", at_);
    if (!simdjson::validate_utf8(text_)) return fail(Code::kInvalid, "JSON: it is not UTF-8");
    std::sort(document_.long_values_.begin(), document_.long_values_.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    if (escaped_ > 0) document_.resolve(escaped_, escaped_bytes_);
    return {};
  }

 private:
  struct Container {
    uint32_t begin;
    uint32_t covered;  // bytes of it in remembered values
    bool is_object;
    bool is_begun;
  };

  // Reads one element or member, or the end of the innermost container.
  Result<void> step() {
    Container& in = open_.back();
    skip_space();
    if (text_[at_] == (in.is_object ? '}' : ']') && at_ < text_.size()) {
      ++at_;
      const Container closed = in;
      open_.pop_back();
      remember(closed.begin, closed.covered);
      return {};
    }
    if (in.is_begun) {
      if (text_[at_] != ',')
        return fail(Code::kInvalid, "JSON: expected ',' or '{}' at byte {}",
                    in.is_object ? '}' : ']', at_);
      ++at_;
      skip_space();
    }
    in.is_begun = true;
    if (in.is_object) {
      if (text_[at_] != '"') return fail(Code::kInvalid, "JSON: expected a key at byte {}", at_);
      SIGNALBOX_TRY_VOID(string());
      skip_space();
      if (text_[at_] != ':') return fail(Code::kInvalid, "JSON: expected ':' at byte {}", at_);
      ++at_;
      skip_space();
    }
    return value();
  }

  Result<void> value() {
    const char c = text_[at_];
    if (c == '"') return string();
    if (c != '{' && c != '[') return scalar();
    if (open_.size() >= depth_max_)
      return fail(Code::kTooLarge, "JSON: nested deeper than {} at byte {}", depth_max_, at_);
    open_.push_back({static_cast<uint32_t>(at_++), 0, c == '{', false});
    return {};
  }

  Result<void> string() {
    const size_t begin = at_++;
    size_t escapes = 0;
    for (;;) {
      at_ = plain_end(text_, at_);
      if (text_[at_] == '"') break;
      if (text_[at_] != '\\') {
        return at_ == text_.size()
                   ? fail(Code::kInvalid, "JSON: the string at byte {} does not end", begin)
                   : fail(Code::kInvalid, "JSON: a control character in a string at byte {}", at_);
      }
      const Escape escape = escape_at(text_, at_);
      if (escape.bytes == 0)
        return fail(Code::kInvalid, "JSON: a string has an invalid escape at byte {}", at_);
      at_ += escape.bytes;
      ++escapes;
    }
    ++at_;
    if (escapes > 0) {
      ++escaped_;
      escaped_bytes_ += at_ - begin - 2 - escapes;  // an escape is longer than its character
    }
    remember(begin, 0);
    return {};
  }

  Result<void> scalar() {
    const size_t begin = at_;
    while (!ends_scalar(text_[at_])) ++at_;
    const std::string_view token(text_.data() + begin, at_ - begin);
    if (token.empty()) return fail(Code::kInvalid, "JSON: a value is missing at byte {}", begin);
    if (token == "true" || token == "false" || token == "null" || is_number_token(token)) {
      remember(begin, 0);
      return {};
    }
    return fail(Code::kInvalid, "JSON: not a value: \"{}\" at byte {}", token.substr(0, 32), begin);
  }

  // Notes a value that has ended here if skipping it would take long.
  void remember(size_t begin, uint32_t covered) {
    const auto bytes = static_cast<uint32_t>(at_ - begin);
    if (bytes - covered >= kNear) {
      document_.long_values_.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)});
      covered = bytes;
    }
    if (!open_.empty()) open_.back().covered += covered;
  }

  void skip_space() {
    while (is_space(text_[at_])) ++at_;
  }

  Document& document_;
  const std::string& text_;
  const uint32_t depth_max_;
  size_t at_ = 0;
  std::vector<Container> open_;
  size_t escaped_ = 0;        // strings with escapes
  size_t escaped_bytes_ = 0;  // bound on the length of their texts
};

Result<Document> Document::parse(std::string text, const Limits& limits) {
  // Offsets are 32 bits wide.
  const size_t bytes_max = std::min<size_t>(limits.bytes, UINT32_MAX - kNear);
  if (text.size() > bytes_max) {
    return fail(Code::kTooLarge, "JSON: {} bytes, at most {} are read", text.size(), bytes_max);
  }
  Document document;
  document.text_ = std::move(text);
  document.text_.reserve(kOutsideObject);
  SIGNALBOX_TRY_VOID(Checker(document, limits.depth).check());
  return document;
}

// Fills in the texts of the strings with escapes: `strings` of them, together at most `bytes` long.
// Sizes are known beforehand, so that no list grows to twice its size.
void Document::resolve(size_t strings, size_t bytes) {
  escaped_.reserve(strings);
  resolved_.reserve(std::max(bytes, kOutsideObject));
  for (size_t at = text_.find('"'); at != std::string::npos; at = text_.find('"', at + 1)) {
    const auto begin = static_cast<uint32_t>(at);
    at = plain_end(text_, at + 1);
    if (text_[at] == '"') continue;
    escaped_.push_back({begin, static_cast<uint32_t>(resolved_.size())});
    for (size_t from = begin + 1;; from = at, at = plain_end(text_, at)) {
      resolved_.append(text_, from, at - from);
      if (text_[at] == '"') break;
      const Escape escape = escape_at(text_, at);
      utf8::append(resolved_, escape.code);
      at += escape.bytes;
    }
  }
}

}  // namespace signalbox::json
