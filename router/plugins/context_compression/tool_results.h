#pragma once
// The results of tools in a request.

#include <optional>
#include <vector>

#include "base/json.h"
#include "router/request/native_request.h"

namespace signalbox::plugins {

/// Returns the texts of the tools' results before the user's last message: strings, in the order of
/// the request. `api` is nullopt for a chat completion. Parts of a result that are not text, such
/// as images, are left out.
std::vector<json::Value> find_earlier_results(const json::Value& root,
                                              std::optional<request::Api> api);

}  // namespace signalbox::plugins
