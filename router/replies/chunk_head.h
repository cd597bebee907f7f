#pragma once
// The members of a stream's chunks that inserted chunks repeat, so that they belong to the stream.

#include <string>

#include "base/json.h"

namespace signalbox::replies {

/// Returns "{" and the members that identify the stream of this chunk, each followed by a comma; a
/// few kilobytes at most.
std::string chunk_head(const json::Value& chunk);

}  // namespace signalbox::replies
