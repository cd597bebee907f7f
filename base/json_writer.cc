// The Writer holds the output string and a stack of open objects and arrays.

#include "base/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"

namespace signalbox::json {
namespace {

constexpr size_t kLong = 64 << 10, kRoomShare = 16;
constexpr size_t kUsualBytes = 480, kUsualLevels = 8;  // of one allocation each

template <class T>
void append_number(std::string& out, T value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  SIGNALBOX_CHECK(error == std::errc());
  out.append(digits, end);
}

/// Printable ASCII that needs no escape.
constexpr auto kIsPlain = [] {
  std::array<bool, 256> out{};
  for (size_t c = 0x20; c < 0x7F; ++c) out[c] = c != '"' && c != '\\';
  return out;
}();

/// Returns true if the eight bytes are plain.
bool is_plain_word(const char* text) {
  constexpr uint64_t kOnes = ~uint64_t{0} / 255, kHigh = kOnes * 128;
  const auto no_zero = [](uint64_t v) { return ((v - kOnes) & ~v & kHigh) == 0; };
  uint64_t bytes = 0;
  std::memcpy(&bytes, text, 8);
  // A carry between bytes may make a plain byte look special, but never a special one plain.
  const uint64_t outside = (bytes - kOnes * 0x20) | bytes | (bytes + kOnes);
  return (outside & kHigh) == 0 && no_zero(bytes ^ (kOnes * '"')) &&
         no_zero(bytes ^ (kOnes * '\\'));
}

/// Returns the number of plain bytes that the text begins with.
size_t plain_bytes(std::string_view text) {
  size_t at = 0;
  while (text.size() >= 8 && is_plain_word(text.data() + at)) {
    if (at + 8 == text.size()) return text.size();
    at = std::min(at + 8, text.size() - 8);  // the last word may overlap the one before
  }
  while (at < text.size() && kIsPlain[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

/// Appends a number with at most three decimals, as most have, in a tenth of the time. Returns
/// false for other numbers and for those that are shorter with an exponent.
bool append_thousandths(std::string& out, double value) {
  if (value < 0.001 || value >= 1e5) return false;
  const auto thousandths = static_cast<uint64_t>(value * 1000 + 0.5);
  if (static_cast<double>(thousandths) / 1000 != value) return false;
  append_number(out, thousandths / 1000);
  const uint64_t rest = thousandths % 1000;
  if (rest == 0) return true;
  const auto digit = [](uint64_t each) { return static_cast<char>('0' + each % 10); };
  const char decimals[] = {'.', digit(rest / 100), digit(rest / 10), digit(rest)};
  out.append(decimals, rest % 10 != 0 ? 4 : rest % 100 != 0 ? 3 : 2);
  return true;
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  for (size_t i = 0; i < text.size();) {
    const size_t plain = plain_bytes(text.substr(i));
    out.append(text, i, plain);
    i += plain;
    if (i == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      const utf8::Decoded decoded = utf8::decode(text, i);
      utf8::append(out, decoded.code_point);
      i += decoded.bytes;
      continue;
    }
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out.push_back(kHex[byte >> 4]);
        out.push_back(kHex[byte & 15]);
    }
    ++i;
  }
  out.push_back('"');
}

std::string quote(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

std::string quote_briefly(std::string_view text) {
  constexpr size_t kBytesMax = 64;
  if (text.size() <= kBytesMax) return quote(text);
  size_t end = 0;
  for (size_t next = 0; next <= kBytesMax; next += utf8::decode(text, next).bytes) end = next;
  std::string out = quote(text.substr(0, end));
  out.insert(out.size() - 1, "...");
  return out;
}

void Writer::before_value() {
  if (levels_.empty()) {
    SIGNALBOX_CHECK(out_.empty());
    out_.reserve(kUsualBytes);
    levels_.reserve(kUsualLevels);
    return;
  }
  Level& level = levels_.back();
  if (level.object) {
    SIGNALBOX_CHECK(level.key_written);
    level.key_written = false;
    return;
  }
  if (!level.first) out_.push_back(',');
  level.first = false;
}

Writer& Writer::begin_object() {
  before_value();
  out_.push_back('{');
  levels_.push_back({.object = true});
  return *this;
}

Writer& Writer::end_object() {
  SIGNALBOX_CHECK(!levels_.empty() && levels_.back().object && !levels_.back().key_written);
  levels_.pop_back();
  out_.push_back('}');
  return *this;
}

Writer& Writer::begin_array() {
  before_value();
  out_.push_back('[');
  levels_.push_back({.object = false});
  return *this;
}

Writer& Writer::end_array() {
  SIGNALBOX_CHECK(!levels_.empty() && !levels_.back().object);
  levels_.pop_back();
  out_.push_back(']');
  return *this;
}

Writer& Writer::key(std::string_view name) {
  SIGNALBOX_CHECK(!levels_.empty() && levels_.back().object && !levels_.back().key_written);
  Level& level = levels_.back();
  if (!level.first) out_.push_back(',');
  level.first = false;
  level.key_written = true;
  append_string(out_, name);
  out_.push_back(':');
  return *this;
}

Writer& Writer::string(std::string_view text) {
  before_value();
  append_string(out_, text);
  return *this;
}

Writer& Writer::integer(int64_t value) {
  before_value();
  append_number(out_, value);
  return *this;
}

Writer& Writer::boolean(bool value) {
  return raw(value ? "true" : "false");
}

Writer& Writer::null() {
  return raw("null");
}

Writer& Writer::number(double value) {
  if (!std::isfinite(value)) return null();
  before_value();
  if (!append_thousandths(out_, value)) append_number(out_, value);
  return *this;
}

Writer& Writer::number(float value) {
  if (!std::isfinite(value)) return null();
  before_value();
  append_number(out_, value);
  return *this;
}

Writer& Writer::raw(std::string_view json) {
  before_value();
  // Room for what follows, so that a long text is not copied to twice its size.
  if (json.size() > kLong) out_.reserve(out_.size() + json.size() + json.size() / kRoomShare);
  out_ += json;
  return *this;
}

Writer& Writer::member(std::string_view name, std::span<const float> values) {
  key(name).begin_array();
  for (const float value : values) number(value);
  return end_array();
}

std::string Writer::take() {
  SIGNALBOX_CHECK(levels_.empty());
  return std::exchange(out_, {});
}

}  // namespace signalbox::json
