#pragma once
// Opens the classifiers, guards and judges that are on servers.

#include "router/models/models.h"

namespace signalbox::models {

/// Adds the models on servers that the configuration's signals, plugins and modules call. Nothing
/// is called before the first request. A judge without a server is a notice.
Result<void> open_servers(const config::Config& config, Models& models);

}  // namespace signalbox::models
