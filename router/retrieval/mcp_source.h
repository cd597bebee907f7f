#pragma once
// Documents that a tool of an MCP server finds.

#include <memory>
#include <string>

#include "router/retrieval/formats.h"
#include "router/retrieval/server_retriever.h"

namespace signalbox::retrieval {

/// Calls `tool` of the server. The request template of `search` is the tool's arguments as JSON.
std::unique_ptr<const Source> make_mcp_source(Server server, std::string tool, Search search);

}  // namespace signalbox::retrieval
