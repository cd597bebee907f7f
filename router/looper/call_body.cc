// The edits are a second pass over the bytes that the planner wrote, because a prompt replaces the
// messages that plugins may have edited.

#include "router/looper/call_body.h"

#include <algorithm>

#include "base/json_writer.h"
#include "router/splice/object_editor.h"

namespace signalbox::looper {
namespace {

// Alternatives of a token that a margin needs.
constexpr const char* kAlternatives = "2";

bool is_kept(const json::Value& message, const Call& call, const FlowTurn& flow) {
  if (is_of_flow(message, flow.flow)) return false;
  if (!call.prompt) return true;
  const auto role = message.find("role");
  if (!call.keeps_system || !role || !role->is_string()) return false;
  return role->text() == "system" || role->text() == "developer";
}

void replace_messages(const json::Value& root, const Call& call, const FlowTurn& flow,
                      splice::ObjectEditor& body) {
  json::Writer out;
  out.begin_array();
  const auto messages = root.find("messages");
  if (messages) {
    for (const json::Value& message : messages->items()) {
      if (is_kept(message, call, flow)) out.raw(message.raw());
    }
  }
  if (call.prompt)
    out.begin_object().member("role", "user").member("content", *call.prompt).end_object();
  if (messages && flow.turn) write_tool_messages(*messages, flow.flow, *flow.turn, out);
  body.set("messages", out.end_array().take());
}

// The lower limit applies. A value that is not a positive number counts as no limit.
void limit_reply(const json::Value& root, uint32_t tokens, std::string_view member,
                 splice::ObjectEditor& body) {
  bool is_set = false;
  for (const std::string_view name : {"max_tokens", "max_completion_tokens"}) {
    const auto found = root.find(name);
    if (!found) continue;
    is_set = true;
    const auto value = found->integer();
    if (!value || *value <= 0 || *value > tokens) body.set(name, std::to_string(tokens));
  }
  if (!is_set) body.set(member, std::to_string(tokens));
}

}  // namespace

Result<std::string> write_call(std::string body, const Call& call, bool streams,
                               std::string_view limit, const FlowTurn& flow) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(body)));
  const json::Value root = document.root();
  splice::ObjectEditor edited(root);
  if (call.prompt || !flow.flow.empty()) replace_messages(root, call, flow, edited);
  if (!streams) {
    edited.remove("stream");
    edited.remove("stream_options");
  }
  edited.remove("n");
  if (!call.is_stored) edited.remove("store");
  if (call.needs_logprobs) {
    edited.set("logprobs", "true");
    edited.set("top_logprobs", kAlternatives);
  }
  if (call.temperature) edited.set("temperature", json::Writer().number(*call.temperature).take());
  if (call.max_tokens > 0) limit_reply(root, call.max_tokens, limit, edited);
  if (!call.offers_tools) {
    for (const char* name :
         {"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call"})
      edited.remove(name);
  }
  // The client's response format is for the answer only.
  if (call.purpose != Purpose::kAnswer && call.purpose != Purpose::kSynthesise)
    edited.remove("response_format");
  std::vector<splice::Edit> edits;
  edited.finish(edits);
  return splice::apply(document.source(), std::move(edits));
}

}  // namespace signalbox::looper
