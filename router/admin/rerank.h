#pragma once
// Documents in the order of their relevance to a query: /v1/rerank in the form of Cohere's and
// Jina's APIs, and /rerank in that of Text Embeddings Inference.

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "router/admin/client_handler.h"

namespace signalbox::admin {

/// The routes of the management listener. `current` and `pool`, whose threads run the model, must
/// outlive them.
std::vector<http::Route> rerank_routes(const serving::CurrentState& current,
                                       http::ThreadPool& pool);

/// The paths of both forms, with their handlers for clients.
std::span<const std::pair<std::string_view, ClientHandler>> rerank_handlers();

}  // namespace signalbox::admin
