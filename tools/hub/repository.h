#pragma once
// A model repository of the Hugging Face hub: its name, and the list of its files as the hub's
// metadata states it (GET /api/models/NAME/revision/REVISION?blobs=true).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::tools {

inline constexpr std::string_view kHubPrefix = "hf:";

/// "hf:OWNER/NAME@REVISION". Some old repositories have no owner. Both parts consist of letters,
/// digits, '.', '_' and '-', so they are safe as folders and in URLs.
struct RepositoryName {
  std::string id;        // "OWNER/NAME"
  std::string revision;  // a branch, tag or commit; "": the default branch

  /// The part after the owner, under which the repository is installed.
  std::string name() const;
  /// "hf:OWNER/NAME@REVISION", as the user would type it.
  std::string text() const;
  bool operator==(const RepositoryName&) const = default;
};

/// Parses the name of a repository with or without "hf:". kInvalid with the value and the expected
/// form.
Result<RepositoryName> parse_repository_name(std::string_view text);

/// True for 40 hexadecimal digits, which name a version that cannot change.
bool is_commit(std::string_view revision);

/// True for a text of so many lower-case hexadecimal digits.
bool is_hex(std::string_view text, size_t digits);

struct RepositoryFile {
  std::string path;  // relative, with '/'; never leaves the repository's folder
  uint64_t bytes = 0;
  std::string sha256;   // of large files; "": not stated
  std::string git_sha;  // of small files (base/sha256.h: git_blob_hex); "": not stated
};

struct Repository {
  std::string id;       // current name; a renamed repository answers to its old name, too
  std::string commit;   // 40 hexadecimal digits; "": unknown, which only a mirror may be
  std::string licence;  // as the repository's card states it; "": not stated
  std::vector<RepositoryFile> files;

  const RepositoryFile* find(std::string_view path) const;
};

inline constexpr size_t kMetadataBytesMax = size_t{32} << 20;

/// Reads the hub's metadata. Errors start with `name`: kCorrupt for JSON of another shape, for a
/// malformed digest or size, for a file that is listed twice, and for a path that could leave
/// the repository's folder; kTooLarge over 32 MB or 20,000 files.
Result<Repository> read_repository(std::string json, std::string_view name);

/// Returns true if a path of a repository is safe to create below a folder: relative, without empty
/// parts, "." and "..", backslashes and control characters.
bool is_safe_path(std::string_view path);

}  // namespace signalbox::tools
