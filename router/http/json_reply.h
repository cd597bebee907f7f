#pragma once
// Replies with JSON, for handlers that compute their body in one go.

#include <functional>
#include <string>
#include <string_view>

#include "router/http/server.h"
#include "router/http/thread_pool.h"

namespace signalbox::http {

/// Sends 200 with a JSON body, or the error. Abandons the reply if the error is kCancelled, because
/// the client has gone. `not_found` is OpenAI's error.code for kNotFound; "": null.
Task<> send_json(Exchange& exchange, Result<std::string> body, std::string_view not_found = {});

/// Runs `work` on the pool and sends its result with send_json(). Skips the work if the client
/// leaves or the time is up before it begins. A full pool is an error of kOverloaded.
Task<> send_json_from(ThreadPool& pool, Share share, Exchange& exchange,
                      std::function<Result<std::string>()> work, std::string_view not_found = {});

}  // namespace signalbox::http
