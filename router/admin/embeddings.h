#pragma once
// Embeddings and similarities of texts: /api/v1/embeddings, /api/v1/similarity and /v1/embeddings,
// whose shape is OpenAI's.

#include "router/admin/classifiers.h"

namespace signalbox::admin {

/// The routes of the management listener, /v1/embeddings among them. `live` and `pool`, whose
/// threads run the model, outlive the routes.
std::vector<gateway::Route> embedding_routes(const serving::CurrentState& live,
                                             gateway::ThreadPool& pool);

/// /v1/embeddings of the data plane, with errors in OpenAI's shape. `state` and `pool` outlive it.
gateway::Route openai_embeddings_route(const serving::ServingState& state,
                                       gateway::ThreadPool& pool);

}  // namespace signalbox::admin
