#pragma once
// The plugin rag: adds the documents that were found for a request to it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/config/plugins.h"
#include "router/splice/edit.h"

namespace signalbox::plugins {

enum class RagOutcome : uint8_t {
  kUnused,   // the plugin does not apply to the request
  kAdded,    // documents were found
  kNothing,  // no document is similar enough
  kFailed,   // the search failed
};
/// "added", "nothing", "failed"; "" for kUnused.
std::string_view name_of(RagOutcome outcome);

/// The documents for a request, as the model gets them.
struct FoundDocuments {
  RagOutcome outcome = RagOutcome::kUnused;
  uint32_t count = 0;
  std::string text;  // "" unless kAdded
};

/// Joins the documents and cuts the result to the plugin's `max_context_length` characters.
std::string join_documents(const config::RagPlugin& plugin, std::span<const std::string> documents);

/// Adds the text as the result of a tool that an assistant has called, after the last message of
/// the user. Returns false, and adds nothing, if there is no such message. Precondition: `messages`
/// is the array of a parsed ChatRequest.
bool add_as_tool_result(std::string_view text, json::Value messages,
                        std::vector<splice::Edit>& edits);

/// Stands before the documents in a system prompt.
inline constexpr std::string_view kDocumentsTitle = "Context from knowledge base:\n\n";

}  // namespace signalbox::plugins
