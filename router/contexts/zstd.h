#pragma once
// Zstandard compression, for contexts that are not in use.

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::contexts {

/// `level` lies between 1 (fast) and 19 (small). Thread-safe.
std::string compress(std::string_view text, int level);

/// Unpacks exactly `size` bytes and allocates no more. Errors: kCorrupt. Thread-safe.
Result<std::string> decompress(std::string_view packed, size_t size);

}  // namespace signalbox::contexts
