// The conversation is read by MessagesContent; here are the model, the tools and the parameters.

#include <algorithm>
#include <array>

#include "router/dialects/anthropic.h"
#include "router/dialects/chat_messages.h"
#include "router/dialects/messages_content.h"

namespace signalbox::dialects {
namespace {

using json::Value;
using Names = std::span<const std::string_view>;

constexpr auto kMessagesMembers = std::to_array<std::string_view>(
    {"model", "messages", "system", "max_tokens", "stop_sequences", "stream", "metadata", "tools",
     "tool_choice", "thinking", "output_config", "output_format", "service_tier", "cache_control",
     "speed", "inference_geo"});

// Members without an equivalent in a chat completion.
constexpr auto kOnlyInMessages = std::to_array<std::string_view>(
    {"container", "mcp_servers", "context_management", "diagnostics", "user_profile_id",
     "workspace_id", "fallbacks"});

// Chat completion members that are either derived from other members here or give a reply that a
// message cannot express.
constexpr auto kChatsButNotMessages = std::to_array<std::string_view>(
    {"functions", "function_call", "stop", "user", "response_format", "reasoning_effort", "n",
     "parallel_tool_calls", "stream_options", "prediction", "modalities", "logprobs"});

// The least thinking tokens for these efforts; the API requires at least 1,024.
constexpr int64_t kMediumBudget = 4096;
constexpr int64_t kHighBudget = 16384;

class MessagesReader {
 public:
  Result<ParsedMessages> read(const Value& root);

 private:
  Result<void> write_tools(const Value& root);
  Result<void> write_tool(const Value& tool, const std::string& path, json::Writer& out);
  Result<void> write_tool_choice(const Value& root);
  Result<void> write_thinking(const Value& root);
  Result<void> write_output(const Value& root, std::string_view effort);
  Result<void> write_rest(const Value& root);

  std::vector<std::string_view> tools_;  // names
  json::Writer out_;
  Losses losses_;
  MessagesContent content_{losses_};
  bool thinking_ = false;
  std::optional<bool> reasoning_;
};

Result<void> MessagesReader::write_tool(const Value& tool, const std::string& path,
                                        json::Writer& out) {
  constexpr auto kMembers = std::to_array<std::string_view>(
      {"type", "name", "description", "input_schema", "cache_control", "eager_input_streaming",
       "defer_loading", "allowed_callers", "input_examples"});
  constexpr auto kDropped =
      std::to_array<std::string_view>({"defer_loading", "allowed_callers", "input_examples"});
  if (!tool.is_object()) return wrong_type(path, "an object", tool);
  SIGNALBOX_TRY(const std::string_view type, optional_text(tool, "type", path));
  if (!type.empty() && type != "custom") {
    losses_.drop_kind("tools", type, tool);
    return {};
  }
  drop_members(tool, kDropped, "tools", losses_);
  SIGNALBOX_TRY(const std::string_view name, text_member(tool, "name", path));
  const auto schema = tool.find("input_schema");
  if (!schema) return wrong(path + ".input_schema", "missing");
  if (!schema->is_object()) return wrong_type(path + ".input_schema", "an object", *schema);
  tools_.push_back(name);
  out.begin_object().member("type", "function").key("function").begin_object();
  out.member("name", name);
  if (const auto description = given(tool, "description"))
    out.key("description").raw(description->raw());
  out.key("parameters").raw(schema->raw());
  copy_unknown(tool, kMembers, out);
  out.end_object().end_object();
  return {};
}

Result<void> MessagesReader::write_tools(const Value& root) {
  const auto tools = given(root, "tools");
  if (!tools) return {};
  if (!tools->is_array()) return wrong_type("tools", "an array", *tools);
  json::Writer out;
  out.begin_array();
  size_t index = 0;
  for (const Value& tool : tools->items()) {
    SIGNALBOX_TRY_VOID(write_tool(tool, fmt::format("tools[{}]", index++), out));
  }
  out.end_array();
  if (!tools_.empty()) out_.key("tools").raw(out.take());
  return index > 0 ? write_tool_choice(root) : Result<void>{};
}

Result<void> MessagesReader::write_tool_choice(const Value& root) {
  const auto choice = given(root, "tool_choice");
  if (!choice) return {};
  SIGNALBOX_TRY(const std::string_view type, text_member(*choice, "type", "tool_choice"));
  json::Writer out;
  if (type == "tool") {
    SIGNALBOX_TRY(const std::string_view name, text_member(*choice, "name", "tool_choice"));
    if (!holds(tools_, name)) {
      losses_.refuse(no_equivalent("tool_choice.name"));
      return {};
    }
    out.begin_object().member("type", "function").key("function").begin_object();
    out.member("name", name).end_object().end_object();
  } else if (type == "any") {
    out.string("required");
  } else if (type == "auto" || type == "none") {
    out.string(type);
  } else {
    return wrong("tool_choice.type", "unknown (known: auto, any, tool, none)");
  }
  if (tools_.empty()) return {};
  out_.key("tool_choice").raw(out.take());
  const auto disabled = choice->find("disable_parallel_tool_use");
  if (disabled && disabled->is_bool() && disabled->boolean())
    out_.member("parallel_tool_calls", false);
  return {};
}

Result<void> MessagesReader::write_thinking(const Value& root) {
  std::string_view effort;
  if (const auto thinking = given(root, "thinking")) {
    SIGNALBOX_TRY(const std::string_view type, text_member(*thinking, "type", "thinking"));
    SIGNALBOX_TRY(const std::string_view display, optional_text(*thinking, "display", "thinking"));
    reasoning_ = type != "disabled";
    thinking_ = *reasoning_ && display != "omitted";
    if (type == "enabled") {
      const auto budget = thinking->find("budget_tokens");
      if (!budget) return wrong("thinking.budget_tokens", "missing");
      const auto tokens = budget->integer();
      if (!tokens) return wrong("thinking.budget_tokens", "expected an integer");
      effort = *tokens < kMediumBudget ? "low" : *tokens < kHighBudget ? "medium" : "high";
    }
  }
  return write_output(root, effort);
}

Result<void> MessagesReader::write_output(const Value& root, std::string_view effort) {
  constexpr auto kMembers = std::to_array<std::string_view>({"effort", "format"});
  auto format = given(root, "output_format");  // the member's name before output_config
  if (const auto config = given(root, "output_config")) {
    if (!config->is_object()) return wrong_type("output_config", "an object", *config);
    for (const json::Member& member : config->members()) {
      if (!holds(kMembers, member.key)) losses_.drop("output_config", member.value);
    }
    SIGNALBOX_TRY(const std::string_view requested_effort,
                  optional_text(*config, "effort", "output_config"));
    if (!requested_effort.empty())
      effort = requested_effort == "xhigh" || requested_effort == "max" ? "high" : requested_effort;
    if (const auto found = given(*config, "format")) format = found;
  }
  if (format) {
    const auto schema = format->find("schema");
    if (!schema) return wrong("output_config.format.schema", "missing");
    out_.key("response_format").begin_object().member("type", "json_schema");
    out_.key("json_schema").begin_object().member("name", "reply").member("strict", true);
    out_.key("schema").raw(schema->raw()).end_object().end_object();
  }
  if (!effort.empty()) out_.member("reasoning_effort", effort);
  return {};
}

Result<void> MessagesReader::write_rest(const Value& root) {
  if (const auto stop = given(root, "stop_sequences")) {
    if (!stop->is_array()) return wrong_type("stop_sequences", "an array", *stop);
    if (stop->items().begin() != stop->items().end()) out_.key("stop").raw(stop->raw());
  }
  if (const auto metadata = given(root, "metadata")) {
    if (!metadata->is_object()) return wrong_type("metadata", "an object", *metadata);
    SIGNALBOX_TRY(const std::string_view user, optional_text(*metadata, "user_id", "metadata"));
    if (!user.empty()) out_.member("user", user);
    constexpr auto kUser = std::to_array<std::string_view>({"user_id"});
    if (has_unknown(*metadata, kUser)) {
      out_.key("metadata").begin_object();
      copy_unknown(*metadata, kUser, out_);
      out_.end_object();
    }
  }
  SIGNALBOX_TRY(const std::string_view tier, optional_text(root, "service_tier", ""));
  if (!tier.empty()) out_.member("service_tier", tier == "standard_only" ? "default" : tier);
  SIGNALBOX_TRY(const std::string_view speed, optional_text(root, "speed", ""));
  if (!speed.empty() && speed != "standard") losses_.drop("speed");
  // Another server would ignore the place where the request must be processed.
  if (given(root, "inference_geo")) losses_.refuse(no_equivalent("inference_geo"));
  const auto stream = given(root, "stream");
  if (stream && !stream->is_bool()) return wrong_type("stream", "a boolean", *stream);
  if (stream && stream->boolean()) {
    out_.member("stream", true).key("stream_options").begin_object();
    out_.member("include_usage", true).end_object();
  }
  if (root.raw().find(R"("cache_control")") != std::string_view::npos)
    losses_.hint("cache_control");
  for (const json::Member& member : root.members()) {
    if (holds(kMessagesMembers, member.key)) continue;
    if (!holds(kOnlyInMessages, member.key) && !holds(kChatsButNotMessages, member.key)) {
      out_.key(member.key).raw(member.value.raw());
    } else if (!is_unset(member.value)) {
      losses_.drop(member.key, member.value);
    }
  }
  return {};
}

Result<ParsedMessages> MessagesReader::read(const Value& root) {
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  SIGNALBOX_TRY_VOID(refuse_repeats(root, kMessagesMembers, ""));
  SIGNALBOX_TRY(const std::string_view model, text_member(root, "model", ""));
  const auto tokens = root.find("max_tokens");
  if (!tokens) return wrong("max_tokens", "missing");
  if (!tokens->integer()) return wrong("max_tokens", "expected an integer");
  if (const auto system = given(root, "system")) SIGNALBOX_TRY_VOID(content_.add_system(*system));
  const auto messages = root.find("messages");
  if (!messages) return wrong("messages", "missing");
  if (!messages->is_array()) return wrong_type("messages", "an array", *messages);
  size_t index = 0;
  for (const Value& message : messages->items()) {
    SIGNALBOX_TRY_VOID(content_.add_message(message, fmt::format("messages[{}]", index++)));
  }
  out_.begin_object().member("model", model);
  out_.key("messages").begin_array().raw(content_.take()).end_array();
  out_.key("max_tokens").raw(tokens->raw());
  SIGNALBOX_TRY_VOID(write_tools(root));
  SIGNALBOX_TRY_VOID(write_thinking(root));
  SIGNALBOX_TRY_VOID(write_rest(root));
  return ParsedMessages{out_.end_object().take(), thinking_, reasoning_, std::move(losses_)};
}

}  // namespace

Result<ParsedMessages> read_messages(const json::Value& root) {
  return MessagesReader().read(root);
}

}  // namespace signalbox::dialects
