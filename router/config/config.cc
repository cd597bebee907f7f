// Look-ups in a Config.

#include "router/config/config.h"

namespace signalbox::config {

const Model* Providers::find(std::string_view name) const {
  for (const Model& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

bool follows_kubernetes(const Config& config) {
  return config.router.config_source == "kubernetes";
}

std::vector<const Routing*> routings_of(const Config& config) {
  std::vector<const Routing*> out{&config.routing};
  for (const Recipe& recipe : config.recipes) out.push_back(&recipe.routing);
  return out;
}

}  // namespace signalbox::config
