#pragma once
// Replies of the router's own models to clients, with errors in OpenAI's format.

#include "router/admin/classifiers.h"

namespace signalbox::admin {

/// Returns a JSON body. It runs on the thread pool. `patience` stops the models when the client
/// leaves.
using ClientHandler = OrFailure<std::string> (*)(const http::Request& request,
                                                 const serving::ServingState& state,
                                                 const engine::Patience& patience);

/// Runs the handler on the pool and answers with these headers; it stops the models if the client
/// leaves. `state` and `pool` must outlive it.
http::Task<> send_answer(http::Exchange exchange, http::Headers fields,
                         const serving::ServingState& state, http::ThreadPool& pool,
                         ClientHandler handler);

/// The same reply on the management listener.
AdminReply answer_client(const http::Request& request, const serving::ServingState& state,
                         ClientHandler handler);

}  // namespace signalbox::admin
