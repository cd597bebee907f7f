#pragma once
// Queries on the turns so far, which several algorithms use.

#include <span>
#include <string>
#include <vector>

#include "router/looper/looper.h"

namespace signalbox::looper {

/// The error of a run without an answer: why each call failed, by model. kDeadline or kOverloaded
/// if the last failure was one, otherwise kUpstream.
tl::unexpected<Error> failed(std::span<const Turn> turns);

/// The turns with a reply that is not empty.
std::vector<size_t> replied(std::span<const Turn> turns);

/// True if a call has failed. One that the budget or the next step dropped has not.
bool any_failed(std::span<const Turn> turns);

/// True if every turn is done.
bool all_done(std::span<const Turn> turns);

}  // namespace signalbox::looper
