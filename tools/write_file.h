#pragma once
// Files that are there whole or not at all.

#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace signalbox::tools {

/// Writes beside `path` and renames, and makes the folders on the way. After an error, kIo naming
/// the path, the file is what it was.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace signalbox::tools
