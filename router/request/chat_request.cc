// Reads `model`, `stream`, the text, and the numbers of tools and images. Everything else stays
// unparsed.

#include "router/request/chat_request.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/name_case.h"
#include "router/request/request_text.h"

namespace signalbox::request {
namespace {

using json::Value;

/// The place of a value, for errors. A text for every message would cost more than reading it.
struct Where {
  std::optional<size_t> message = {};
  std::optional<size_t> part = {};  // of the message's content

  /// "messages[0].content[2].type"
  std::string of(std::string_view member) const { return fmt::format("{}{}", prefix(), member); }
  std::string text() const {
    const std::string prefixed = prefix();
    return prefixed.substr(0, prefixed.size() - 1);
  }

 private:
  std::string prefix() const {
    if (!message) return "";
    if (!part) return fmt::format("messages[{}].", *message);
    return fmt::format("messages[{}].content[{}].", *message, *part);
  }
};

template <class... Args>
tl::unexpected<Error> invalid(std::string_view path, fmt::format_string<Args...> format,
                              Args&&... args) {
  return fail(Code::kInvalid, "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}

tl::unexpected<Error> invalid_type(std::string_view path, std::string_view expected,
                                   const Value& found) {
  return invalid(path, "expected {}, found {}", expected, json::type_name(found.type()));
}

// Some servers ignore case, so they would read such a member, and the router has not read it.
tl::unexpected<Error> other_case(const std::string& path, std::string_view key) {
  return invalid(path, "expected \"{}\": some servers take one for the other", key);
}

// Finds the members that routing reads in one pass; rejects a repeated one.
template <size_t N>
Result<void> find_once(const Value& object, const Where& where,
                       const std::pair<std::string_view, std::optional<Value>*> (&wanted)[N]) {
  for (const json::Member& member : object.members()) {
    const auto plain = in_lower_case(member.key);
    for (const auto& [key, slot] : wanted) {
      if (plain && *plain == key) return other_case(where.of(member.key), key);
      if (member.key != key) continue;
      if (*slot) return invalid(where.of(key), "given more than once");
      *slot = member.value;
    }
  }
  return {};
}

bool is_image(std::string_view type) {
  return type == "image_url" || type == "input_image" || type == "image";
}

bool is_audio(std::string_view type) {
  return type == "input_audio" || type == "audio_url";
}

bool is_video(std::string_view type) {
  return type == "video_url" || type == "input_video";
}

/// The texts of a message's content: a view of the only one, or all of them joined.
class ContentText {
 public:
  /// `bytes_max` is a bound on all texts together.
  explicit ContentText(size_t bytes_max) : bytes_max_(bytes_max) {}

  void add(std::string_view text) {
    if (count_++ == 0) {
      only_ = text;
      return;
    }
    if (count_ == 2) {
      joined_.reserve(bytes_max_);
      joined_ = only_;
    }
    if (!joined_.empty()) joined_.push_back('\n');
    joined_ += text;
  }

  std::string_view keep_in(TextPool& pool) {
    return count_ < 2 ? only_ : pool.keep(std::move(joined_));
  }

 private:
  const size_t bytes_max_;
  size_t count_ = 0;
  std::string_view only_;
  std::string joined_;
};

Result<void> append_part(const Value& part, const Where& where, ContentText& out,
                         ChatMessage& message) {
  if (!part.is_object()) return invalid_type(where.text(), "an object", part);
  std::optional<Value> type, text, refusal;
  SIGNALBOX_TRY_VOID(
      find_once(part, where, {{"type", &type}, {"text", &text}, {"refusal", &refusal}}));
  if (!type || !type->is_string()) return invalid(where.of("type"), "expected a string");
  if (is_image(type->text())) ++message.images;
  message.has_audio = message.has_audio || is_audio(type->text());
  message.has_video = message.has_video || is_video(type->text());
  if (type->text() == "text" && (!text || !text->is_string()))
    return invalid(where.of("text"), "expected a string");
  // A server may show the text of any part to the model, whatever its type, so guards must read it.
  for (const auto& each : {text, refusal}) {
    if (each && each->is_string()) out.add(each->text());
  }
  return {};
}

Result<void> read_content(const std::optional<Value>& content, Where where, ChatMessage& message,
                          TextPool& pool) {
  if (!content || content->is_null()) return {};
  if (content->is_string()) {
    message.text = content->text();
    return {};
  }
  if (!content->is_array())
    return invalid_type(where.of("content"), "a string, an array or null", *content);
  ContentText text(content->raw().size());
  where.part = 0;
  for (const Value& part : content->items()) {
    SIGNALBOX_TRY_VOID(append_part(part, where, text, message));
    ++*where.part;
  }
  message.text = text.keep_in(pool);
  return {};
}

ToolChoice tool_choice_of(const std::optional<Value>& choice) {
  if (!choice || choice->is_null()) return ToolChoice::kAuto;
  if (choice->is_object()) return ToolChoice::kRequired;  // names a tool
  if (!choice->is_string()) return ToolChoice::kAuto;
  const std::string_view word = choice->text();
  return word == "required" ? ToolChoice::kRequired
         : word == "none"   ? ToolChoice::kNone
                            : ToolChoice::kAuto;
}

uint32_t count_items(const std::optional<Value>& list) {
  uint32_t count = 0;
  if (!list) return count;
  for (const Value& item : list->items()) count += item.is_object() ? 1 : 0;
  return count;
}

Result<ChatMessage> read_message(const Value& message, const Where& where, TextPool& pool) {
  if (!message.is_object()) return invalid_type(where.text(), "an object", message);
  std::optional<Value> role, content, tool_calls;
  SIGNALBOX_TRY_VOID(find_once(
      message, where, {{"role", &role}, {"content", &content}, {"tool_calls", &tool_calls}}));
  if (!role) return invalid(where.of("role"), "missing");
  if (!role->is_string()) return invalid_type(where.of("role"), "a string", *role);
  ChatMessage out{.role = role->text(), .text = {}};
  SIGNALBOX_TRY_VOID(read_content(content, where, out, pool));
  out.tool_calls = count_items(tool_calls);
  std::string aside;
  visit_message_text(message, [&](const TextPiece& piece) {
    // The content is read separately, so only its escaped text is added.
    if (piece.kind == TextPiece::Kind::kContent) {
      append_escaped(piece.text, aside);
    } else {
      append_text(piece, aside);
    }
  });
  out.aside = pool.keep(std::move(aside));
  return out;
}

/// Returns the number of elements; kTooLarge if it exceeds `most`.
template <class Range>
Result<size_t> count_within(const Range& all, size_t most, std::string_view where,
                            std::string_view things) {
  size_t count = 0;
  for (auto each = all.begin(); each != all.end(); ++each) ++count;
  if (count <= most) return count;
  return fail(Code::kTooLarge, "{}: expected at most {} {}, found {}", where, most, things, count);
}

Result<void> read_messages(const Value& list, ChatRequest& request) {
  SIGNALBOX_TRY(const size_t count,
                count_within(list.items(), kMessagesMax, "messages", "messages"));
  request.messages.reserve(count);
  for (const Value& item : list.items()) {
    SIGNALBOX_TRY(ChatMessage message,
                  read_message(item, {.message = request.messages.size()}, request.texts_made));
    request.messages.push_back(message);
  }
  return {};
}

// A message with an unknown role is treated as the user's, whose text guards trust least.
bool is_from_user(const ChatMessage& message) {
  constexpr std::array<std::string_view, 5> kOthers = {"system", "developer", "assistant", "tool",
                                                       "function"};
  return std::ranges::find(kOthers, message.role) == kOthers.end();
}

void add_texts(const ChatMessage& message, std::vector<std::string_view>& out) {
  for (const std::string_view text : {message.text, message.aside}) {
    if (!text.empty()) out.push_back(text);
  }
}

Result<void> read_members(ChatRequest& request) {
  const Value root = request.document.root();
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  SIGNALBOX_TRY_VOID(count_within(root.members(), kMembersMax, "the request", "members"));
  std::optional<Value> model, messages, stream, tools, metadata;
  SIGNALBOX_TRY_VOID(find_once(root, {},
                               {{"model", &model},
                                {"messages", &messages},
                                {"stream", &stream},
                                {"tools", &tools},
                                {"metadata", &metadata}}));
  if (!model) return invalid("model", "missing");
  if (!model->is_string()) return invalid_type("model", "a string", *model);
  request.model = model->text();
  if (stream && !stream->is_null()) {
    if (!stream->is_bool()) return invalid_type("stream", "a boolean", *stream);
    request.stream = stream->boolean();
  }
  if (tools) {
    request.tools = count_items(tools);
    request.tools_bytes = static_cast<uint32_t>(tools->raw().size());
  }
  request.tool_choice = tool_choice_of(root.find("tool_choice"));
  for (const json::Member& member : root.members()) {
    const std::optional<Place> place = place_of(member.key);
    if (!place) {
      const auto plain = in_lower_case(member.key);
      if (plain && place_of(*plain)) return other_case(std::string(member.key), *plain);
      continue;
    }
    std::string& target = *place == Place::kAttachment ? request.attached
                          : *place == Place::kSent     ? request.sent
                                                       : request.definitions;
    visit_text(member.value, *place, [&](const TextPiece& piece) { append_text(piece, target); });
  }
  if (!messages) return invalid("messages", "missing");
  if (!messages->is_array()) return invalid_type("messages", "an array", *messages);
  return read_messages(*messages, request);
}

}  // namespace

std::string_view ChatRequest::user_text() const {
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (is_from_user(*message) && !message->text.empty()) return message->text;
  }
  return {};
}

std::vector<std::string_view> ChatRequest::user_texts() const {
  std::vector<std::string_view> out;
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (is_from_user(*message) && !message->text.empty()) out.push_back(message->text);
  }
  return out;
}

std::vector<std::string_view> ChatRequest::turn_texts() const {
  std::vector<std::string_view> out;
  bool is_current_turn = true;
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (is_from_user(*message) && !message->text.empty()) {
      out.insert(out.begin(), message->text);
      if (!message->aside.empty()) out.push_back(message->aside);
      break;
    }
    if (is_current_turn) add_texts(*message, out);
    if (message->role == "assistant") is_current_turn = false;
  }
  if (!attached.empty()) out.push_back(attached);
  return out;
}

std::vector<std::string_view> ChatRequest::texts() const {
  std::vector<std::string_view> out;
  for (auto message = messages.rbegin(); message != messages.rend(); ++message)
    add_texts(*message, out);
  if (!attached.empty()) out.push_back(attached);
  if (!definitions.empty()) out.push_back(definitions);
  return out;
}

bool ChatRequest::is_document(std::string_view text) const {
  if (text.data() == attached.data()) return true;
  return std::ranges::any_of(messages, [&](const ChatMessage& message) {
    const bool is_result = message.role == "tool" || message.role == "function";
    return is_result && (text.data() == message.text.data() || text.data() == message.aside.data());
  });
}

std::optional<std::string_view> ChatRequest::metadata(std::string_view key) const {
  const std::optional<Value> all = document.root().find("metadata");
  const std::optional<Value> found = all ? all->find(key) : std::nullopt;
  if (!found || !found->is_string()) return std::nullopt;
  return found->text();
}

bool ChatRequest::requests_usage() const {
  const auto options = document.root().find("stream_options");
  const auto usage = options ? options->find("include_usage") : std::nullopt;
  return usage && usage->is_bool() && usage->boolean();
}

void ChatRequest::attach(std::string_view json) {
  const auto parts = json_within(json);
  if (!parts) return;
  visit_text(parts->root(), Place::kMessage,
             [this](const TextPiece& piece) { append_text(piece, attached); });
}

size_t ChatRequest::memory_bytes() const {
  return document.memory_bytes() + messages.capacity() * sizeof(ChatMessage) +
         texts_made.memory_bytes() + attached.capacity() + definitions.capacity() +
         sent.capacity() + (native ? native->document.memory_bytes() : 0);
}

// An upper bound, in copies of the body. A plain body takes kPlain: the body itself, the places of
// its long values, and its texts twice, because they grow by copying. Texts with escapes are also
// kept without them (kEscaped). A text that is JSON itself, with escaped quotes, is parsed as well
// (kNested). Each message begins with a brace and takes a ChatMessage.
size_t ChatRequest::parsing_bytes(std::string_view body) {
  constexpr size_t kPlain = 4, kEscaped = 5, kNested = 7;
  const bool is_plain = body.find('\\') == std::string_view::npos;
  const bool is_nested = !is_plain && body.find("\\\"") != std::string_view::npos;
  const size_t copies = is_plain ? kPlain : is_nested ? kNested : kEscaped;
  const auto braces = static_cast<size_t>(std::ranges::count(body, '{'));
  return copies * body.size() + std::min(braces, kMessagesMax) * sizeof(ChatMessage);
}

Result<ChatRequest> ChatRequest::take(std::string& body) {
  SIGNALBOX_TRY(json::Document document, json::Document::take(body));
  ChatRequest request{.document = std::move(document),
                      .model = {},
                      .messages = {},
                      .texts_made = {},
                      .attached = {},
                      .definitions = {},
                      .sent = {},
                      .native = {},
                      .reasoning = {}};
  if (auto done = read_members(request); !done) {
    body = std::move(request.document).take_source();
    return tl::unexpected(std::move(done).error());
  }
  return request;
}

Result<ChatRequest> ChatRequest::parse(std::string body) {
  return take(body);
}

}  // namespace signalbox::request
