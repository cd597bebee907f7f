#pragma once
// Numbers in the binary records that routers share: the lowest byte comes first.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::stores {

inline void write_number(uint64_t number, size_t bytes, std::string& out) {
  for (size_t byte = 0; byte < bytes; ++byte)
    out += static_cast<char>((number >> (8 * byte)) & 0xFF);
}

/// Takes the number from the front of `from`. Precondition: it has as many bytes.
inline uint64_t read_number(std::string_view& from, size_t bytes) {
  uint64_t out = 0;
  for (size_t byte = bytes; byte-- > 0;) out = out << 8 | static_cast<unsigned char>(from[byte]);
  from.remove_prefix(bytes);
  return out;
}

}  // namespace signalbox::stores
