#pragma once
// The calls that a plan leads to, for explanations. A request that is answered never needs them.

#include <string>

#include "base/json_writer.h"
#include "router/routing/plan.h"

namespace signalbox::routing {

/// Writes the member "calls" of an object if the plan calls several models: each call with its
/// step, model, purpose and, if it has one, its label. Calls of one step run side by side.
void write_calls(const Plan& plan, const config::Looper& looper, json::Writer& out);

/// The same for people: "\nCalls, if none fails (...): 1. a answer, b answer; 2. judge synthesise";
/// "" for one model.
std::string calls_words(const Plan& plan, const config::Looper& looper);

}  // namespace signalbox::routing
