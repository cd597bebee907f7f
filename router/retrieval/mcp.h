#pragma once
// The messages of the Model Context Protocol that a call of a tool takes: JSON-RPC over its
// "streamable HTTP" transport, as the protocol's specification of 2025-06-18 describes it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::retrieval::mcp {

/// The version that is offered. The server may choose another one that is_known().
inline constexpr std::string_view kVersion = "2025-06-18";
inline constexpr std::string_view kAccepted = "application/json, text/event-stream";

bool is_known(std::string_view version);

/// Each returns the body of a POST. `arguments` is a JSON object.
std::string write_initialize(int64_t id);
std::string write_initialized();
std::string write_call(int64_t id, std::string_view tool, std::string_view arguments);

/// Returns the response to the request `id`: the body itself, or one of the events of a body of the
/// type text/event-stream, which may contain the server's own messages, too. Errors, which contain
/// nothing of the body: kUpstream, for a body without the response; kTooLarge.
Result<json::Document> read_response(std::string_view content_type, std::string body, int64_t id);

/// Returns the version that the server chose. Errors: kUpstream, for an error of the server or a
/// version that is not known.
Result<std::string> read_initialize(const json::Document& response);
/// Returns the texts of the tool's result without repetitions and empty texts, at most `most`.
/// Errors: kUpstream, for an error of the server or of the tool, or another form.
Result<std::vector<std::string>> read_call(const json::Document& response, size_t most);

}  // namespace signalbox::retrieval::mcp
