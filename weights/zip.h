#pragma once
// Reads the directory of a zip file with uncompressed entries, as written by torch.save. PKWARE's
// APPNOTE, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16, 4.5.3.

#include <map>
#include <span>
#include <string_view>

#include "base/error.h"

namespace signalbox::weights {

/// Returns the entries by name, each with its bytes in the file, which must outlive the result.
/// Errors: kCorrupt with the contradiction; kUnsupported for compressed or encrypted entries and
/// multi-part archives; kTooLarge above 262,144 entries.
Result<std::map<std::string_view, std::span<const std::byte>>> read_zip(
    std::span<const std::byte> file);

}  // namespace signalbox::weights
