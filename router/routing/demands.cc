// The size of the prompt, the greatest length of the reply, and the abilities that a request needs.

#include "router/routing/demands.h"

#include <algorithm>

#include "base/json_find.h"

namespace signalbox::routing {
namespace {

uint64_t count_of(const std::optional<json::Value>& found) {
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
  const auto [tokens, completion_tokens, effort] = json::find_each(
      request.document.root(), "max_tokens", "max_completion_tokens", "reasoning_effort");
  out.reply_tokens = std::max(count_of(tokens), count_of(completion_tokens));
  out.tools = request.tools > 0 && request.tool_choice != request::ToolChoice::kNone;
  out.reasoning =
      effort && effort->is_string() && effort->text() != "none" && effort->text() != "minimal";
  return out;
}

}  // namespace signalbox::routing
