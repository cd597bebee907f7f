#pragma once
// The last lines of an audit log, for people who look at them.

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace signalbox::audit {

/// Returns at most `count` of the newest entries of a file, the newest first, as their lines have
/// them. It reads at most the last MiB, leaves out what is not an entry, and does not check the
/// chain. Errors: kNotFound, kIo.
Result<std::vector<std::string>> newest_lines(const std::filesystem::path& file, size_t count);

}  // namespace signalbox::audit
