#pragma once
// The body of one call: the request as it would go to that model alone, with the algorithm's
// changes.

#include <string>
#include <string_view>

#include "router/looper/flow.h"

namespace signalbox::looper {

/// Changes `body`, a chat completion request, as the call wants it. `streams`: the reply is
/// streamed to the client as the request has it; otherwise it comes whole. Every call requests one
/// choice. `limit` is the name of the member that bounds a reply if the request has none:
/// max_tokens or max_completion_tokens. The call gets only those messages of `flow` that belong to
/// its own turn. kInvalid if the body is not JSON.
Result<std::string> write_call(std::string body, const Call& call, bool streams,
                               std::string_view limit, const FlowTurn& flow = {});

}  // namespace signalbox::looper
