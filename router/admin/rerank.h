#pragma once
// Documents in the order of their relevance to a query: /v1/rerank in the form of Cohere's and
// Jina's APIs, and /rerank in that of Text Embeddings Inference.

#include "router/admin/classifiers.h"

namespace signalbox::admin {

/// The routes of the management listener. `current` and `pool`, whose threads run the model, must
/// outlive them.
std::vector<http::Route> rerank_routes(const serving::CurrentState& current,
                                       http::ThreadPool& pool);

/// The routes of the data plane, with errors in OpenAI's format. `state` and `pool` must outlive
/// them.
std::vector<http::Route> client_rerank_routes(const serving::ServingState& state,
                                              http::ThreadPool& pool);

}  // namespace signalbox::admin
