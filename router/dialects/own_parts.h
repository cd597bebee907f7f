#pragma once
// Parts of earlier answers that the router made for a model of another API. A client returns them
// when its conversation goes on with a provider, which refuses what it has not made itself.

#include <string>
#include <string_view>

#include "base/json.h"

namespace signalbox::dialects {

/// True for an item of a responses request that is a warning of ours, or refers to one.
bool is_own_message(const json::Value& item);

/// False if a request surely has no such part.
bool may_have_own_parts(std::string_view body);

/// Returns the messages request without thoughts that have no signature, and without turns that
/// have nothing else; "" if it has none.
std::string without_own_thoughts(std::string_view body);

/// Returns the responses request without our items of reasoning, and with the ids of calls as their
/// servers wrote them, because OpenAI's accept only short ones; "" if nothing changes. An item
/// without an id counts as a server's.
std::string without_own_items(std::string_view body);

}  // namespace signalbox::dialects
