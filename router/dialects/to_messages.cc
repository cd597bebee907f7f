// Turns must alternate in this API, so consecutive messages of one role are merged. All system
// messages are moved to the front.

#include <algorithm>
#include <array>
#include <set>

#include "base/ascii.h"
#include "router/dialects/anthropic_server.h"
#include "router/dialects/chat_messages.h"
#include "router/dialects/custom_tools.h"

namespace signalbox::dialects {
namespace {

using json::Value;
using Names = std::span<const std::string_view>;

constexpr std::string_view kFunction = "function", kCustom = "custom";

// The default for max_tokens, which the API requires.
constexpr int64_t kTokensMax = 8192;

constexpr auto kTranslated = std::to_array<std::string_view>(
    {"model", "messages", "max_tokens", "max_completion_tokens", "stop", "stream", "stream_options",
     "tools", "tool_choice", "parallel_tool_calls", "user", "response_format", "reasoning_effort"});

constexpr auto kDropped =
    std::to_array<std::string_view>({"metadata", "store", "service_tier", "prompt_cache_key",
                                     "prompt_cache_retention", "safety_identifier"});

// Members that are sent under the same name.
constexpr auto kShared =
    std::to_array<std::string_view>({"temperature", "top_p", "top_k", "thinking", "cache_control"});

bool holds(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Members without which the reply would be another one than the client can use.
constexpr auto kEssential =
    std::to_array<std::string_view>({"n", "functions", "function_call", "modalities", "audio"});

Error no_place(std::string_view path) {
  return {Code::kInvalid,
          fmt::format("{}: has no equivalent in a request to Anthropic's API, which the model's "
                      "server uses",
                      path)};
}

bool is_text_alone(const Value& modalities) {
  bool out = false;
  for (const Value& each : modalities.items()) {
    if (!each.is_string() || each.text() != "text") return false;
    out = true;
  }
  return out;
}

/// True if a value has no effect: null, false, zero, a single choice, or text as the only kind of
/// output.
bool has_no_effect(std::string_view key, const Value& value) {
  if (value.is_null() || (value.is_bool() && !value.boolean())) return true;
  if (key == "modalities") return is_text_alone(value);
  if (!value.is_number()) return false;
  const double number = value.number().value_or(1);
  return number == 0 || (key == "n" && number == 1);
}

std::string mark_of(std::string_view ttl) {
  constexpr std::string_view kDefault = "5m";
  const std::string lifetime = ttl == kDefault ? "" : fmt::format(R"(,"ttl":"{}")", ttl);
  return fmt::format(R"("cache_control":{{"type":"ephemeral"{}}})", lifetime);
}

/// Adds the mark to an object in JSON.
void add_mark(std::string_view ttl, std::string& object) {
  object.insert(object.size() - 1, fmt::format("{}{}", object.size() > 2 ? "," : "", mark_of(ttl)));
}

/// Adds the mark that the client put on a part or a tool to the block made of it.
std::string with_mark(const Value& source, std::string block) {
  const auto mark = given(source, "cache_control");
  if (mark && mark->is_object())
    block.insert(block.size() - 1, fmt::format(R"(,"cache_control":{})", mark->raw()));
  return block;
}

/// The function or the custom tool in a tool, a call or a choice.
struct Named {
  Value value;
  std::string_view key;
  bool is_custom() const { return key == kCustom; }
};

std::optional<Named> named_in(const Value& object) {
  for (const std::string_view key : {kFunction, kCustom}) {
    const auto found = object.find(key);
    if (found && found->is_object()) return Named{*found, key};
  }
  return std::nullopt;
}

class Writer {
 public:
  explicit Writer(const CacheMarks& marks) : marks_(marks) {}
  Result<std::string> write(const Value& root);
  Losses& losses() { return losses_; }
  /// The names of the custom tools.
  std::set<std::string, std::less<>>& custom() { return custom_; }

 private:
  Result<void> add_message(const Value& message, const std::string& path);
  Result<void> add_content(const Value& content, const std::string& path);
  Result<void> add_part(const Value& part, const std::string& path);
  Result<void> add_calls(const Value& calls, const std::string& path);
  Result<void> add_result(const Value& message, const std::string& path);
  void add_block(const Value& part, std::string block);
  void add_text(const Value& part, std::string_view json);
  void turn_to(std::string_view role);

  Result<void> write_tokens(const Value& root);
  void write_stop(const Value& root);
  std::string tool_block(const Value& tool, std::string_view name, bool custom);
  Result<void> write_tools(const Value& root);
  Result<void> write_tool_choice(const Value& root);
  void write_temperature(const Value& temperature);
  Result<void> write_output(const Value& root);
  Result<void> write_rest(const Value& root);

  std::set<std::string, std::less<>> custom_;
  std::string messages_;             // elements of the array
  std::string role_;                 // of the open turn; "": none, or the system's
  std::vector<std::string> blocks_;  // of the open turn
  std::vector<std::string> system_;  // blocks
  bool is_system_ = false;           // following content belongs to the system message
  Losses losses_;
  const CacheMarks& marks_;
  json::Writer out_;
};

std::string array_of(const std::vector<std::string>& elements) {
  json::Writer out;
  out.begin_array();
  for (const std::string& element : elements) out.raw(element);
  return out.end_array().take();
}

void Writer::turn_to(std::string_view role) {
  is_system_ = role == "system";
  if (is_system_ || role == role_) return;
  if (!blocks_.empty()) {
    messages_ += fmt::format(R"({}{{"role":"{}","content":{}}})", messages_.empty() ? "" : ",",
                             role_, array_of(blocks_));
  }
  blocks_.clear();
  role_ = role;
}

void Writer::add_block(const Value& part, std::string block) {
  (is_system_ ? system_ : blocks_).push_back(with_mark(part, std::move(block)));
}

// The API rejects empty texts.
void Writer::add_text(const Value& part, std::string_view json) {
  if (json != "\"\"") add_block(part, fmt::format(R"({{"type":"text","text":{}}})", json));
}

/// Returns a data URL as inline data and any other URL as a reference.
std::string source_of(std::string_view url) {
  json::Writer out;
  out.begin_object();
  constexpr std::string_view kData = "data:", kBase64 = ";base64,";
  const size_t at = url.find(kBase64);
  if (url.starts_with(kData) && at != std::string_view::npos) {
    out.member("type", "base64").member("media_type", url.substr(5, at - 5));
    out.member("data", url.substr(at + kBase64.size()));
  } else {
    out.member("type", "url").member("url", url);
  }
  return out.end_object().take();
}

Result<void> Writer::add_part(const Value& part, const std::string& path) {
  if (!part.is_object()) return wrong_type(path, "an object", part);
  SIGNALBOX_TRY(const std::string_view type, text_member(part, "type", path));
  if (type == "text" || type == "refusal") {
    SIGNALBOX_TRY_VOID(text_member(part, type, path));
    add_text(part, part.find(type)->raw());
    return {};
  }
  if (is_system_) {
    losses_.drop_kind("messages", type, part);
    return {};
  }
  if (type == "image_url") {
    const auto image = part.find("image_url");
    const std::string at = path + ".image_url";
    if (!image || !image->is_object()) return wrong(at, "expected an object");
    SIGNALBOX_TRY(const std::string_view url, text_member(*image, "url", at));
    add_block(part, fmt::format(R"({{"type":"image","source":{}}})", source_of(url)));
    return {};
  }
  if (type == "file") {
    const auto file = part.find("file");
    const std::string at = path + ".file";
    if (!file || !file->is_object()) return wrong(at, "expected an object");
    SIGNALBOX_TRY(const std::string_view data, text_member(*file, "file_data", at));
    SIGNALBOX_TRY(const std::string_view name, optional_text(*file, "filename", at));
    json::Writer block;
    block.begin_object().member("type", "document").key("source").raw(source_of(data));
    if (!name.empty()) block.member("title", name);
    add_block(part, block.end_object().take());
    return {};
  }
  if (type == "input_audio") {
    losses_.refuse(no_place(path + ".type"));
    return {};
  }
  blocks_.emplace_back(part.raw());
  return {};
}

Result<void> Writer::add_content(const Value& content, const std::string& path) {
  if (content.is_null()) return {};
  if (content.is_string()) {
    add_text(content, content.raw());
    return {};
  }
  if (!content.is_array()) return wrong_type(path, "a string, an array or null", content);
  size_t index = 0;
  for (const Value& part : content.items()) {
    SIGNALBOX_TRY_VOID(add_part(part, fmt::format("{}[{}]", path, index++)));
  }
  return {};
}

Result<void> Writer::add_calls(const Value& calls, const std::string& path) {
  size_t index = 0;
  for (const Value& call : calls.items()) {
    const std::string at = fmt::format("{}[{}]", path, index++);
    const auto named = named_in(call);
    if (!named) {
      losses_.refuse(no_place(at));
      continue;
    }
    const std::string where = fmt::format("{}.{}", at, named->key);
    SIGNALBOX_TRY(const std::string_view id, text_member(call, "id", at));
    SIGNALBOX_TRY(const std::string_view name, text_member(named->value, "name", where));
    const std::string_view key = named->is_custom() ? "input" : "arguments";
    SIGNALBOX_TRY(const std::string_view text, optional_text(named->value, key, where));
    std::string arguments = named->is_custom() ? custom_arguments(text) : std::string(text);
    if (arguments.empty()) arguments = "{}";
    const auto input = json::Document::parse(std::move(arguments));
    if (!input || !input->root().is_object())
      return wrong(where + ".arguments", "expected a JSON object in the string");
    json::Writer block;
    block.begin_object().member("type", "tool_use").member("id", id).member("name", name);
    blocks_.push_back(block.key("input").raw(input->root().raw()).end_object().take());
  }
  return {};
}

Result<void> Writer::add_result(const Value& message, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view call, text_member(message, "tool_call_id", path));
  turn_to("user");
  // Collects the content in blocks of its own.
  std::vector<std::string> saved_blocks;
  saved_blocks.swap(blocks_);
  const auto content = message.find("content");
  Result<void> added = content ? add_content(*content, path + ".content") : Result<void>{};
  saved_blocks.swap(blocks_);
  if (!added) return added;
  json::Writer block;
  block.begin_object().member("type", "tool_result").member("tool_use_id", call);
  blocks_.push_back(block.key("content").raw(array_of(saved_blocks)).end_object().take());
  return {};
}

Result<void> Writer::add_message(const Value& message, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view role, text_member(message, "role", path));
  if (given(message, "name") && role != "tool") losses_.drop("messages.name");
  if (role == "tool") return add_result(message, path);
  if (role == "system" || role == "developer") {
    turn_to("system");
  } else if (role == "user" || role == "assistant") {
    turn_to(role);
  } else {
    losses_.refuse(no_place(path + ".role"));
    return {};
  }
  if (given(message, "function_call")) losses_.refuse(no_place(path + ".function_call"));
  const auto content = message.find("content");
  if (content) SIGNALBOX_TRY_VOID(add_content(*content, path + ".content"));
  const auto calls = given(message, "tool_calls");
  return calls ? add_calls(*calls, path + ".tool_calls") : Result<void>{};
}

Result<void> Writer::write_tokens(const Value& root) {
  auto tokens = given(root, "max_completion_tokens");
  if (!tokens) tokens = given(root, "max_tokens");
  out_.key("max_tokens");
  tokens ? out_.raw(tokens->raw()) : out_.integer(kTokensMax);
  return {};
}

// The API rejects sequences of white space.
void Writer::write_stop(const Value& root) {
  const auto stop = given(root, "stop");
  if (!stop) return;
  out_.key("stop_sequences");
  if (!stop->is_string() && !stop->is_array()) {  // the server refuses it
    out_.raw(stop->raw());
    return;
  }
  json::Writer out;
  out.begin_array();
  const auto add = [&](const Value& sequence) {
    const bool is_blank = sequence.is_string() && ascii::trimmed(sequence.text()).empty();
    is_blank ? losses_.drop("stop") : static_cast<void>(out.raw(sequence.raw()));
  };
  if (stop->is_string()) add(*stop);
  for (const Value& sequence : stop->items()) add(sequence);
  out_.raw(out.end_array().take());
}

// The API's highest temperature is 1.
void Writer::write_temperature(const Value& temperature) {
  const bool is_over = temperature.number().value_or(0) > 1;
  if (is_over) losses_.drop("temperature");
  out_.key("temperature").raw(is_over ? std::string_view("1") : temperature.raw());
}

/// `tool_choice` with a list of functions: only these are offered.
std::optional<Value> allowed_tools(const Value& root) {
  const auto choice = given(root, "tool_choice");
  const auto type = choice ? choice->find("type") : std::nullopt;
  if (!type || !type->is_string() || type->text() != "allowed_tools") return std::nullopt;
  return choice->find("allowed_tools");
}

bool allows(const Value& allowed, std::string_view name) {
  const auto tools = allowed.find("tools");
  if (!tools) return false;
  for (const Value& tool : tools->items()) {
    const auto named = named_in(tool);
    const auto found = named ? named->value.find("name") : std::nullopt;
    if (found && found->is_string() && found->text() == name) return true;
  }
  return false;
}

// The API has no grammar for a tool's input.
std::string Writer::tool_block(const Value& tool, std::string_view name, bool custom) {
  constexpr auto kMembers =
      std::to_array<std::string_view>({"name", "description", "parameters", "format"});
  json::Writer out;
  out.begin_object().member("name", name);
  if (const auto description = given(tool, "description"))
    out.key("description").raw(description->raw());
  const auto parameters = given(tool, "parameters");
  const std::string_view schema = parameters ? parameters->raw() : R"({"type":"object"})";
  out.key("input_schema").raw(custom ? kCustomParameters : schema);
  const auto format = custom ? given(tool, "format") : std::nullopt;
  if (format && format->find("grammar")) losses_.drop("tools.format");
  for (const json::Member& member : tool.members()) {
    if (!holds(kMembers, member.key) && !member.value.is_null())
      out.key(member.key).raw(member.value.raw());
  }
  return out.end_object().take();
}

Result<void> Writer::write_tools(const Value& root) {
  const auto tools = given(root, "tools");
  if (!tools || !tools->is_array()) return {};
  const auto allowed = allowed_tools(root);
  std::vector<std::string> written;
  size_t index = 0;
  for (const Value& tool : tools->items()) {
    const std::string path = fmt::format("tools[{}]", index++);
    const auto named = named_in(tool);
    if (!named) {
      SIGNALBOX_TRY(const std::string_view type, optional_text(tool, "type", path));
      losses_.drop_kind("tools", type);
      continue;
    }
    SIGNALBOX_TRY(const std::string_view name,
                  text_member(named->value, "name", fmt::format("{}.{}", path, named->key)));
    if (allowed && !allows(*allowed, name)) continue;
    if (named->is_custom()) custom_.emplace(name);
    std::string block = tool_block(named->value, name, named->is_custom());
    const bool has_mark = given(named->value, "cache_control").has_value();
    written.push_back(has_mark ? std::move(block) : with_mark(tool, std::move(block)));
  }
  if (written.empty()) {
    const auto mode = allowed ? allowed->find("mode") : std::nullopt;
    if (mode && mode->is_string() && mode->text() == "required")
      losses_.refuse(no_place("tool_choice"));
    return {};
  }
  if (marks_.tools) add_mark(marks_.ttl, written.back());
  out_.key("tools").raw(array_of(written));
  return write_tool_choice(root);
}

Result<void> Writer::write_tool_choice(const Value& root) {
  auto choice = given(root, "tool_choice");
  if (const auto allowed = allowed_tools(root)) choice = given(*allowed, "mode");
  const auto parallel = given(root, "parallel_tool_calls");
  const bool one_call_at_a_time = parallel && parallel->is_bool() && !parallel->boolean();
  if (!choice && !one_call_at_a_time) return {};
  const auto named = choice ? named_in(*choice) : std::nullopt;
  if (choice && !choice->is_string() && !named) {
    losses_.refuse(no_place("tool_choice"));
    return {};
  }
  out_.key("tool_choice").begin_object();
  if (!choice) {
    out_.member("type", "auto");
  } else if (choice->is_string()) {
    out_.member("type", choice->text() == "required" ? "any" : choice->text());
  } else {
    SIGNALBOX_TRY(const std::string_view name,
                  text_member(named->value, "name", fmt::format("tool_choice.{}", named->key)));
    out_.member("type", "tool").member("name", name);
  }
  const bool none = choice && choice->is_string() && choice->text() == "none";
  if (one_call_at_a_time && !none) out_.member("disable_parallel_tool_use", true);
  out_.end_object();
  return {};
}

Result<void> Writer::write_output(const Value& root) {
  SIGNALBOX_TRY(const std::string_view effort, optional_text(root, "reasoning_effort", ""));
  std::string_view schema;
  const auto format = given(root, "response_format");
  if (format) {
    SIGNALBOX_TRY(const std::string_view type, text_member(*format, "type", "response_format"));
    const auto named = format->find("json_schema");
    const auto found = named ? named->find("schema") : std::nullopt;
    if (type != "text" && !found) losses_.refuse(no_place("response_format.type"));
    if (found) schema = found->raw();
  }
  if (effort == "none" && !root.find("thinking"))
    out_.key("thinking").begin_object().member("type", "disabled").end_object();
  const bool has_effort = !effort.empty() && effort != "none";
  if (!has_effort && schema.empty()) return {};
  out_.key("output_config").begin_object();
  if (has_effort) out_.member("effort", effort == "minimal" ? "low" : effort);
  if (!schema.empty()) {
    out_.key("format").begin_object().member("type", "json_schema").key("schema").raw(schema);
    out_.end_object();
  }
  out_.end_object();
  return {};
}

Result<void> Writer::write_rest(const Value& root) {
  if (const auto user = given(root, "user"))
    out_.key("metadata").begin_object().key("user_id").raw(user->raw()).end_object();
  if (const auto stream = given(root, "stream")) out_.key("stream").raw(stream->raw());
  for (const json::Member& member : root.members()) {
    if (member.key == "temperature" && !member.value.is_null()) {
      write_temperature(member.value);
    } else if (holds(kShared, member.key)) {
      out_.key(member.key).raw(member.value.raw());
    } else if (!holds(kTranslated, member.key) && !holds(kDropped, member.key) &&
               !has_no_effect(member.key, member.value)) {
      holds(kEssential, member.key) ? losses_.refuse(no_place(member.key))
                                    : losses_.drop_parameter(member.key);
    }
  }
  return {};
}

Result<std::string> Writer::write(const Value& root) {
  SIGNALBOX_TRY(const std::string_view model, text_member(root, "model", ""));
  const auto messages = root.find("messages");
  if (!messages || !messages->is_array()) return tl::unexpected<Error>(no_place("prompt"));
  size_t index = 0;
  for (const Value& message : messages->items()) {
    SIGNALBOX_TRY_VOID(add_message(message, fmt::format("messages[{}]", index++)));
  }
  turn_to("");
  if (messages_.empty() && !system_.empty()) {  // the API rejects a request without a turn
    messages_ = fmt::format(R"({{"role":"user","content":{}}})", array_of(system_));
    system_.clear();
  }
  out_.begin_object().member("model", model);
  if (marks_.instructions && !system_.empty()) add_mark(marks_.ttl, system_.back());
  if (!system_.empty()) out_.key("system").raw(array_of(system_));
  out_.key("messages").begin_array();
  if (!messages_.empty()) out_.raw(messages_);
  out_.end_array();
  SIGNALBOX_TRY_VOID(write_tokens(root));
  write_stop(root);
  SIGNALBOX_TRY_VOID(write_tools(root));
  SIGNALBOX_TRY_VOID(write_output(root));
  SIGNALBOX_TRY_VOID(write_rest(root));
  return out_.end_object().take();
}

}  // namespace

Result<MessagesRequest> to_messages(std::string chat, int64_t now, const CacheMarks& marks) {
  const bool is_wanted = marks.instructions || marks.tools;
  // A text with this name leaves the request without marks, which changes no answer.
  const bool adds = is_wanted && chat.find(R"("cache_control")") == std::string::npos;
  const CacheMarks own = adds ? marks : CacheMarks{};
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(chat)));
  const Value root = document.root();
  MessagesRequest out;
  Writer writer(own);
  SIGNALBOX_TRY(out.body, writer.write(root));
  out.losses = std::move(writer.losses());
  const auto options = root.find("stream_options");
  const auto usage = options ? options->find("include_usage") : std::nullopt;
  out.replies = replies_of_messages(usage && usage->is_bool() && usage->boolean(), now,
                                    std::move(writer.custom()));
  return out;
}

}  // namespace signalbox::dialects
