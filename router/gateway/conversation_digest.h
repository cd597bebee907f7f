#pragma once
// The identity of a conversation, for the states of workflows.

#include <span>
#include <string>

#include "router/request/chat_request.h"
#include "router/routing/plan.h"

namespace signalbox::gateway {

/// The digest of the user's messages and the masks. The tools of a workflow add neither to these
/// messages nor to the first masks, so all requests of a workflow have the same digest.
std::string conversation_of(const request::ChatRequest& request, std::span<const pii::Mask> masks);

}  // namespace signalbox::gateway
