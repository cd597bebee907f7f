#pragma once
// Functions that the check of a JSON text and the readers of its values share.

#include <cstdint>

namespace signalbox::json {

/// A value is remembered if at least kNear of its bytes lie outside remembered values. So there is
/// at most one per kNear bytes of the source, and skipping any value reads at most kNear bytes. A
/// few values of the outermost container are remembered beside them.
inline constexpr uint32_t kNear = 32;
inline bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// True behind the last byte of a number, true, false or null. A text ends in '\0'.
inline bool ends_scalar(char c) {
  return is_space(c) || c == ',' || c == ']' || c == '}' || c == ':' || c == '"' || c == '[' ||
         c == '{' || c == '\0';
}

}  // namespace signalbox::json
