// Reads one byte at a time, because most texts fail at their first byte.

#include "router/replies/json_prefix.h"

#include "base/ascii.h"

namespace signalbox::replies {
namespace {

bool is_json_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_one_of(char c, std::string_view characters) {
  return characters.find(c) != std::string_view::npos;
}

}  // namespace

size_t JsonPrefix::push(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && take(text[at])) ++at;
  return at;
}

bool JsonPrefix::take(char c) {
  switch (at_) {
    case At::kString:
      if (c == '"') at_ = is_key_ ? At::kColon : At::kComma;
      if (c == '\\') at_ = At::kEscape;
      return static_cast<unsigned char>(c) >= 0x20;
    case At::kEscape:
      at_ = At::kString;
      return is_one_of(c, "\"\\/bfnrtu");
    case At::kWord:
      if (c != word_.front()) return false;
      word_.remove_prefix(1);
      if (word_.empty()) at_ = At::kComma;
      return true;
    case At::kNumber:
      if (ascii::is_digit(c) || is_one_of(c, "+-.eE")) return true;
      at_ = At::kComma;
      break;
    default:
      break;
  }
  if (is_json_space(c)) return true;
  switch (at_) {
    case At::kStart:
      return open(c);
    case At::kValueOrEnd:
      return c == ']' ? close(c) : value(c);
    case At::kValue:
      return value(c);
    case At::kKeyOrEnd:
      return c == '}' ? close(c) : c == '"' && string(true);
    case At::kKey:
      return c == '"' && string(true);
    case At::kColon:
      at_ = At::kValue;
      return c == ':';
    case At::kComma:
      return comma_or_end(c);
    default:
      return false;
  }
}

bool JsonPrefix::value(char c) {
  if (c == '"') return string(false);
  if (ascii::is_digit(c) || c == '-') {
    at_ = At::kNumber;
    return true;
  }
  if (!is_one_of(c, "tfn")) return open(c);
  at_ = At::kWord;
  word_ = c == 't' ? "rue" : c == 'f' ? "alse" : "ull";
  return true;
}

bool JsonPrefix::string(bool is_key) {
  at_ = At::kString;
  is_key_ = is_key;
  return true;
}

bool JsonPrefix::open(char c) {
  if ((c != '[' && c != '{') || brackets_.size() == kDepthMax) return false;
  brackets_ += c;
  at_ = c == '[' ? At::kValueOrEnd : At::kKeyOrEnd;
  return true;
}

bool JsonPrefix::close(char c) {
  if (brackets_.back() != (c == ']' ? '[' : '{')) return false;
  brackets_.pop_back();
  at_ = brackets_.empty() ? At::kDone : At::kComma;
  return true;
}

bool JsonPrefix::comma_or_end(char c) {
  if (c == ']' || c == '}') return close(c);
  at_ = brackets_.back() == '[' ? At::kValue : At::kKey;
  return c == ',';
}

}  // namespace signalbox::replies
