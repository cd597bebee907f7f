#pragma once
// SHA-256, which verifies that a fetched file is the expected one.

#include <string>
#include <string_view>

namespace signalbox {

/// Returns the digest as 64 lower-case hexadecimal digits. Thread-safe.
std::string sha256_hex(std::string_view bytes);

}  // namespace signalbox
