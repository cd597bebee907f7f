// Look-ups in a Config.

#include "router/config/config.h"

namespace signalbox::config {

const Model* Providers::find(std::string_view name) const {
  for (const Model& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace signalbox::config
