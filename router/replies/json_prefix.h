#pragma once
// Whether a text of which only the beginning is there may be JSON.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::replies {

/// Of one text, an object or an array with white space around it, that comes in pieces. Numbers and
/// \u escapes are looked at by their characters alone.
class JsonPrefix {
 public:
  /// How many bytes of `text` go on with it. If not all do, the text is no JSON, and is not to be
  /// asked about again.
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

  static constexpr size_t kDepthMax = 128;  // as documents have it

  At at_ = At::kStart;
  bool is_key_ = false;    // of kString
  std::string_view word_;  // what is to come of it
  std::string brackets_;   // that are open
};

}  // namespace signalbox::replies
