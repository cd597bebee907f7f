// The input is read by ResponsesInput; here are the model, the tools and the parameters.

#include <algorithm>
#include <array>

#include "router/dialects/chat_messages.h"
#include "router/dialects/custom_tools.h"
#include "router/dialects/responses.h"
#include "router/dialects/responses_input.h"

namespace signalbox::dialects {
namespace {

using json::Value;
using Names = std::span<const std::string_view>;

constexpr auto kResponsesMembers = std::to_array<std::string_view>({"model",
                                                                    "input",
                                                                    "instructions",
                                                                    "previous_response_id",
                                                                    "store",
                                                                    "stream",
                                                                    "tools",
                                                                    "tool_choice",
                                                                    "max_output_tokens",
                                                                    "reasoning",
                                                                    "text",
                                                                    "include",
                                                                    "truncation",
                                                                    "background",
                                                                    "conversation",
                                                                    "prompt",
                                                                    "stream_options",
                                                                    "max_tool_calls",
                                                                    "context_management",
                                                                    "moderation",
                                                                    "prompt_cache_options",
                                                                    "top_logprobs",
                                                                    "client_metadata",
                                                                    "parallel_tool_calls"});

// The listener limits the size of a request; this limits the conversation that it continues.
constexpr size_t kConversationBytesMax = size_t{1} << 26;

// Members that hold a part of the prompt, which only the provider has.
constexpr auto kHeldByProvider = std::to_array<std::string_view>({"conversation", "prompt"});

// Members without an equivalent in a chat completion. False, null and an empty list do not use
// them.
constexpr auto kOnlyInResponses = std::to_array<std::string_view>(
    {"background", "context_management", "moderation", "max_tool_calls", "top_logprobs"});

// Members that do not change the answer.
constexpr auto kHints =
    std::to_array<std::string_view>({"client_metadata", "prompt_cache_options", "truncation"});

// Chat completion members that are either derived from other members here or give a reply that a
// response cannot express.
constexpr auto kChatsButNotResponses = std::to_array<std::string_view>(
    {"messages", "functions", "function_call", "response_format", "reasoning_effort", "n",
     "max_tokens", "max_completion_tokens", "verbosity", "prediction", "modalities", "logprobs"});

// Members that the response repeats, with their values if the request has none.
constexpr auto kRepeated = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"instructions", "null"},
    {"max_output_tokens", "null"},
    {"metadata", "{}"},
    {"parallel_tool_calls", "true"},
    {"previous_response_id", "null"},
    {"reasoning", R"({"effort":null,"summary":null})"},
    {"service_tier", R"("default")"},
    {"store", "true"},
    {"temperature", "null"},
    {"text", R"({"format":{"type":"text"}})"},
    {"tool_choice", R"("auto")"},
    {"tools", "[]"},
    {"top_p", "null"},
    {"truncation", R"("disabled")"},
    {"user", "null"},
});

Result<bool> flag(const Value& root, std::string_view key, bool default_value) {
  const auto value = given(root, key);
  if (!value) return default_value;
  if (!value->is_bool()) return wrong_type(key, "a boolean", *value);
  return value->boolean();
}

class ResponsesReader {
 public:
  ResponsesReader(std::string_view token, const Earlier& earlier)
      : earlier_(earlier), input_(token, earlier, losses_) {}
  Result<ParsedResponses> read(const Value& root);

 private:
  Result<void> check(const Value& root);
  Result<void> write_tools(const Value& root);
  Result<void> write_tool(const Value& tool, const std::string& path, std::string_view space,
                          json::Writer& out);
  Result<void> write_tool_choice(const Value& root, std::string tools);
  Result<std::string> allowed_tools(const Value& choice, const std::string& tools);
  Result<void> write_text(const Value& root);
  Result<void> write_rest(const Value& root);
  void write_messages(const std::string& messages, std::string_view instructions);

  const Earlier& earlier_;
  Losses losses_;
  ResponsesInput input_;
  ResponsesTools tools_;  // all of them, by the names of their functions
  json::Writer out_;
};

Result<void> ResponsesReader::write_tool(const Value& tool, const std::string& path,
                                         std::string_view space, json::Writer& out) {
  constexpr auto kMembers = std::to_array<std::string_view>({"type", "name"});
  constexpr auto kCustomMembers = std::to_array<std::string_view>({"type", "name", "format"});
  if (!tool.is_object()) return wrong_type(path, "an object", tool);
  SIGNALBOX_TRY(const std::string_view type, text_member(tool, "type", path));
  if (type == "namespace" && space.empty()) {
    SIGNALBOX_TRY(const std::string_view name, text_member(tool, "name", path));
    const auto tools = tool.find("tools");
    if (!tools || !tools->is_array()) return wrong(path + ".tools", "expected an array");
    size_t index = 0;
    for (const Value& each : tools->items()) {
      SIGNALBOX_TRY_VOID(write_tool(each, fmt::format("{}.tools[{}]", path, index++), name, out));
    }
    return {};
  }
  const bool custom = type == "custom";
  if (!custom && type != "function") {
    losses_.drop_kind("tools", type, tool);
    return {};
  }
  SIGNALBOX_TRY(const std::string_view name, text_member(tool, "name", path));
  const std::string function = function_name(space, name);
  tools_[function] = {std::string(name), std::string(space), custom};
  out.begin_object().member("type", "function").key("function").begin_object();
  out.member("name", function);
  if (custom) {
    const auto format = given(tool, "format");
    if (format && format->find("definition")) losses_.drop("tools.format", format);
    copy_unknown(tool, kCustomMembers, out);
    out.key("parameters").raw(kCustomParameters);
  } else {
    copy_unknown(tool, kMembers, out);
  }
  out.end_object().end_object();
  return {};
}

Result<void> ResponsesReader::write_tools(const Value& root) {
  const auto tools = given(root, "tools");
  if (!tools) return {};
  if (!tools->is_array()) return wrong_type("tools", "an array", *tools);
  if (is_unset(*tools)) return {};
  json::Writer out;
  out.begin_array();
  size_t index = 0;
  for (const Value& tool : tools->items()) {
    SIGNALBOX_TRY_VOID(write_tool(tool, fmt::format("tools[{}]", index++), {}, out));
  }
  out.end_array();
  return write_tool_choice(root, out.take());
}

/// The name of the function that a choice names.
Result<std::string> chosen_function(const Value& choice, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view name, text_member(choice, "name", path));
  SIGNALBOX_TRY(const std::string_view space, optional_text(choice, "namespace", path));
  return function_name(space, name);
}

/// Writes the tools, and how the model chooses among them. `allowed_tools` leaves out the others.
Result<void> ResponsesReader::write_tool_choice(const Value& root, std::string tools) {
  const auto choice = given(root, "tool_choice");
  std::string chosen;  // JSON; "": none
  if (choice && choice->is_string()) {
    chosen = choice->raw();
  } else if (choice) {
    SIGNALBOX_TRY(const std::string_view type, text_member(*choice, "type", "tool_choice"));
    if (type == "allowed_tools") {
      SIGNALBOX_TRY(tools, allowed_tools(*choice, tools));
      SIGNALBOX_TRY(const std::string_view mode, optional_text(*choice, "mode", "tool_choice"));
      chosen = json::quote(mode.empty() ? "auto" : mode);
      if (tools == "[]" && mode == "required") losses_.refuse(no_equivalent("tool_choice"));
    } else if (type == "function" || type == "custom") {
      SIGNALBOX_TRY(const std::string name, chosen_function(*choice, "tool_choice"));
      json::Writer out;
      out.begin_object().member("type", "function").key("function").begin_object();
      chosen = out.member("name", name).end_object().end_object().take();
    } else {
      losses_.refuse(no_equivalent("tool_choice.type"));
    }
  }
  if (tools == "[]") return {};
  out_.key("tools").raw(tools);
  if (const auto parallel = given(root, "parallel_tool_calls"))
    out_.key("parallel_tool_calls").raw(parallel->raw());
  if (!chosen.empty()) out_.key("tool_choice").raw(chosen);
  return {};
}

/// `tools` are functions, as JSON; returns those that the choice allows.
Result<std::string> ResponsesReader::allowed_tools(const Value& choice, const std::string& tools) {
  std::vector<std::string> names;
  const auto allowed = choice.find("tools");
  if (!allowed || !allowed->is_array()) return wrong("tool_choice.tools", "expected an array");
  size_t index = 0;
  for (const Value& each : allowed->items()) {
    const std::string path = fmt::format("tool_choice.tools[{}]", index++);
    SIGNALBOX_TRY(const std::string_view type, text_member(each, "type", path));
    if (type != "function" && type != "custom") continue;  // the tool itself is a loss already
    SIGNALBOX_TRY(std::string name, chosen_function(each, path));
    names.push_back(std::move(name));
  }
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(tools));
  json::Writer out;
  out.begin_array();
  for (const Value& tool : document.root().items()) {
    const auto name = tool.find("function")->find("name");
    if (std::find(names.begin(), names.end(), name->text()) != names.end()) out.raw(tool.raw());
  }
  return out.end_array().take();
}

Result<void> ResponsesReader::write_text(const Value& root) {
  const auto text = given(root, "text");
  if (!text) return {};
  if (!text->is_object()) return wrong_type("text", "an object", *text);
  constexpr auto kMembers = std::to_array<std::string_view>({"format", "verbosity"});
  for (const json::Member& member : text->members()) {
    if (!holds(kMembers, member.key)) losses_.drop("text", member.value);
  }
  if (const auto verbosity = given(*text, "verbosity")) out_.key("verbosity").raw(verbosity->raw());
  const auto format = given(*text, "format");
  if (!format) return {};
  SIGNALBOX_TRY(const std::string_view type, text_member(*format, "type", "text.format"));
  if (type == "text") return {};
  out_.key("response_format");
  if (type != "json_schema") {
    out_.raw(format->raw());
    return {};
  }
  constexpr auto kType = std::to_array<std::string_view>({"type"});
  out_.begin_object().member("type", type).key("json_schema").begin_object();
  copy_unknown(*format, kType, out_);
  out_.end_object().end_object();
  return {};
}

Result<void> ResponsesReader::write_rest(const Value& root) {
  if (const auto tokens = given(root, "max_output_tokens")) {
    if (!tokens->integer()) return wrong("max_output_tokens", "expected an integer");
    out_.key("max_tokens").raw(tokens->raw());
  }
  if (const auto reasoning = given(root, "reasoning")) {
    if (!reasoning->is_object()) return wrong_type("reasoning", "an object", *reasoning);
    if (const auto effort = given(*reasoning, "effort"))
      out_.key("reasoning_effort").raw(effort->raw());
  }
  SIGNALBOX_TRY(const bool stream, flag(root, "stream", false));
  if (stream) {
    out_.member("stream", true).key("stream_options").begin_object();
    out_.member("include_usage", true).end_object();
  }
  for (const json::Member& member : root.members()) {
    if (!holds(kResponsesMembers, member.key) && !holds(kChatsButNotResponses, member.key))
      out_.key(member.key).raw(member.value.raw());
  }
  return {};
}

Result<void> ResponsesReader::check(const Value& root) {
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  SIGNALBOX_TRY_VOID(refuse_repeats(root, kResponsesMembers, ""));
  for (const json::Member& member : root.members()) {
    if (is_unset(member.value) || member.value.raw() == "0") continue;
    if (holds(kHeldByProvider, member.key)) {
      losses_.drop(member.key, member.value);  // variables of a prompt are text
      losses_.refuse(no_equivalent(member.key));
    }
    if (holds(kOnlyInResponses, member.key) || holds(kChatsButNotResponses, member.key))
      losses_.drop(member.key, member.value);
    if (holds(kHints, member.key) && member.value.raw() != "\"disabled\"") losses_.hint(member.key);
  }
  // Reasoning is never encrypted here, so this value is accepted and has no effect.
  if (const auto include = given(root, "include")) {
    for (const Value& each : include->items()) {
      const std::string_view name = each.is_string() ? each.text() : std::string_view{};
      if (name != "reasoning.encrypted_content") losses_.drop_kind("include", name);
    }
  }
  return {};
}

void ResponsesReader::write_messages(const std::string& messages, std::string_view instructions) {
  if (instructions.empty() && !may_need_gathering(messages)) {
    if (!messages.empty()) out_.raw(messages);
    return;
  }
  std::string all = messages;
  if (!instructions.empty()) {
    all = fmt::format(R"({{"role":"system","content":{}}}{}{})", json::quote(instructions),
                      messages.empty() ? "" : ",", messages);
  }
  out_.raw(gather_system(std::move(all)));
}

Result<ParsedResponses> ResponsesReader::read(const Value& root) {
  SIGNALBOX_TRY_VOID(check(root));
  SIGNALBOX_TRY(const std::string_view model, text_member(root, "model", ""));
  ParsedResponses out;
  SIGNALBOX_TRY(out.store, flag(root, "store", true));
  SIGNALBOX_TRY(const std::string_view previous, optional_text(root, "previous_response_id", ""));
  if (!previous.empty()) {
    Earlier::Found found = earlier_.conversation(previous);
    if (!found) {
      losses_.refuse(fail_in("previous_response_id", std::move(found).error()).value());
    } else if (!*found) {
      losses_.refuse(
          wrong("previous_response_id", "there is no response {}", json::quote_briefly(previous))
              .value());
    } else {
      out.messages = **std::move(found);
    }
  }
  const auto input = given(root, "input");
  const bool has_prompt = given(root, "prompt") || given(root, "conversation");
  if (!input && previous.empty() && !has_prompt) return wrong("input", "missing");
  if (!out.store) input_.list_nothing();
  if (input) SIGNALBOX_TRY_VOID(input_.add_input(*input));
  const size_t before = out.messages.empty() ? 0 : out.messages.size() + 1;
  if (out.messages.empty()) {
    out.messages = input_.take();
  } else if (const std::string added = input_.take(); !added.empty()) {
    out.messages.append(",").append(added);
  }
  if (out.messages.size() > kConversationBytesMax) {
    return fail(Code::kTooLarge, "previous_response_id: the conversation is longer than {} bytes",
                kConversationBytesMax);
  }
  out.input = input_.take_listed(before);

  SIGNALBOX_TRY(const std::string_view instructions, optional_text(root, "instructions", ""));
  out_.begin_object().member("model", model).key("messages").begin_array();
  write_messages(out.messages, instructions);
  out_.end_array();
  if (!out.store) std::string().swap(out.messages);  // an assignment would keep the memory
  SIGNALBOX_TRY_VOID(write_tools(root));
  SIGNALBOX_TRY_VOID(write_text(root));
  SIGNALBOX_TRY_VOID(write_rest(root));
  out.chat = out_.end_object().take();
  const auto reasoning = given(root, "reasoning");
  out.summarises = reasoning && given(*reasoning, "summary");
  out.tools = std::move(tools_);
  out.losses = std::move(losses_);
  for (const auto& [key, default_value] : kRepeated) {
    const auto value = given(root, key);
    out.repeated.emplace_back(key, value ? value->raw() : default_value);
  }
  return out;
}

}  // namespace

Result<ParsedResponses> read_responses(const json::Value& root, std::string_view token,
                                       const Earlier& earlier) {
  return ResponsesReader(token, earlier).read(root);
}

}  // namespace signalbox::dialects
