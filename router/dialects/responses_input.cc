// Items become messages. Tool calls join the preceding assistant message, as in chat completions.

#include "router/dialects/responses_input.h"

#include <array>
#include <functional>
#include <utility>

#include "base/json_writer.h"
#include "router/dialects/custom_tools.h"
#include "router/dialects/own_parts.h"

namespace signalbox::dialects {
namespace {

using json::Value;

// Items of features that run at the provider.
constexpr auto kProviderItems = std::to_array<std::string_view>(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
     "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response",
     "tool_search_call", "tool_search_output"});

// Items of tools that the provider defines and the client runs.
constexpr auto kClientCalls =
    std::to_array<std::string_view>({"local_shell_call", "shell_call", "apply_patch_call"});
constexpr auto kClientOutputs = std::to_array<std::string_view>(
    {"local_shell_call_output", "shell_call_output", "apply_patch_call_output"});
constexpr std::string_view kCallEnd = "_call";

// A chat completion may have as many messages.
constexpr size_t kItemsMax = size_t{1} << 16;

}  // namespace

std::string function_name(std::string_view space, std::string_view name) {
  return space.empty() ? std::string(name) : fmt::format("{}__{}", space, name);
}

/// Adds an item in the form in which the API lists it: with an id, and a message's content as
/// parts. `first_text` is the number of the first long text that may be of this item.
void ResponsesInput::add_listed_item(const Value& item, std::string_view kind, size_t first_text) {
  if (!lists_) return;
  const size_t number = items_++;
  listed_.kept += number > 0 ? ",{" : "{";
  const auto id = item.find("id");
  if (!id || !id->is_string()) {
    list_key("id");
    listed_.kept +=
        fmt::format(R"("{}_{}i{}")", kind == "message" ? "msg" : "item", token_, number);
  }
  if (!item.find("type")) {
    list_key("type");
    json::append_string(listed_.kept, kind);
  }
  for (const json::Member& member : item.members()) {
    if (member.key == "id" && !member.value.is_string()) continue;
    list_key(member.key);
    const bool is_text = member.key == "content" && member.value.is_string();
    if (is_text) {
      const auto role = item.find("role");
      const bool is_assistant = role && role->is_string() && role->text() == "assistant";
      listed_.kept +=
          fmt::format(R"([{{"type":"{}","text":)", is_assistant ? "output_text" : "input_text");
    }
    const bool has_texts = member.key == "content" || member.key == "output";
    if (has_texts) {
      list(member.value.raw(), first_text);
    } else {
      listed_.kept += member.value.raw();
    }
    if (is_text) listed_.kept += "}]";
  }
  listed_.kept += '}';
}

void ResponsesInput::list_key(std::string_view key) {
  if (listed_.kept.back() != '{') listed_.kept += ',';
  json::append_string(listed_.kept, key);
  listed_.kept += ':';
}

// Leaves out the long texts that the messages have. Those of a result in parts have no place in it.
void ResponsesInput::list(std::string_view json, size_t first_text) {
  const auto& texts = messages_.long_texts();
  constexpr std::less<const char*> kIsBefore;
  const char* const end = json.data() + json.size();
  for (size_t i = first_text; i < texts.size(); ++i) {
    const std::string_view text = texts[i].source;
    if (kIsBefore(text.data(), json.data()) || !kIsBefore(text.data(), end)) continue;
    listed_.kept.append(json.data(), text.data());
    listed_.gaps.push_back({listed_.kept.size(), i, text.size()});
    json.remove_prefix(static_cast<size_t>(text.data() + text.size() - json.data()));
  }
  listed_.kept += json;
}

SparseText ResponsesInput::take_listed(size_t begin) {
  for (SparseText::Gap& gap : listed_.gaps) gap.from = begin + messages_.long_texts()[gap.from].at;
  return std::move(listed_);
}

Result<void> ResponsesInput::add_image(const Value& part, const std::string& path) {
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

Result<void> ResponsesInput::add_file(const Value& part, const std::string& path) {
  if (given(part, "file_url")) losses_.refuse(no_equivalent(path + ".file_url"));
  json::Writer out;
  out.begin_object().member("type", "file").key("file").begin_object();
  for (const std::string_view key : {"file_id", "file_data", "filename"}) {
    if (const auto value = given(part, key)) out.key(key).raw(value->raw());
  }
  messages_.add_part(out.end_object().end_object().take());
  return {};
}

Result<void> ResponsesInput::add_part(const Value& part, const std::string& path) {
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
    messages_.add_part(part.raw());
  }
  return {};
}

Result<void> ResponsesInput::add_message(const Value& item, const std::string& path) {
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
  for (const std::string& part : media_) messages_.add_part(part);
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

Result<void> ResponsesInput::add_call(const Value& item, const std::string& path, bool custom) {
  flush_media();
  SIGNALBOX_TRY(const std::string_view call, text_member(item, "call_id", path));
  SIGNALBOX_TRY(const std::string_view name, text_member(item, "name", path));
  SIGNALBOX_TRY(const std::string_view space, optional_text(item, "namespace", path));
  SIGNALBOX_TRY(const std::string_view arguments,
                text_member(item, custom ? "input" : "arguments", path));
  std::string object;
  if (custom) object = custom_arguments(arguments);
  messages_.begin("assistant");
  messages_.add_call(call, function_name(space, name), custom ? object : arguments);
  return {};
}

/// Pictures and files move to a message of the user, because the result of a tool may only be text.
Result<void> ResponsesInput::add_output(const Value& item, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view call, text_member(item, "call_id", path));
  const auto output = item.find("output");
  if (!output) return wrong(path + ".output", "missing");
  if (output->is_string()) {
    messages_.add_result(call, output->raw());
    return {};
  }
  if (!output->is_array()) return wrong_type(path + ".output", "a string or an array", *output);
  messages_.end();
  ChatMessages outer = std::exchange(messages_, ChatMessages::collector());
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

/// A call of a tool that the provider defines and the client runs, such as a shell. The model reads
/// it as a call of a function with the tool's name.
Result<void> ResponsesInput::add_client_call(const Value& item, std::string_view type,
                                             const std::string& path) {
  flush_media();
  SIGNALBOX_TRY(const std::string_view call, text_member(item, "call_id", path));
  const std::string_view key = type == "apply_patch_call" ? "operation" : "action";
  const auto action = given(item, key);
  show_rest(item, key);
  messages_.begin("assistant");
  messages_.add_call(call, type.substr(0, type.size() - kCallEnd.size()),
                     action ? action->raw() : std::string_view("{}"));
  return {};
}

Result<void> ResponsesInput::add_client_output(const Value& item, const std::string& path) {
  // OpenAI's local_shell_call_output has only an id.
  const bool has_call = given(item, "call_id") || !given(item, "id");
  SIGNALBOX_TRY(const std::string_view call, text_member(item, has_call ? "call_id" : "id", path));
  const std::string_view key = given(item, "output") ? "output" : "status";
  const auto output = given(item, key);
  show_rest(item, key);
  const bool is_text = output && output->is_string();
  messages_.add_result(call, is_text  ? std::string(output->raw())
                             : output ? json::quote(output->raw())
                                      : std::string(R"("")"));
  return {};
}

/// Shows the members of a client's call or output to guards, except the one that becomes a message.
void ResponsesInput::show_rest(const Value& item, std::string_view key) {
  const std::array<std::string_view, 4> read{"type", "id", "call_id", key};
  if (!has_unknown(item, read)) return;
  json::Writer rest;
  rest.begin_object();
  copy_unknown(item, read, rest);
  losses_.show(rest.end_object().take());
}

/// No message of the user followed the results of tools.
void ResponsesInput::flush_media() {
  if (media_.empty()) return;
  messages_.end();
  messages_.begin("user");
  for (const std::string& part : media_) messages_.add_part(part);
  media_.clear();
  messages_.end();
}

Result<void> ResponsesInput::add_reference(const Value& item, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view id, text_member(item, "id", path));
  std::optional<std::string> found;
  if (!resolving_) {
    Earlier::Found stored = earlier_.item(id);
    if (!stored) {
      losses_.refuse(fail_in(path + ".id", std::move(stored).error()).value());
      return {};
    }
    found = *std::move(stored);
  }
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

Result<void> ResponsesInput::add_reasoning(const Value& item, const std::string& path) {
  if (given(item, "encrypted_content")) losses_.hint("reasoning.encrypted_content");
  const auto content = given(item, "content");
  const bool has_content = content && content->items().begin() != content->items().end();
  const std::string_view key = has_content ? "content" : "summary";
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

Result<void> ResponsesInput::add_item(const Value& item, const std::string& path) {
  constexpr auto kMembers =
      std::to_array<std::string_view>({"type", "id", "role", "content", "call_id", "name",
                                       "arguments", "output", "action", "operation", "status"});
  if (!item.is_object()) return wrong_type(path, "an object", item);
  SIGNALBOX_TRY_VOID(refuse_repeats(item, kMembers, path));
  SIGNALBOX_TRY(const std::string_view type, optional_text(item, "type", path));
  if (is_own_message(item)) {
    losses_.show(std::string(item.raw()));  // guards read it, because anyone can choose such an id
    return {};
  }
  if (type == "item_reference") return add_reference(item, path);
  const size_t first_text = messages_.long_texts().size();
  Result<void> added = add_by_type(item, type, path);
  if (added) add_listed_item(item, type.empty() ? "message" : type, first_text);
  return added;
}

Result<void> ResponsesInput::add_by_type(const Value& item, std::string_view type,
                                         const std::string& path) {
  if (type.empty() || type == "message") return add_message(item, path);
  if (type == "function_call") return add_call(item, path, false);
  if (type == "custom_tool_call") return add_call(item, path, true);
  if (type == "function_call_output" || type == "custom_tool_call_output")
    return add_output(item, path);
  if (holds(kClientCalls, type)) return add_client_call(item, type, path);
  if (holds(kClientOutputs, type)) return add_client_output(item, path);
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

Result<void> ResponsesInput::add_input(const Value& input) {
  if (input.is_string()) {
    messages_.begin("user");
    messages_.add_text(input.raw());
    if (!lists_) return {};
    listed_.kept = fmt::format(
        R"({{"id":"msg_{}i0","type":"message","role":"user","content":[{{"type":"input_text","text":)",
        token_);
    list(input.raw(), 0);
    listed_.kept += "}]}";
    return {};
  }
  if (!input.is_array()) return wrong_type("input", "a string or an array", input);
  size_t index = 0;
  for (const Value& item : input.items()) {
    if (index == kItemsMax)
      return fail(Code::kTooLarge, "input: expected at most {} items, found more", kItemsMax);
    SIGNALBOX_TRY_VOID(add_item(item, fmt::format("input[{}]", index++)));
  }
  flush_media();
  return {};
}

}  // namespace signalbox::dialects
