#pragma once
// Embeddings and similarities of texts: /api/v1/embeddings, /api/v1/similarity and /v1/embeddings,
// whose shape is OpenAI's.

#include "router/api/classifiers.h"

namespace signalbox::api {

/// The routes of the management listener, /v1/embeddings among them. `live` and `pool`, whose
/// threads run the model, outlive the routes.
std::vector<Route> embedding_routes(const router::Live& live, Compute& pool);

/// /v1/embeddings of the data plane, with errors in OpenAI's shape. `state` and `pool` outlive it.
Route openai_embeddings_route(const router::State& state, Compute& pool);

}  // namespace signalbox::api
