#pragma once
// The models of a manifest, and other repositories that were pulled, as text: `signalbox models
// list`.

#include <filesystem>
#include <string>

#include "weights/manifest.h"

namespace signalbox::tools {

/// Two lines a model: name, whether it is installed below `models`, purpose, size, licence; then
/// its summary.
std::string models_as_table(const weights::Manifest& manifest, const std::filesystem::path& models);

/// One JSON object a line with all that the manifest states.
std::string models_as_json(const weights::Manifest& manifest, const std::filesystem::path& models);

}  // namespace signalbox::tools
