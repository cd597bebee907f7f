// The Writer holds the output string and a stack of open objects and arrays.

#include "base/json_writer.h"

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

/// Returns the number of plain bytes that the text begins with.
size_t plain_bytes(std::string_view text) {
  constexpr uint64_t kOnes = ~uint64_t{0} / 255, kHigh = kOnes * 128;
  const auto has_zero = [](uint64_t v) { return (v - kOnes) & ~v & kHigh; };
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, 8);
    // Carries and borrows between the bytes make false hits only beside true ones.
    const uint64_t below_space_or_above_tilde =
        ((bytes - kOnes * 0x20) | bytes | (bytes + kOnes)) & kHigh;
    if (has_zero(bytes ^ (kOnes * '"')) != 0 || has_zero(bytes ^ (kOnes * '\\')) != 0 ||
        below_space_or_above_tilde != 0)
      break;
  }
  while (at < text.size() && kIsPlain[static_cast<unsigned char>(text[at])]) ++at;
  return at;
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
  append_number(out_, value);
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
