#pragma once
// An embedder with fewer layers or numbers than its model has, as the configuration states.

#include <memory>
#include <string>

#include "engine/engine.h"
#include "router/config/catalog.h"

namespace signalbox::models {

/// Returns target_layer and target_dimension as options for the model; a value that the model does
/// not reach is 0, which means all.
engine::EmbedOptions embed_options(const config::EmbeddingModel& config,
                                   const engine::TextModel& model);

/// Returns the model itself if the configuration selects all layers and numbers.
std::shared_ptr<const engine::TextEmbedder> shape_embedder(
    const config::EmbeddingModel& config, std::shared_ptr<const engine::TextModel> model);

/// Names the space of a model's embeddings of `dim` numbers. Vectors of different spaces do not
/// compare.
std::string space_of(const config::EmbeddingModel& config, size_t dim);

}  // namespace signalbox::models
