// The size of the prompt, the greatest length of the reply, and the abilities that a request needs.

#include "router/routing/demands.h"

#include <algorithm>

namespace signalbox::routing {
namespace {

uint64_t count_at(const json::Value& root, std::string_view key) {
  const auto found = root.find(key);
  const auto value = found ? found->integer() : Result<int64_t>(0);
  return value && *value > 0 ? static_cast<uint64_t>(*value) : 0;
}

}  // namespace

selection::Demands demands_of(const request::ChatRequest& request) {
  selection::Demands out;
  out.prompt_bytes = request.tools_bytes;
  for (const request::ChatMessage& message : request.messages) {
    out.prompt_bytes += message.text.size();
    out.images = out.images || message.images > 0;
  }
  const json::Value root = request.document.root();
  out.reply_tokens =
      std::max(count_at(root, "max_tokens"), count_at(root, "max_completion_tokens"));
  out.tools = request.tools > 0 && request.tool_choice != request::ToolChoice::kNone;
  const auto effort = root.find("reasoning_effort");
  out.reasoning =
      effort && effort->is_string() && effort->text() != "none" && effort->text() != "minimal";
  return out;
}

}  // namespace signalbox::routing
