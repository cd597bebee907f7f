#pragma once
// Joins the names of models in configurations with the place where `signalbox models pull` puts
// them. Uses the built-in manifest.

#include <string>

namespace signalbox::weights {

/// Returns where the model that a configuration names lies. This is `directory` itself if it
/// exists. Otherwise it is searched next to it and in models/, under its own name and under the
/// name that the manifest gives to it: for "models/mom-halugate-detector" also in
/// "models/lettucedect-base-modernbert-en-v1". Returns `directory` if there is no such model.
std::string installed_directory(const std::string& directory);

/// Returns the command that fetches the model, so that installed_directory() finds it:
/// "signalbox models pull hf:OWNER/NAME --to DIR"; "" if the manifest does not have it.
std::string pull_command(const std::string& directory);

}  // namespace signalbox::weights
