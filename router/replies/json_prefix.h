#pragma once
// Decides whether the beginning of a text may be the beginning of JSON.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::replies {

/// For one text that arrives in pieces and is an object or an array, possibly with white space
/// around it. Numbers and \u escapes are checked only for valid characters.
class JsonPrefix {
 public:
  /// Returns how many bytes of `text` continue the JSON. If not all do, the text is not JSON; do
  /// not call push() again.
  size_t push(std::string_view text);

 private:
  enum class At : uint8_t {
    kStart,
    kValue,
    kValueOrEnd,  // of an array
    kKey,
    kKeyOrEnd,  // of an object
    kColon,
    kString,
    kEscape,
    kNumber,
    kWord,
    kComma,  // or an end
    kDone,
  };

  bool take(char c);
  bool value(char c);
  bool open(char c);
  bool close(char c);
  bool string(bool is_key);
  bool comma_or_end(char c);

  static constexpr size_t kDepthMax = 128;  // the same limit as json::Document

  At at_ = At::kStart;
  bool is_key_ = false;    // if kString
  std::string_view word_;  // the rest of the literal
  std::string brackets_;   // open brackets
};

}  // namespace signalbox::replies
