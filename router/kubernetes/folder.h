#pragma once
// Reads resources from the files of a folder, for setups without an API server: one resource per
// file, in YAML or JSON.

#include <filesystem>
#include <string>
#include <vector>

#include "router/kubernetes/resource.h"

namespace signalbox::kubernetes {

struct Found {
  std::vector<Resource> pools, routes;
};

/// Returns name and text of a folder's .yaml, .yml and .json files, sorted by name. Errors: kIo,
/// kTooLarge.
Result<std::vector<std::pair<std::string, std::string>>> read_texts(
    const std::filesystem::path& folder);

/// Ignores resources of other kinds. Errors: kInvalid naming the file.
Result<Found> read_resources(const std::vector<std::pair<std::string, std::string>>& texts);

}  // namespace signalbox::kubernetes
