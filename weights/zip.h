#pragma once
// The directory of a zip file whose entries are stored, not compressed, as torch.save writes them:
// PKWARE's APPNOTE, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16, 4.5.3.

#include <map>
#include <span>
#include <string_view>

#include "base/error.h"

namespace signalbox::weights {

/// Entries by name, each with its bytes inside the file, which must outlive the result. Errors:
/// kCorrupt with what contradicts what; kUnsupported for compressed or encrypted entries and for
/// archives in several files; kTooLarge over 262,144 entries.
Result<std::map<std::string_view, std::span<const std::byte>>> read_zip(
    std::span<const std::byte> file);

}  // namespace signalbox::weights
