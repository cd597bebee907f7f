#pragma once
// SHA-256, the checksum that says a fetched file is the one that was meant.

#include <string>
#include <string_view>

namespace signalbox {

/// The digest as 64 lower-case hexadecimal digits. Thread-safe.
std::string sha256_hex(std::string_view bytes);

}  // namespace signalbox
