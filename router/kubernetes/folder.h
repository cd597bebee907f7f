#pragma once
// Resources as files of a folder, for who has no API server: one a file, in YAML or JSON.

#include <filesystem>
#include <string>
#include <vector>

#include "router/kubernetes/resource.h"

namespace signalbox::kubernetes {

struct Found {
  std::vector<Resource> pools, routes;
};

/// The texts of a folder's .yaml, .yml and .json files, by name, joined: what changes when one of
/// them does. Errors: kIo, kTooLarge.
Result<std::vector<std::pair<std::string, std::string>>> read_texts(
    const std::filesystem::path& folder);

/// Resources of other kinds are passed over. Errors: kInvalid naming the file.
Result<Found> read_resources(const std::vector<std::pair<std::string, std::string>>& texts);

}  // namespace signalbox::kubernetes
