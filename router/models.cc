// Which models a configuration's signals ask for, and where they lie.

#include "router/models.h"

#include <algorithm>
#include <filesystem>

namespace signalbox::router {

bool needs_embedder(const config::Routing& routing) {
  return !routing.embeddings.empty();
}

std::vector<std::string> classifier_directories(const config::Config&, const config::Routing&) {
  return {};
}

Result<Models> open_models(const config::Config& config) {
  Models models;
  if (needs_embedder(config.routing)) {
    SIGNALBOX_TRY(models.embedder, engine::TextModel::open(config.embedding_model.path));
  }
  for (const std::string& directory : classifier_directories(config, config.routing)) {
    std::error_code ignored;
    if (!std::filesystem::exists(directory, ignored)) continue;
    SIGNALBOX_TRY(auto model, engine::TextModel::open(directory));
    models.classifiers.emplace(directory, std::move(model));
  }
  return models;
}

}  // namespace signalbox::router
