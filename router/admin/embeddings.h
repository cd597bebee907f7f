#pragma once
// Embeddings and similarities of texts: /api/v1/embeddings, /api/v1/similarity, and OpenAI's
// /v1/embeddings.

#include "router/admin/classifiers.h"

namespace signalbox::admin {

/// The routes of the management listener, including /v1/embeddings. `current` and `pool`, whose
/// threads run the model, must outlive the routes.
std::vector<http::Route> embedding_routes(const serving::CurrentState& current,
                                          http::ThreadPool& pool);

/// /v1/embeddings of the data plane, with errors in OpenAI's format. `state` and `pool` must
/// outlive it.
http::Route openai_embeddings_route(const serving::ServingState& state, http::ThreadPool& pool);

}  // namespace signalbox::admin
