#pragma once
// Zstandard, for contexts that nobody uses at the moment.

#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::contexts {

/// `level` 1 (fast) to 19 (small). Thread-safe.
std::string compress(std::string_view text, int level);

/// Exactly `size` bytes, which is all that is allocated. Errors: kCorrupt. Thread-safe.
Result<std::string> decompress(std::string_view packed, size_t size);

}  // namespace signalbox::contexts
