#pragma once
// Writes JSON text: commas and escapes are the writer's business, the order of calls is the
// caller's.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::json {

/// Appends text as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD, so the output
/// always parses.
void append_string(std::string& out, std::string_view text);

/// append_string() to an empty string.
std::string quote(std::string_view text);

/// The same of a text that somebody else has made as long as he likes, for messages and the log: at
/// most 64 bytes of it, to the end of a character, and "..." within the quotes where it is longer.
std::string quote_briefly(std::string_view text);

/// Builds one document. Misuse (a value without a key inside an object, unbalanced ends) is a bug
/// and aborts.
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
  /// Shortest text that reads back as the same value; NaN and infinities, which JSON lacks, become
  /// null.
  Writer& number(double value);
  Writer& number(float value);
  /// Bytes that are JSON already.
  Writer& raw(std::string_view json);

  /// key() and a value in one.
  Writer& member(std::string_view name, std::string_view text) { return key(name).string(text); }
  Writer& member(std::string_view name, const char* text) { return key(name).string(text); }
  Writer& member(std::string_view name, bool value) { return key(name).boolean(value); }
  Writer& member(std::string_view name, double value) { return key(name).number(value); }
  Writer& member(std::string_view name, float value) { return key(name).number(value); }
  Writer& member(std::string_view name, int64_t value) { return key(name).integer(value); }
  Writer& member(std::string_view name, int32_t value) { return key(name).integer(value); }
  Writer& member(std::string_view name, std::span<const float> values);

  /// The finished document; the writer is empty afterwards.
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
