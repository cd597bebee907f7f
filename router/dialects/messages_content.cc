// The blocks of a turn become parts of a message, in order. Tool results become messages of their
// own. Images in them move to the user message that follows, because a tool message must not
// contain any.

#include "router/dialects/messages_content.h"

#include <array>
#include <utility>

#include "base/json_writer.h"

namespace signalbox::dialects {
namespace {

using json::Value;

// Blocks of features that run at the provider.
constexpr auto kProviderBlocks = std::to_array<std::string_view>(
    {"redacted_thinking", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result",
     "code_execution_tool_result", "bash_code_execution_tool_result",
     "text_editor_code_execution_tool_result", "tool_search_tool_result", "container_upload",
     "mcp_tool_use", "mcp_tool_result", "tool_reference", "browser_state", "compaction"});

// Blocks that a document cannot hold. In a tool's result only the texts and pictures of a document
// are kept, so guards would not see these blocks.
constexpr auto kNotInDocuments =
    std::to_array<std::string_view>({"document", "tool_result", "tool_use", "thinking"});

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

bool requests_citations(const Value& block) {
  const auto citations = given(block, "citations");
  const auto enabled = citations ? citations->find("enabled") : std::nullopt;
  return citations && !(enabled && enabled->is_bool() && !enabled->boolean());
}

}  // namespace

Result<void> MessagesContent::add_text(const Value& block, const std::string& path) {
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

Result<void> MessagesContent::add_image(const Value& block, const std::string& path) {
  SIGNALBOX_TRY(std::string part, image_part(block, path, losses_));
  if (!part.empty()) messages_.add_part(part);
  return {};
}

Result<void> MessagesContent::add_document(const Value& block, const std::string& path,
                                           std::string_view role) {
  if (requests_citations(block)) losses_.drop("messages.citations");
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
    messages_.add_part(part);
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
  if (!content->is_array()) return wrong_type(at + ".content", "a string or an array", *content);
  size_t index = 0;
  for (const Value& part : content->items()) {
    const std::string each = fmt::format("{}.content[{}]", at, index++);
    SIGNALBOX_TRY(const std::string_view part_type, text_member(part, "type", each));
    if (holds(kNotInDocuments, part_type))
      return wrong(each + ".type", "a document cannot hold a block of this type");
    SIGNALBOX_TRY_VOID(add_block(part, each, role));
  }
  return {};
}

Result<void> MessagesContent::add_search_result(const Value& block, const std::string& path) {
  if (requests_citations(block)) losses_.drop("messages.citations");
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

Result<void> MessagesContent::add_call(const Value& block, const std::string& path) {
  SIGNALBOX_TRY(const std::string_view id, text_member(block, "id", path));
  SIGNALBOX_TRY(const std::string_view name, text_member(block, "name", path));
  drop_members(block, std::array<std::string_view, 1>{"toolset_name"}, "messages", losses_);
  const auto input = block.find("input");
  if (!input) return wrong(path + ".input", "missing");
  if (!input->is_object()) return wrong_type(path + ".input", "an object", *input);
  messages_.add_call(id, name, input->raw());
  return {};
}

Result<void> MessagesContent::add_result_part(const Value& part, const std::string& path,
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
    ChatMessages outer = std::exchange(messages_, ChatMessages::collector());
    messages_.begin("user");
    Result<void> added =
        type == "document" ? add_document(part, path, "user") : add_search_result(part, path);
    for (std::string& text : messages_.take_texts(images_)) texts.push_back(std::move(text));
    messages_ = std::move(outer);
    return added;
  } else {
    losses_.drop_kind("messages", type, part);
  }
  return {};
}

Result<void> MessagesContent::add_result(const Value& block, const std::string& path) {
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

Result<void> MessagesContent::add_block(const Value& block, const std::string& path,
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
    for (const std::string& image : images_) messages_.add_part(image);
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
  messages_.add_part(block.raw());
  return {};
}

Result<void> MessagesContent::add_blocks(const Value& content, const std::string& path,
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
  for (const std::string& image : images_) messages_.add_part(image);
  images_.clear();
  return {};
}

Result<void> MessagesContent::add_message(const Value& message, const std::string& path) {
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

Result<void> MessagesContent::add_system(const Value& system) {
  SIGNALBOX_TRY_VOID(add_blocks(system, "system", "system"));
  messages_.end();
  return {};
}

}  // namespace signalbox::dialects
