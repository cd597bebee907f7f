#pragma once
// The folder of a fitted head, which contains config.json and model.safetensors.

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/fit/fit.h"
#include "tools/fit/softmax_regression.h"

namespace signalbox::tools {

/// Returns true if a fit wrote the head in this directory, according to its configuration.
bool is_fitted_head(const std::filesystem::path& head);

/// Checks that a head can be written to options.out, before hours of work go into it. Errors name
/// the folder: kInvalid if it contains a model, an adapter or a head that was not fitted, or cannot
/// be a folder; kIo if it is not writable.
Result<void> check_output(const FitOptions& options);

/// Writes the head. `architecture` is the engine's name for its kind; `labels` (layer.classes) are
/// the class names.
Result<void> write_head(const FitOptions& options, const char* architecture,
                        const std::vector<std::string>& labels, const LinearClassifier& layer);

}  // namespace signalbox::tools
