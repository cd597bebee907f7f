#pragma once
// Digests, which verify that a fetched file is the expected one.

#include <string>
#include <string_view>

namespace signalbox {

/// Returns the digest as 64 lower-case hexadecimal digits. Thread-safe.
std::string sha256_hex(std::string_view bytes);

/// Returns the name that git gives to a file with this content, which is a SHA-1 of 40 lower-case
/// hexadecimal digits. Repositories state it for small files. Thread-safe.
std::string git_blob_hex(std::string_view bytes);

}  // namespace signalbox
