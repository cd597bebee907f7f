#pragma once
// What a piece of JSON says to a model that is shown it: guards look at tools and calls of tools as
// text, and nothing hides in their structure.

#include <string>

#include "base/json.h"

namespace signalbox::router {

/// Appends every text within the value to `out`, each on a line of its own, and every key that is
/// more than an identifier. A text that is JSON itself, as the arguments of a call are, is opened
/// once. Left out: identifiers under `id` and `type`.
void append_words(const json::Value& value, std::string& out);

}  // namespace signalbox::router
