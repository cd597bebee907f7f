#pragma once
// Embeddings and similarities of texts: /api/v1/embeddings, /api/v1/similarity, and OpenAI's
// /v1/embeddings.

#include "router/admin/client_handler.h"

namespace signalbox::admin {

/// The routes of the management listener, including /v1/embeddings. `current` and `pool`, whose
/// threads run the model, must outlive the routes.
std::vector<http::Route> embedding_routes(const serving::CurrentState& current,
                                          http::ThreadPool& pool);

/// /v1/embeddings of the data plane.
OrFailure<std::string> embed_for_client(const http::Request& request,
                                        const serving::ServingState& state,
                                        const engine::Patience& patience);

}  // namespace signalbox::admin
