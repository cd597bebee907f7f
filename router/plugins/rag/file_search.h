#pragma once
// The plugin rag with `workflow_mode: tool_based`: the model searches, and the router does not.

#include <string>

#include "router/config/plugins.h"

namespace signalbox::plugins {

/// True if the model gets a tool in place of documents.
bool offers_file_search(const config::RagPlugin& plugin);

/// Adds the tool `file_search` of OpenAI's responses API to a request of that API, with the
/// plugin's store. A client's own tool of that type gives way to it.
std::string offer_file_search(std::string body, const config::RagPlugin& plugin);

}  // namespace signalbox::plugins
