// The blocks of a turn become parts of a message, in order. Tool results become messages of their
// own. Images in them move to the user message that follows, because a tool message must not
// contain any.

#include <algorithm>
#include <array>

#include "router/dialects/anthropic.h"
#include "router/dialects/chat_messages.h"

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
constexpr auto kOnlyInChats = std::to_array<std::string_view>(
    {"functions", "function_call", "stop", "user", "response_format", "reasoning_effort", "n",
     "parallel_tool_calls", "stream_options", "prediction", "modalities", "logprobs"});

// Blocks of features that run at the provider.
constexpr auto kProviderBlocks = std::to_array<std::string_view>(
    {"redacted_thinking", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result",
     "code_execution_tool_result", "bash_code_execution_tool_result",
     "text_editor_code_execution_tool_result", "tool_search_tool_result", "container_upload",
     "mcp_tool_use", "mcp_tool_result", "tool_reference", "browser_state", "compaction"});

// The least thinking tokens for these efforts; the API requires at least 1,024.
constexpr int64_t kMediumBudget = 4096;
constexpr int64_t kHighBudget = 16384;

bool is_unset(const Value& value) {
  return value.is_null() || (value.is_bool() && !value.boolean());
}

/// `name` is the path without indices.
void drop_members(const Value& object, Names members, std::string_view name, Losses& losses) {
  for (const json::Member& member : object.members()) {
    if (holds(members, member.key) && !is_unset(member.value))
      losses.drop(join_path(name, member.key), member.value);
  }
}

class MessagesReader {
 public:
  Result<ParsedMessages> read(const Value& root);

 private:
  Result<void> add_system(const Value& system);
  Result<void> add_message(const Value& message, const std::string& path);
  Result<void> add_blocks(const Value& content, const std::string& path, std::string_view role);
  Result<void> add_block(const Value& block, const std::string& path, std::string_view role);
  Result<void> add_text(const Value& block, const std::string& path);
  Result<void> add_image(const Value& block, const std::string& path);
  Result<void> add_document(const Value& block, const std::string& path, std::string_view role);
  Result<void> add_search_result(const Value& block, const std::string& path);
  Result<void> add_call(const Value& block, const std::string& path);
  Result<void> add_result(const Value& block, const std::string& path);
  Result<void> add_result_part(const Value& part, const std::string& path,
                               std::vector<std::string>& texts);

  Result<void> write_tools(const Value& root);
  Result<void> write_tool(const Value& tool, const std::string& path, json::Writer& out);
  Result<void> write_tool_choice(const Value& root);
  Result<void> write_thinking(const Value& root);
  Result<void> write_output(const Value& root, std::string_view effort);
  Result<void> write_rest(const Value& root);

  ChatMessages messages_;
  std::vector<std::string> images_;      // from tool results, for the user's next message
  std::vector<std::string_view> tools_;  // names
  json::Writer out_;
  Losses losses_;
  bool thinking_ = false;
  std::optional<bool> reasoning_;
};

Result<void> MessagesReader::add_text(const Value& block, const std::string& path) {
  constexpr auto kMembers =
      std::to_array<std::string_view>({"type", "text", "cache_control", "citations"});
  SIGNALBOX_TRY_VOID(text_member(block, "text", path));
  drop_members(block, std::array<std::string_view, 1>{"citations"}, "messages", losses_);
  const std::string_view text = block.find("text")->raw();
  if (!has_unknown(block, kMembers)) {
    messages_.add_text(text);
    return {};
  }
  json::Writer part;
  part.begin_object().member("type", "text").key("text").raw(text);
  copy_unknown(block, kMembers, part);
  messages_.add_part(part.end_object().take());
  return {};
}

/// Returns "" for a picture that only the provider has.
Result<std::string> image_part(const Value& block, const std::string& path, Losses& losses) {
  const auto source = block.find("source");
  const std::string at = path + ".source";
  if (!source || !source->is_object()) return wrong(at, "expected an object");
  SIGNALBOX_TRY(const std::string_view type, text_member(*source, "type", at));
  std::string url;
  if (type == "base64") {
    SIGNALBOX_TRY(const std::string_view media, text_member(*source, "media_type", at));
    SIGNALBOX_TRY(const std::string_view data, text_member(*source, "data", at));
    url = fmt::format("data:{};base64,{}", media, data);
  } else if (type == "url") {
    SIGNALBOX_TRY(url, text_member(*source, "url", at));
  } else {
    losses.refuse(no_equivalent(at + ".type"));
    return std::string();
  }
  json::Writer part;
  part.begin_object().member("type", "image_url").key("image_url").begin_object();
  return part.member("url", url).end_object().end_object().take();
}

Result<void> MessagesReader::add_image(const Value& block, const std::string& path) {
  SIGNALBOX_TRY(std::string part, image_part(block, path, losses_));
  if (!part.empty()) messages_.add_part(std::move(part));
  return {};
}

Result<std::string> document_text(const Value& block, const Value& source,
                                  const std::string& path) {
  std::string text;
  for (const std::string_view key : {"title", "context"}) {
    SIGNALBOX_TRY(const std::string_view line, optional_text(block, key, path));
    if (!line.empty()) text.append(line).append("\n\n");
  }
  SIGNALBOX_TRY(const std::string_view data, text_member(source, "data", path + ".source"));
  return text.append(data);
}

Result<std::string> file_part(const Value& block, const Value& source, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view media, text_member(source, "media_type", path + ".source"));
  SIGNALBOX_TRY(const std::string_view data, text_member(source, "data", path + ".source"));
  SIGNALBOX_TRY(const std::string_view title, optional_text(block, "title", path));
  json::Writer part;
  part.begin_object().member("type", "file").key("file").begin_object();
  part.member("filename", title.empty() ? std::string_view("document.pdf") : title);
  part.member("file_data", fmt::format("data:{};base64,{}", media, data));
  return part.end_object().end_object().take();
}

bool wants_citations(const Value& block) {
  const auto citations = given(block, "citations");
  const auto enabled = citations ? citations->find("enabled") : std::nullopt;
  return citations && !(enabled && enabled->is_bool() && !enabled->boolean());
}

Result<void> MessagesReader::add_document(const Value& block, const std::string& path,
                                          std::string_view role) {
  if (wants_citations(block)) losses_.drop("messages.citations");
  const auto source = block.find("source");
  const std::string at = path + ".source";
  if (!source || !source->is_object()) return wrong(at, "expected an object");
  SIGNALBOX_TRY(const std::string_view type, text_member(*source, "type", at));
  if (type == "text") {
    SIGNALBOX_TRY(const std::string text, document_text(block, *source, path));
    messages_.add_text(json::quote(text));
    return {};
  }
  if (type == "base64") {
    drop_members(block, std::array<std::string_view, 1>{"context"}, "messages", losses_);
    SIGNALBOX_TRY(std::string part, file_part(block, *source, path));
    messages_.add_part(std::move(part));
    return {};
  }
  if (type != "content") {
    losses_.refuse(no_equivalent(at + ".type"));
    return {};
  }
  const auto content = source->find("content");
  if (!content) return wrong(at + ".content", "missing");
  drop_members(block, std::array<std::string_view, 2>{"title", "context"}, "messages", losses_);
  if (content->is_string()) {
    messages_.add_text(content->raw());
    return {};
  }
  // Only texts and images: documents do not nest.
  size_t index = 0;
  for (const Value& part : content->items()) {
    const std::string each = fmt::format("{}.content[{}]", at, index++);
    SIGNALBOX_TRY(const std::string_view part_type, text_member(part, "type", each));
    if (part_type == "document") return wrong(each + ".type", "a document cannot hold another");
    SIGNALBOX_TRY_VOID(add_block(part, each, role));
  }
  return {};
}

Result<void> MessagesReader::add_search_result(const Value& block, const std::string& path) {
  if (wants_citations(block)) losses_.drop("messages.citations");
  std::string head;
  for (const std::string_view key : {"title", "source"}) {
    SIGNALBOX_TRY(const std::string_view line, optional_text(block, key, path));
    if (!line.empty()) head.append(head.empty() ? "" : "\n").append(line);
  }
  if (!head.empty()) messages_.add_text(json::quote(head));
  const auto content = block.find("content");
  if (!content || !content->is_array()) return wrong(path + ".content", "expected an array");
  size_t index = 0;
  for (const Value& text : content->items())
    SIGNALBOX_TRY_VOID(add_text(text, fmt::format("{}.content[{}]", path, index++)));
  return {};
}

Result<void> MessagesReader::add_call(const Value& block, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view id, text_member(block, "id", path));
  SIGNALBOX_TRY(const std::string_view name, text_member(block, "name", path));
  drop_members(block, std::array<std::string_view, 1>{"toolset_name"}, "messages", losses_);
  const auto input = block.find("input");
  if (!input) return wrong(path + ".input", "missing");
  if (!input->is_object()) return wrong_type(path + ".input", "an object", *input);
  messages_.add_call(id, name, input->raw());
  return {};
}

Result<void> MessagesReader::add_result_part(const Value& part, const std::string& path,
                                             std::vector<std::string>& texts) {
  SIGNALBOX_TRY(const std::string_view type, text_member(part, "type", path));
  if (type == "text") {
    SIGNALBOX_TRY_VOID(text_member(part, "text", path));
    texts.emplace_back(part.find("text")->raw());
  } else if (type == "image") {
    SIGNALBOX_TRY(std::string image, image_part(part, path, losses_));
    if (!image.empty()) images_.push_back(std::move(image));
  } else if (type == "document" || type == "search_result") {
    // Collects the blocks as if they stood outside the result, and takes their texts.
    ChatMessages outer = std::exchange(messages_, ChatMessages());
    messages_.begin("user");
    const Result<void> added =
        type == "document" ? add_document(part, path, "user") : add_search_result(part, path);
    for (std::string& text : messages_.take_texts(images_)) texts.push_back(std::move(text));
    messages_ = std::move(outer);
    return added;
  } else {
    losses_.drop(fmt::format("messages.{}", type), part);
  }
  return {};
}

Result<void> MessagesReader::add_result(const Value& block, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view call, text_member(block, "tool_use_id", path));
  drop_members(block, std::array<std::string_view, 1>{"toolset_name"}, "messages", losses_);
  const auto error = block.find("is_error");
  std::vector<std::string> texts;
  if (error && error->is_bool() && error->boolean()) texts.emplace_back("\"Error:\"");
  const auto content = given(block, "content");
  if (content && content->is_string()) {
    texts.emplace_back(content->raw());
  } else if (content && !content->is_array()) {
    return wrong_type(path + ".content", "a string or an array", *content);
  } else if (content) {
    size_t index = 0;
    for (const Value& part : content->items()) {
      SIGNALBOX_TRY_VOID(
          add_result_part(part, fmt::format("{}.content[{}]", path, index++), texts));
    }
  }
  if (texts.size() <= 1) {
    messages_.add_result(call, texts.empty() ? "\"\"" : std::string_view(texts.front()));
    return {};
  }
  json::Writer out;
  out.begin_array();
  for (const std::string& text : texts)
    out.begin_object().member("type", "text").key("text").raw(text).end_object();
  messages_.add_result(call, out.end_array().take());
  return {};
}

Result<void> MessagesReader::add_block(const Value& block, const std::string& path,
                                       std::string_view role) {
  if (!block.is_object()) return wrong_type(path, "an object", block);
  SIGNALBOX_TRY(const std::string_view type, text_member(block, "type", path));
  const bool is_user = role == "user";
  if (type == "tool_result") {
    if (!is_user) return wrong(path + ".type", "only a user's message may contain tool results");
    return add_result(block, path);
  }
  if (is_user) {
    messages_.begin(role);
    for (std::string& image : images_) messages_.add_part(std::move(image));
    images_.clear();
  }
  messages_.begin(role);
  if (type == "text") return add_text(block, path);
  if (type == "image") return add_image(block, path);
  if (type == "document") return add_document(block, path, role);
  if (type == "search_result") return add_search_result(block, path);
  if (type == "tool_use") {
    if (role != "assistant")
      return wrong(path + ".type", "only an assistant's message may call tools");
    return add_call(block, path);
  }
  if (type == "thinking") {
    SIGNALBOX_TRY(const std::string_view thought, text_member(block, "thinking", path));
    messages_.add_reasoning(thought);
    return {};
  }
  if (holds(kProviderBlocks, type)) {
    losses_.drop(fmt::format("messages.{}", type), block);
    if (type == "container_upload") losses_.refuse(no_equivalent(path + ".type"));  // a file
    return {};
  }
  messages_.add_part(std::string(block.raw()));
  return {};
}

Result<void> MessagesReader::add_blocks(const Value& content, const std::string& path,
                                        std::string_view role) {
  if (content.is_string()) {
    messages_.begin(role);
    messages_.add_text(content.raw());
    return {};
  }
  if (!content.is_array()) return wrong_type(path, "a string or an array", content);
  size_t index = 0;
  for (const Value& block : content.items()) {
    SIGNALBOX_TRY_VOID(add_block(block, fmt::format("{}[{}]", path, index++), role));
  }
  if (images_.empty() && index > 0) return {};
  messages_.begin(role);
  for (std::string& image : images_) messages_.add_part(std::move(image));
  images_.clear();
  return {};
}

Result<void> MessagesReader::add_message(const Value& message, const std::string& path) {
  if (!message.is_object()) return wrong_type(path, "an object", message);
  constexpr auto kMembers = std::to_array<std::string_view>({"role", "content"});
  SIGNALBOX_TRY_VOID(refuse_repeats(message, kMembers, path));
  SIGNALBOX_TRY(const std::string_view role, text_member(message, "role", path));
  if (role != "user" && role != "assistant" && role != "system")
    losses_.refuse(wrong(path + ".role", "unknown role (known: user, assistant, system)").value());
  const auto content = message.find("content");
  if (!content) return wrong(path + ".content", "missing");
  SIGNALBOX_TRY_VOID(add_blocks(*content, path + ".content", role));
  messages_.end();
  return {};
}

Result<void> MessagesReader::add_system(const Value& system) {
  SIGNALBOX_TRY_VOID(add_blocks(system, "system", "system"));
  messages_.end();
  return {};
}

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
    losses_.drop(fmt::format("tools.{}", type), tool);
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
      if (!holds(kMembers, member.key))
        losses_.drop(join_path("output_config", member.key), member.value);
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
    if (!holds(kOnlyInMessages, member.key) && !holds(kOnlyInChats, member.key)) {
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
  if (const auto system = given(root, "system")) SIGNALBOX_TRY_VOID(add_system(*system));
  const auto messages = root.find("messages");
  if (!messages) return wrong("messages", "missing");
  if (!messages->is_array()) return wrong_type("messages", "an array", *messages);
  size_t index = 0;
  for (const Value& message : messages->items()) {
    SIGNALBOX_TRY_VOID(add_message(message, fmt::format("messages[{}]", index++)));
  }
  out_.begin_object().member("model", model);
  out_.key("messages").begin_array().raw(gather_system(messages_.take())).end_array();
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
