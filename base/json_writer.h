#pragma once
// Writes JSON text. The writer adds commas and escapes; the caller makes the calls in a valid
// order.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::json {

/// Appends the text as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD, so the output
/// always parses.
void append_string(std::string& out, std::string_view text);

/// Returns the text as a quoted JSON string.
std::string quote(std::string_view text);

/// quote() for untrusted text in messages and logs. The result contains at most 64 bytes of the
/// text, cut at a character boundary, followed by "..." inside the quotes if it was cut.
std::string quote_briefly(std::string_view text);

/// Builds one document. Misuse, such as a value without a key inside an object or unbalanced ends,
/// is a bug and aborts.
class Writer {
 public:
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);

  Writer& string(std::string_view text);
  Writer& integer(int64_t value);
  Writer& boolean(bool value);
  Writer& null();
  /// Writes the shortest text that reads back as the same value. NaN and infinities become null,
  /// because JSON has neither.
  Writer& number(double value);
  Writer& number(float value);
  /// Appends text that is already JSON.
  Writer& raw(std::string_view json);

  /// Writes a key and its value.
  Writer& member(std::string_view name, std::string_view text) { return key(name).string(text); }
  Writer& member(std::string_view name, const char* text) { return key(name).string(text); }
  Writer& member(std::string_view name, bool value) { return key(name).boolean(value); }
  Writer& member(std::string_view name, double value) { return key(name).number(value); }
  Writer& member(std::string_view name, float value) { return key(name).number(value); }
  Writer& member(std::string_view name, int64_t value) { return key(name).integer(value); }
  Writer& member(std::string_view name, int32_t value) { return key(name).integer(value); }
  Writer& member(std::string_view name, std::span<const float> values);

  /// Returns the finished document and leaves the writer empty.
  std::string take();

 private:
  struct Level {
    bool object;
    bool first = true;
    bool key_written = false;
  };
  void before_value();

  std::string out_;
  std::vector<Level> levels_;
};

}  // namespace signalbox::json
