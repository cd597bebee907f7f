#pragma once
// What chunks of our own repeat of a stream's, so that they belong to it.

#include <string>

#include "base/json.h"

namespace signalbox::replies {

/// "{" and the members that identify the stream of this chunk, each with a comma behind it; a few
/// kilobytes at most.
std::string chunk_head(const json::Value& chunk);

}  // namespace signalbox::replies
