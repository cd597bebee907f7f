#pragma once
// Routes of the data plane that the router's own models answer, with errors in OpenAI's format.

#include "router/admin/classifiers.h"

namespace signalbox::admin {

/// Returns a JSON body. It runs on the thread pool and passes `patience` to the models.
using ClientHandler = OrFailure<std::string> (*)(const http::Request& request,
                                                 const serving::ServingState& state,
                                                 const engine::Patience& patience);

/// A POST route for clients; it stops the models if the client leaves. `state` and `pool`, whose
/// threads run the models, must outlive it.
http::Route client_route(std::string path, const serving::ServingState& state,
                         http::ThreadPool& pool, ClientHandler handler);

/// The same reply on the management listener.
AdminReply answer_client(const http::Request& request, const serving::ServingState& state,
                         ClientHandler handler);

}  // namespace signalbox::admin
