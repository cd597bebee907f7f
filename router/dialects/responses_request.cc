// Items become messages. Tool calls join the preceding assistant message, as in chat completions.

#include <algorithm>
#include <array>

#include "router/dialects/chat_messages.h"
#include "router/dialects/responses.h"

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

// Items of features that run at the provider.
constexpr auto kProviderItems = std::to_array<std::string_view>(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
     "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response",
     "tool_search_call", "tool_search_output"});

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
constexpr auto kOnlyInChats = std::to_array<std::string_view>(
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

bool is_unset(const Value& value) {
  return value.is_null() || (value.is_bool() && !value.boolean()) ||
         (value.is_array() && !(value.items().begin() != value.items().end()));
}

Result<bool> flag(const Value& root, std::string_view key, bool default_value) {
  const auto value = given(root, key);
  if (!value) return default_value;
  if (!value->is_bool()) return wrong_type(key, "a boolean", *value);
  return value->boolean();
}

// The function that stands for a custom tool.
constexpr std::string_view kCustomParameters =
    R"({"type":"object","properties":{"input":{"type":"string"}},"required":["input"]})";

class ResponsesReader {
 public:
  ResponsesReader(std::string_view token, const Earlier& earlier)
      : token_(token), earlier_(earlier) {}
  Result<ParsedResponses> read(const Value& root);

 private:
  Result<void> check(const Value& root);
  Result<void> add_input(const Value& input);
  Result<void> add_item(const Value& item, const std::string& path);
  Result<void> add_message(const Value& item, const std::string& path);
  Result<void> add_part(const Value& part, const std::string& path);
  Result<void> add_image(const Value& part, const std::string& path);
  Result<void> add_file(const Value& part, const std::string& path);
  Result<void> add_call(const Value& item, const std::string& path, bool custom);
  Result<void> add_output(const Value& item, const std::string& path);
  Result<void> add_reference(const Value& item, const std::string& path);
  void flush_media();
  Result<void> add_reasoning(const Value& item, const std::string& path);
  void add_listed_item(const Value& item, std::string_view kind);

  Result<void> write_tools(const Value& root);
  Result<void> write_tool(const Value& tool, const std::string& path, std::string_view space,
                          json::Writer& out);
  Result<void> write_tool_choice(const Value& root, std::string tools);
  Result<std::string> allowed_tools(const Value& choice, const std::string& tools);
  Result<void> write_text(const Value& root);
  Result<void> write_rest(const Value& root);

  std::string_view token_;
  const Earlier& earlier_;
  ChatMessages messages_;
  std::vector<std::string> media_;  // from results of tools, for the user's next message
  std::vector<std::string> items_;
  ResponsesTools tools_;    // all of them, by the names of their functions
  bool resolving_ = false;  // an item that another one refers to
  Losses losses_;
  json::Writer out_;
};

/// The name of a function that stands for a tool of a namespace.
std::string function_name(std::string_view space, std::string_view name) {
  return space.empty() ? std::string(name) : fmt::format("{}__{}", space, name);
}

/// Adds an item in the form in which the API lists it: with an id, and a message's content as
/// parts.
void ResponsesReader::add_listed_item(const Value& item, std::string_view kind) {
  json::Writer out;
  out.begin_object();
  const auto id = item.find("id");
  if (!id || !id->is_string())
    out.member("id",
               fmt::format("{}_{}i{}", kind == "message" ? "msg" : "item", token_, items_.size()));
  if (!item.find("type")) out.member("type", kind);
  for (const json::Member& member : item.members()) {
    if (member.key == "id" && !member.value.is_string()) continue;
    out.key(member.key);
    if (member.key == "content" && member.value.is_string()) {
      const auto role = item.find("role");
      const bool is_assistant = role && role->is_string() && role->text() == "assistant";
      out.begin_array().begin_object().member("type", is_assistant ? "output_text" : "input_text");
      out.key("text").raw(member.value.raw()).end_object().end_array();
    } else {
      out.raw(member.value.raw());
    }
  }
  items_.push_back(out.end_object().take());
}

Result<void> ResponsesReader::add_image(const Value& part, const std::string& path) {
  if (given(part, "file_id")) {
    losses_.refuse(no_equivalent(path + ".file_id"));
    return {};
  }
  SIGNALBOX_TRY(const std::string_view url, text_member(part, "image_url", path));
  json::Writer out;
  out.begin_object().member("type", "image_url").key("image_url").begin_object();
  out.member("url", url);
  if (const auto detail = given(part, "detail")) out.key("detail").raw(detail->raw());
  messages_.add_part(out.end_object().end_object().take());
  return {};
}

Result<void> ResponsesReader::add_file(const Value& part, const std::string& path) {
  if (given(part, "file_url")) losses_.refuse(no_equivalent(path + ".file_url"));
  json::Writer out;
  out.begin_object().member("type", "file").key("file").begin_object();
  for (const std::string_view key : {"file_id", "file_data", "filename"}) {
    if (const auto value = given(part, key)) out.key(key).raw(value->raw());
  }
  messages_.add_part(out.end_object().end_object().take());
  return {};
}

Result<void> ResponsesReader::add_part(const Value& part, const std::string& path) {
  if (!part.is_object()) return wrong_type(path, "an object", part);
  SIGNALBOX_TRY(const std::string_view type, text_member(part, "type", path));
  if (type == "input_text" || type == "output_text") {
    SIGNALBOX_TRY_VOID(text_member(part, "text", path));
    messages_.add_text(part.find("text")->raw());
  } else if (type == "input_image") {
    return add_image(part, path);
  } else if (type == "input_file") {
    return add_file(part, path);
  } else {
    messages_.add_part(std::string(part.raw()));
  }
  return {};
}

Result<void> ResponsesReader::add_message(const Value& item, const std::string& path) {
  constexpr auto kRoles =
      std::to_array<std::string_view>({"user", "assistant", "system", "developer"});
  SIGNALBOX_TRY(const std::string_view role, text_member(item, "role", path));
  if (!holds(kRoles, role)) {
    losses_.refuse(
        wrong(path + ".role", "unknown role (known: user, assistant, system, developer)").value());
  }
  if (role != "user") flush_media();
  if (messages_.has_content() || !messages_.is_open(role)) messages_.end();
  messages_.begin(role);
  for (std::string& part : media_) messages_.add_part(std::move(part));
  media_.clear();
  const auto content = item.find("content");
  if (!content) return wrong(path + ".content", "missing");
  if (content->is_string()) {
    messages_.add_text(content->raw());
    return {};
  }
  if (!content->is_array()) return wrong_type(path + ".content", "a string or an array", *content);
  size_t index = 0;
  for (const Value& part : content->items()) {
    SIGNALBOX_TRY_VOID(add_part(part, fmt::format("{}.content[{}]", path, index++)));
  }
  return {};
}

Result<void> ResponsesReader::add_call(const Value& item, const std::string& path, bool custom) {
  flush_media();
  SIGNALBOX_TRY(const std::string_view call, text_member(item, "call_id", path));
  SIGNALBOX_TRY(const std::string_view name, text_member(item, "name", path));
  SIGNALBOX_TRY(const std::string_view space, optional_text(item, "namespace", path));
  SIGNALBOX_TRY(const std::string_view arguments,
                text_member(item, custom ? "input" : "arguments", path));
  std::string object;
  if (custom) object = fmt::format("{{{}:{}}}", json::quote(kCustomInput), json::quote(arguments));
  messages_.begin("assistant");
  messages_.add_call(call, function_name(space, name), custom ? object : arguments);
  return {};
}

/// Pictures and files move to a message of the user, because the result of a tool may only be text.
Result<void> ResponsesReader::add_output(const Value& item, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view call, text_member(item, "call_id", path));
  const auto output = item.find("output");
  if (!output) return wrong(path + ".output", "missing");
  if (output->is_string()) {
    messages_.add_result(call, output->raw());
    return {};
  }
  if (!output->is_array()) return wrong_type(path + ".output", "a string or an array", *output);
  messages_.end();
  ChatMessages outer = std::exchange(messages_, ChatMessages());
  messages_.begin("tool");
  size_t index = 0;
  for (const Value& part : output->items()) {
    SIGNALBOX_TRY_VOID(add_part(part, fmt::format("{}.output[{}]", path, index++)));
  }
  const std::vector<std::string> texts = messages_.take_texts(media_);
  messages_ = std::move(outer);
  json::Writer out;
  out.begin_array();
  for (const std::string& text : texts)
    out.begin_object().member("type", "text").key("text").raw(text).end_object();
  out.end_array();
  messages_.add_result(call, texts.size() == 1 ? texts.front() : out.take());
  return {};
}

/// No message of the user followed the results of tools.
void ResponsesReader::flush_media() {
  if (media_.empty()) return;
  messages_.end();
  messages_.begin("user");
  for (std::string& part : media_) messages_.add_part(std::move(part));
  media_.clear();
  messages_.end();
}

Result<void> ResponsesReader::add_reference(const Value& item, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view id, text_member(item, "id", path));
  const std::optional<std::string> found = resolving_ ? std::nullopt : earlier_.item(id);
  if (!found) {
    losses_.refuse(
        wrong(path + ".id", "there is no stored item {}", json::quote_briefly(id)).value());
    return {};
  }
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(*found));
  resolving_ = true;
  Result<void> added = add_item(document.root(), path);
  resolving_ = false;
  return added;
}

Result<void> ResponsesReader::add_reasoning(const Value& item, const std::string& path) {
  if (given(item, "encrypted_content")) losses_.hint("reasoning.encrypted_content");
  const auto content = given(item, "content");
  const std::string_view key = content ? "content" : "summary";
  const auto thoughts = given(item, key);
  if (!thoughts) return {};
  flush_media();
  if (messages_.has_content() || !messages_.is_open("assistant")) messages_.end();
  size_t index = 0;
  for (const Value& thought : thoughts->items()) {
    const std::string at = fmt::format("{}.{}[{}]", path, key, index++);
    SIGNALBOX_TRY(const std::string_view text, text_member(thought, "text", at));
    messages_.begin("assistant");
    messages_.add_reasoning(text);
  }
  return {};
}

Result<void> ResponsesReader::add_item(const Value& item, const std::string& path) {
  constexpr auto kMembers = std::to_array<std::string_view>(
      {"type", "role", "content", "call_id", "name", "arguments", "output"});
  if (!item.is_object()) return wrong_type(path, "an object", item);
  SIGNALBOX_TRY_VOID(refuse_repeats(item, kMembers, path));
  SIGNALBOX_TRY(const std::string_view type, optional_text(item, "type", path));
  if (type == "item_reference") return add_reference(item, path);
  add_listed_item(item, type.empty() ? "message" : type);
  if (type.empty() || type == "message") return add_message(item, path);
  if (type == "function_call") return add_call(item, path, false);
  if (type == "custom_tool_call") return add_call(item, path, true);
  if (type == "function_call_output" || type == "custom_tool_call_output")
    return add_output(item, path);
  if (type == "reasoning") return add_reasoning(item, path);
  if (holds(kProviderItems, type)) {
    losses_.drop(fmt::format("input.{}", type), item);
    return {};
  }
  losses_.drop("input", item);  // its text is for guards only
  losses_.refuse(wrong(path + ".type",
                       "{} has no equivalent in a chat completion (known: message, function_call, "
                       "function_call_output, custom_tool_call, custom_tool_call_output, "
                       "item_reference, reasoning)",
                       json::quote_briefly(type))
                     .value());
  return {};
}

Result<void> ResponsesReader::add_input(const Value& input) {
  if (input.is_string()) {
    messages_.begin("user");
    messages_.add_text(input.raw());
    items_.push_back(fmt::format(
        R"({{"id":"msg_{}i0","type":"message","role":"user","content":[{{"type":"input_text","text":{}}}]}})",
        token_, input.raw()));
    return {};
  }
  if (!input.is_array()) return wrong_type("input", "a string or an array", input);
  size_t index = 0;
  for (const Value& item : input.items()) {
    SIGNALBOX_TRY_VOID(add_item(item, fmt::format("input[{}]", index++)));
  }
  flush_media();
  return {};
}

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
    losses_.drop(fmt::format("tools.{}", type), tool);
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
    if (!holds(kMembers, member.key)) losses_.drop(join_path("text", member.key), member.value);
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
    if (!holds(kResponsesMembers, member.key) && !holds(kOnlyInChats, member.key))
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
    if (holds(kOnlyInResponses, member.key) || holds(kOnlyInChats, member.key))
      losses_.drop(member.key, member.value);
    if (holds(kHints, member.key) && member.value.raw() != "\"disabled\"") losses_.hint(member.key);
  }
  // Reasoning is never encrypted here, so this value is accepted and has no effect.
  if (const auto include = given(root, "include")) {
    for (const Value& each : include->items()) {
      const std::string_view name = each.is_string() ? each.text() : std::string_view{};
      if (name != "reasoning.encrypted_content") losses_.drop(fmt::format("include.{}", name));
    }
  }
  return {};
}

Result<ParsedResponses> ResponsesReader::read(const Value& root) {
  SIGNALBOX_TRY_VOID(check(root));
  SIGNALBOX_TRY(const std::string_view model, text_member(root, "model", ""));
  ParsedResponses out;
  SIGNALBOX_TRY(out.store, flag(root, "store", true));
  SIGNALBOX_TRY(const std::string_view previous, optional_text(root, "previous_response_id", ""));
  if (!previous.empty()) {
    std::optional<std::string> found = earlier_.conversation(previous);
    if (!found) {
      losses_.refuse(
          wrong("previous_response_id", "there is no response {}", json::quote_briefly(previous))
              .value());
    }
    out.messages = std::move(found).value_or("");
  }
  const auto input = root.find("input");
  if (!input) return wrong("input", "missing");
  SIGNALBOX_TRY_VOID(add_input(*input));
  const std::string added = messages_.take();
  if (!added.empty()) out.messages.append(out.messages.empty() ? "" : ",").append(added);
  if (out.messages.size() > kConversationBytesMax) {
    return fail(Code::kTooLarge, "previous_response_id: the conversation is longer than {} bytes",
                kConversationBytesMax);
  }
  for (const std::string& item : items_)
    out.input.append(out.input.empty() ? "" : ",").append(item);

  SIGNALBOX_TRY(const std::string_view instructions, optional_text(root, "instructions", ""));
  std::string messages = out.messages;
  if (!instructions.empty()) {
    messages = fmt::format(R"({{"role":"system","content":{}}}{}{})", json::quote(instructions),
                           messages.empty() ? "" : ",", messages);
  }
  messages = gather_system(std::move(messages));
  out_.begin_object().member("model", model).key("messages").begin_array();
  if (!messages.empty()) out_.raw(messages);
  out_.end_array();
  SIGNALBOX_TRY_VOID(write_tools(root));
  SIGNALBOX_TRY_VOID(write_text(root));
  SIGNALBOX_TRY_VOID(write_rest(root));
  out.chat = out_.end_object().take();
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
