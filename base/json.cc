// Finds values in the source on demand.

#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/ascii.h"
#include "base/json_scan.h"

namespace signalbox::json {
namespace {

bool opens(char c) {
  return c == '{' || c == '[';
}

/// Returns how many containers are open behind a character that is not in a string.
uint32_t depth_after(char c, uint32_t depth) {
  if (opens(c)) return depth + 1;
  return c == '}' || c == ']' ? depth - 1 : depth;
}

/// Returns the end of the string if it is at most kNear bytes long, else 0.
uint32_t near_string_end(std::string_view text, uint32_t begin, bool may_have_escapes) {
  const size_t last = std::min<size_t>(begin + kNear, text.size());
  size_t at = begin + 1;
  if (may_have_escapes) {
    while (at < last && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
    return at < last ? static_cast<uint32_t>(at + 1) : 0;
  }
  const void* const quote = std::memchr(text.data() + at, '"', last - at);
  if (quote == nullptr) return 0;
  return static_cast<uint32_t>(static_cast<const char*>(quote) - text.data() + 1);
}

}  // namespace

// Accepts tokens of any length, unlike the conversion to a number.
bool is_number_token(std::string_view s) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t start = i;
    while (i < s.size() && ascii::is_digit(s[i])) ++i;
    return i > start;
  };
  if (i < s.size() && s[i] == '-') ++i;
  const size_t integer = i;
  if (!digits()) return false;
  if (s[integer] == '0' && i - integer > 1) return false;
  if (i < s.size() && s[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == s.size();
}

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return "boolean";
    case Type::kNumber:
      return "number";
    case Type::kString:
      return "string";
    case Type::kArray:
      return "array";
    case Type::kObject:
      return "object";
  }
  return "unknown";
}

size_t Document::memory_bytes() const {
  return text_.capacity() + sizeof(Range) * long_values_.capacity() + escaped_.memory_bytes();
}

uint32_t Document::after_space(uint32_t at) const {
  while (is_space(text_[at])) ++at;
  return at;
}

// Returns where the next element or key begins behind a value that ends at `end`; 0 if none
// follows.
uint32_t Document::next(uint32_t end) const {
  const uint32_t at = after_space(end);
  return text_[at] == ',' ? after_space(at + 1) : 0;
}

uint32_t Document::near_scalar_end(uint32_t begin) const {
  for (uint32_t at = begin; at <= begin + kNear; ++at) {
    if (ends_scalar(text_[at])) return at;
  }
  return 0;
}

// Returns the end of the string or scalar if it is found within kNear bytes, else 0.
uint32_t Document::near_end(uint32_t begin) const {
  if (text_[begin] != '"') return near_scalar_end(begin);
  return near_string_end(text_, begin, escaped_.may_have(begin));
}

// Returns the end of the value. A container that is not remembered is scanned, which is quick: few
// of its bytes lie outside of remembered values.
uint32_t Document::end_of(uint32_t begin) const {
  const auto remembered_end = [this](uint32_t at) -> uint32_t {
    const auto found = std::ranges::lower_bound(long_values_, at, {}, &Range::begin);
    return found != long_values_.end() && found->begin == at ? found->end : 0;
  };
  if (!opens(text_[begin])) {
    const uint32_t near = near_end(begin);
    return near != 0 ? near : remembered_end(begin);
  }
  uint32_t at = begin, depth = 0;
  do {
    const char c = text_[at];
    uint32_t end = 0;
    if (opens(c)) {
      end = remembered_end(at);
    } else if (c == '"' || !ends_scalar(c)) {
      end = end_of(at);
    }
    if (end == 0) depth = depth_after(c, depth);
    at = end != 0 ? end : at + 1;
  } while (depth > 0);
  return at;
}

std::string_view Document::text_of(uint32_t begin, uint32_t end) const {
  const std::string_view plain = source().substr(begin + 1, end - begin - 2);
  if (!escaped_.may_have(begin) || plain.find('\\') == std::string_view::npos) return plain;
  return escaped_.text_of(source(), begin, end);
}

Type Value::type() const {
  switch (document_->text_[begin_]) {
    case '{':
      return Type::kObject;
    case '[':
      return Type::kArray;
    case '"':
      return Type::kString;
    case 't':
    case 'f':
      return Type::kBool;
    case 'n':
      return Type::kNull;
    default:
      return Type::kNumber;
  }
}

size_t Value::end() const {
  return document_->end_of(begin_);
}
std::string_view Value::raw() const {
  return document_->source().substr(begin(), end() - begin());
}

std::string_view Value::text() const {
  SIGNALBOX_CHECK(is_string());
  return document_->text_of(begin_, document_->end_of(begin_));
}

bool Value::boolean() const {
  SIGNALBOX_CHECK(is_bool());
  return document_->text_[begin_] == 't';
}

Result<int64_t> Value::integer() const {
  int64_t out = 0;
  const std::string_view token = raw();
  if (is_number()) {
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), out);
    if (error == std::errc() && end == token.data() + token.size()) return out;
  }
  return fail(Code::kInvalid, "expected an integer, found {}", token.substr(0, 64));
}

Result<double> Value::number() const {
  double out = 0;
  const std::string_view token = raw();
  if (is_number()) {
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), out);
    if (error == std::errc() && end == token.data() + token.size() && std::isfinite(out))
      return out;
  }
  return fail(Code::kInvalid, "expected a number, found {}", token.substr(0, 64));
}

std::optional<Value> Value::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.key == key) return member.value;
  }
  return std::nullopt;
}

size_t Value::count(std::string_view key) const {
  size_t n = 0;
  for (const Member& member : members()) n += member.key == key;
  return n;
}

Items Value::items() const {
  if (!is_array()) return {document_, 0};
  const uint32_t first = document_->after_space(begin_ + 1);
  return {document_, document_->text_[first] == ']' ? 0 : first};
}

Members Value::members() const {
  if (!is_object()) return {document_, 0};
  const uint32_t first = document_->after_space(begin_ + 1);
  return {document_, document_->text_[first] == '}' ? 0 : first};
}

Items::Iterator& Items::Iterator::operator++() {
  at_ = document_->next(document_->end_of(at_));
  return *this;
}

Members::Iterator::Iterator(const Document* document, uint32_t key)
    : document_(document), key_(key) {
  if (key_ == 0) return;
  key_end_ = document_->end_of(key_);
  const uint32_t colon = document_->after_space(key_end_);
  value_ = document_->after_space(colon + 1);
}

Member Members::Iterator::operator*() const {
  return {document_->text_of(key_, key_end_), Value(document_, value_)};
}

Members::Iterator& Members::Iterator::operator++() {
  *this = Iterator(document_, document_->next(document_->end_of(value_)));
  return *this;
}

}  // namespace signalbox::json
