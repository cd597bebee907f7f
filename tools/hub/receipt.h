#pragma once
// pulled.json, the receipt beside the files of a repository. It contains their version, sizes and
// SHA-256, and later pulls compare the files with it. So a file without a published digest is
// trusted on first use, and any later change is noticed.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/hub/repository.h"

namespace signalbox::tools {

inline constexpr const char* kReceiptName = "pulled.json";

struct PullReceipt {
  std::string id;      // "OWNER/NAME"
  std::string commit;  // "": unknown, from a mirror
  /// The installed files, with size and SHA-256.
  std::vector<RepositoryFile> files;
  /// The files that were fetched and converted, with size and SHA-256.
  std::vector<RepositoryFile> converted_from = {};
  /// Paths of `files` and `converted_from` whose digest the hub or the mirror's receipt stated; the
  /// digests of the others were taken on first use.
  std::vector<std::string> checked = {};

  const RepositoryFile* find(std::string_view path) const;
};

/// Reads the text of a receipt. kCorrupt names the member; paths are checked with is_safe_path(),
/// and digests have 64 hexadecimal digits.
Result<PullReceipt> parse_receipt(std::string text);
std::string receipt_text(const PullReceipt& receipt);

/// Returns nullopt if the directory has no receipt. The errors are those of parse_receipt(), with
/// the name of the file.
Result<std::optional<PullReceipt>> read_receipt(const std::filesystem::path& directory);

Result<void> write_receipt(const std::filesystem::path& directory, const PullReceipt& receipt);

/// Returns the errors of the recorded files that are missing or differ, without those of digests if
/// `sizes_only`.
std::vector<std::string> find_damage(const std::filesystem::path& directory,
                                     const PullReceipt& receipt, bool sizes_only);

}  // namespace signalbox::tools
