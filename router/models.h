#pragma once
// The models that signals run.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "router/config/config.h"

namespace signalbox::router {

/// Any may be absent; signals that need one are then unavailable.
struct Models {
  std::unique_ptr<const engine::TextEmbedder> embedder = {};
  /// By the directory that the configuration names.
  std::map<std::string, std::unique_ptr<const engine::TextModel>, std::less<>> classifiers = {};
};

/// Whether some signal of the routing compares meanings.
bool needs_embedder(const config::Routing& routing);

/// The directories of the classifiers that signals of the routing ask for; each once.
std::vector<std::string> classifier_directories(const config::Config& config,
                                                const config::Routing& routing);

using OpenModels = std::function<Result<Models>(const config::Config& config)>;

/// Opens what the configuration's signals need. A classifier's directory that is not there is left
/// out, and the router says so; the embedding model has to be there. Errors are
/// engine::TextModel's.
Result<Models> open_models(const config::Config& config);

}  // namespace signalbox::router
