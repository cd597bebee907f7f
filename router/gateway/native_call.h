#pragma once
// Calls of a message or a response to servers that have the client's API: shadows, and those of
// algorithms. The server gets the client's bytes with the plan's edits.

#include <string>

#include "router/gateway/read_request.h"
#include "router/looper/looper.h"
#include "router/routing/plan.h"

namespace signalbox::gateway {

/// True if the calls of the plan's algorithm that may answer the client go out in the client's API:
/// all its models speak it, and their replies are used as they come. The cache has no place for
/// such answers, the history of tools is stripped from chats alone, and a request that only one
/// server knows all of must not go to several.
bool keeps_api(const config::Providers& providers, const ParsedRequest& request,
               const routing::Plan& plan);

/// Changes the body of a native plan for one call, whose reply comes whole unless `streams`. A
/// server keeps nothing of it unless `is_stored`. kInvalid if the body is not JSON.
Result<std::string> write_native_call(std::string body, request::Api api, bool streams,
                                      bool is_stored);

/// Reads a whole reply with status 200. `body` of the result is the reply. kUpstream if it is not a
/// message, or not a response that is completed or incomplete.
Result<looper::Reply> read_native_reply(std::string body, request::Api api);

}  // namespace signalbox::gateway
