#pragma once
// Where a head that is fitted comes to lie: config.json and model.safetensors in a folder of their
// own.

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/fit/fit.h"
#include "tools/fit/softmax_regression.h"

namespace signalbox::tools {

/// Whether a fit has written the head in this directory, as its configuration says.
bool was_fitted(const std::filesystem::path& head);

/// Whether a head may be written to options.out, before hours go into it. Errors name the folder:
/// kInvalid where a model, an adapter or a head that was not fitted stands, or no folder can; kIo
/// where nothing may be written.
Result<void> check_out(const FitOptions& options);

/// Writes it. `architecture` is what reads its classes, `labels` (layer.classes) are their names.
Result<void> write_head(const FitOptions& options, const char* architecture,
                        const std::vector<std::string>& labels, const LinearClassifier& layer);

}  // namespace signalbox::tools
