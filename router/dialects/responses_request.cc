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
                                                                    "parallel_tool_calls"});

// The listener limits the size of a request; this limits the conversation that it continues.
constexpr size_t kConversationBytesMax = size_t{1} << 26;

// Features that only the provider of the API has. False, null and an empty list do not use them.
constexpr auto kRejectedInResponses = std::to_array<std::string_view>(
    {"background", "conversation", "prompt", "context_management", "moderation"});

// Chat completion members that are either derived from other members here or give a reply that a
// response cannot express.
constexpr auto kChatMembersNotInResponses = std::to_array<std::string_view>(
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

class ResponsesReader {
 public:
  explicit ResponsesReader(std::string_view token) : token_(token) {}
  Result<ParsedResponses> read(const Value& root, const Earlier& earlier);

 private:
  Result<void> check(const Value& root) const;
  Result<void> add_input(const Value& input);
  Result<void> add_item(const Value& item, const std::string& path);
  Result<void> add_message(const Value& item, const std::string& path);
  Result<void> add_part(const Value& part, const std::string& path);
  Result<void> add_image(const Value& part, const std::string& path);
  Result<void> add_file(const Value& part, const std::string& path);
  Result<void> add_output(const Value& item, const std::string& path);
  Result<void> add_reasoning(const Value& item, const std::string& path);
  void add_listed_item(const Value& item, std::string_view kind);

  Result<void> write_tools(const Value& root);
  Result<void> write_tool_choice(const Value& root);
  Result<void> write_text(const Value& root);
  Result<void> write_rest(const Value& root);

  std::string_view token_;
  ChatMessages messages_;
  std::vector<std::string> items_;
  json::Writer out_;
};

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
  if (given(part, "file_id")) return no_equivalent(path + ".file_id");
  SIGNALBOX_TRY(const std::string_view url, text_member(part, "image_url", path));
  json::Writer out;
  out.begin_object().member("type", "image_url").key("image_url").begin_object();
  out.member("url", url);
  if (const auto detail = given(part, "detail")) out.key("detail").raw(detail->raw());
  messages_.add_part(out.end_object().end_object().take());
  return {};
}

Result<void> ResponsesReader::add_file(const Value& part, const std::string& path) {
  if (given(part, "file_url")) return no_equivalent(path + ".file_url");
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
    return wrong(path + ".role", "unknown role (known: user, assistant, system, developer)");
  }
  if (messages_.has_content() || !messages_.is_open(role)) messages_.end();
  messages_.begin(role);
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

Result<void> ResponsesReader::add_output(const Value& item, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view call, text_member(item, "call_id", path));
  const auto output = item.find("output");
  if (!output) return wrong(path + ".output", "missing");
  if (output->is_string()) {
    messages_.add_result(call, output->raw());
    return {};
  }
  if (!output->is_array()) return wrong_type(path + ".output", "a string or an array", *output);
  json::Writer out;
  out.begin_array();
  size_t index = 0;
  for (const Value& part : output->items()) {
    const std::string at = fmt::format("{}.output[{}]", path, index++);
    SIGNALBOX_TRY(const std::string_view type, text_member(part, "type", at));
    if (type != "input_text") return no_equivalent(at + ".type");
    SIGNALBOX_TRY_VOID(text_member(part, "text", at));
    out.begin_object().member("type", "text").key("text").raw(part.find("text")->raw());
    out.end_object();
  }
  messages_.add_result(call, out.end_array().take());
  return {};
}

Result<void> ResponsesReader::add_reasoning(const Value& item, const std::string& path) {
  if (given(item, "encrypted_content")) return no_equivalent(path + ".encrypted_content");
  if (messages_.has_content() || !messages_.is_open("assistant")) messages_.end();
  messages_.begin("assistant");
  const auto content = given(item, "content");
  const std::string_view key = content ? "content" : "summary";
  const auto thoughts = given(item, key);
  if (!thoughts) return {};
  size_t index = 0;
  for (const Value& thought : thoughts->items()) {
    const std::string at = fmt::format("{}.{}[{}]", path, key, index++);
    SIGNALBOX_TRY(const std::string_view text, text_member(thought, "text", at));
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
  add_listed_item(item, type.empty() ? "message" : type);
  if (type.empty() || type == "message") return add_message(item, path);
  if (type == "function_call") {
    SIGNALBOX_TRY(const std::string_view call, text_member(item, "call_id", path));
    SIGNALBOX_TRY(const std::string_view name, text_member(item, "name", path));
    SIGNALBOX_TRY(const std::string_view arguments, text_member(item, "arguments", path));
    messages_.begin("assistant");
    messages_.add_call(call, name, arguments);
    return {};
  }
  if (type == "function_call_output") return add_output(item, path);
  if (type == "reasoning") return add_reasoning(item, path);
  return wrong(path + ".type",
               "{} has no equivalent in a chat completion (known: message, function_call, "
               "function_call_output, reasoning)",
               json::quote_briefly(type));
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
  return {};
}

Result<void> ResponsesReader::write_tools(const Value& root) {
  constexpr auto kMembers = std::to_array<std::string_view>({"type"});
  const auto tools = given(root, "tools");
  if (!tools) return {};
  if (!tools->is_array()) return wrong_type("tools", "an array", *tools);
  if (is_unset(*tools)) return {};
  out_.key("tools").begin_array();
  size_t index = 0;
  for (const Value& tool : tools->items()) {
    const std::string path = fmt::format("tools[{}]", index++);
    if (!tool.is_object()) return wrong_type(path, "an object", tool);
    SIGNALBOX_TRY(const std::string_view type, text_member(tool, "type", path));
    if (type != "function") {
      return wrong(path + ".type",
                   "{} runs at its provider; the servers here only support functions",
                   json::quote_briefly(type));
    }
    SIGNALBOX_TRY_VOID(text_member(tool, "name", path));
    out_.begin_object().member("type", "function").key("function").begin_object();
    copy_unknown(tool, kMembers, out_);
    out_.end_object().end_object();
  }
  out_.end_array();
  if (const auto parallel = given(root, "parallel_tool_calls"))
    out_.key("parallel_tool_calls").raw(parallel->raw());
  return write_tool_choice(root);
}

Result<void> ResponsesReader::write_tool_choice(const Value& root) {
  const auto choice = given(root, "tool_choice");
  if (!choice) return {};
  if (choice->is_string()) {
    out_.key("tool_choice").raw(choice->raw());
    return {};
  }
  SIGNALBOX_TRY(const std::string_view type, text_member(*choice, "type", "tool_choice"));
  if (type != "function") return no_equivalent("tool_choice.type");
  SIGNALBOX_TRY(const std::string_view name, text_member(*choice, "name", "tool_choice"));
  out_.key("tool_choice").begin_object().member("type", "function").key("function");
  out_.begin_object().member("name", name).end_object().end_object();
  return {};
}

Result<void> ResponsesReader::write_text(const Value& root) {
  const auto text = given(root, "text");
  if (!text) return {};
  if (!text->is_object()) return wrong_type("text", "an object", *text);
  constexpr auto kMembers = std::to_array<std::string_view>({"format", "verbosity"});
  for (const json::Member& member : text->members()) {
    if (!holds(kMembers, member.key)) return no_equivalent(join_path("text", member.key));
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
  copy_unknown(root, kResponsesMembers, out_);
  return {};
}

Result<void> ResponsesReader::check(const Value& root) const {
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  SIGNALBOX_TRY_VOID(refuse_repeats(root, kResponsesMembers, ""));
  for (const json::Member& member : root.members()) {
    if (holds(kChatMembersNotInResponses, member.key))
      return wrong(member.key, "not a parameter of this API");
    if (holds(kRejectedInResponses, member.key) && !is_unset(member.value))
      return no_equivalent(member.key);
  }
  SIGNALBOX_TRY(const std::string_view truncation, optional_text(root, "truncation", ""));
  if (!truncation.empty() && truncation != "disabled") return no_equivalent("truncation");
  if (const auto logprobs = given(root, "top_logprobs"))
    if (logprobs->raw() != "0") return no_equivalent("top_logprobs");
  // Reasoning is never encrypted here, so this value is accepted and has no effect.
  if (const auto include = given(root, "include")) {
    size_t index = 0;
    for (const Value& each : include->items()) {
      const std::string path = fmt::format("include[{}]", index++);
      if (!each.is_string() || each.text() != "reasoning.encrypted_content")
        return no_equivalent(path);
    }
  }
  return {};
}

Result<ParsedResponses> ResponsesReader::read(const Value& root, const Earlier& earlier) {
  SIGNALBOX_TRY_VOID(check(root));
  SIGNALBOX_TRY(const std::string_view model, text_member(root, "model", ""));
  ParsedResponses out;
  SIGNALBOX_TRY(out.store, flag(root, "store", true));
  SIGNALBOX_TRY(const std::string_view previous, optional_text(root, "previous_response_id", ""));
  if (!previous.empty()) {
    std::optional<std::string> found = earlier(previous);
    if (!found) {
      return wrong("previous_response_id", "there is no response {}",
                   json::quote_briefly(previous));
    }
    out.messages = *std::move(found);
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

  out_.begin_object().member("model", model).key("messages").begin_array();
  SIGNALBOX_TRY(const std::string_view instructions, optional_text(root, "instructions", ""));
  if (!instructions.empty()) {
    out_.begin_object().member("role", "system").member("content", instructions).end_object();
  }
  if (!out.messages.empty()) out_.raw(out.messages);
  out_.end_array();
  SIGNALBOX_TRY_VOID(write_tools(root));
  SIGNALBOX_TRY_VOID(write_text(root));
  SIGNALBOX_TRY_VOID(write_rest(root));
  out.chat = out_.end_object().take();
  for (const auto& [key, default_value] : kRepeated) {
    const auto value = given(root, key);
    out.repeated.emplace_back(key, value ? value->raw() : default_value);
  }
  return out;
}

}  // namespace

Result<ParsedResponses> read_responses(std::string body, std::string_view token,
                                       const Earlier& earlier) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(body)));
  return ResponsesReader(token).read(document.root(), earlier);
}

}  // namespace signalbox::dialects
