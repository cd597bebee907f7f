#pragma once
// Parts of the state of a workflow that waits for tools, and their sizes.

#include <span>
#include <string>
#include <vector>

#include "router/looper/flow.h"
#include "router/request/chat_request.h"
#include "router/routing/plan.h"

namespace signalbox::gateway {

/// The digest of the user's messages and the masks. The tools of a workflow add neither to these
/// messages nor to the first masks, so that its later requests have the same one.
std::string conversation_of(const request::ChatRequest& request, std::span<const pii::Mask> masks);

size_t bytes_of(std::span<const looper::PastTurn> past);

/// The bytes of the replies that a state keeps. Those that wait for tools are made again.
size_t kept_bytes(std::span<const looper::Turn> turns, const std::vector<size_t>& waiting);

}  // namespace signalbox::gateway
