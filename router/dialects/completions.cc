// A system prompt and documents that a decision adds are placed before every text, since this API
// has no other place for them.

#include "router/dialects/completions.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "router/dialects/chat_messages.h"
#include "router/dialects/chat_reply.h"

namespace signalbox::dialects {
namespace {

using json::Value;

// Marks a prompt that is a list, so that it stays a list through the edits, even with one text.
// outgoing() and as_chat() remove this member.
constexpr std::string_view kList = "one_of_several";
constexpr std::string_view kUser = "user";

/// Translates chat completions to completions, for replies that the router creates itself.
class CompletionReplies final : public ChatStream {
 public:
  explicit CompletionReplies(std::string id) : id_(std::move(id)) {}

  Result<std::string> whole(std::string body) override {
    SIGNALBOX_TRY(const json::Document document, parse_chat(std::move(body)));
    SIGNALBOX_TRY(const ChatPiece piece, read_chat(document.root(), "message"));
    return object(piece, piece.usage);
  }
  std::string refusal(int, std::string_view body) const override { return std::string(body); }
  std::string broken(std::string_view error_body) override {
    return fmt::format("data: {}\n\n", error_body);
  }

 private:
  std::string object(const ChatPiece& piece, const std::optional<ChatUsage>& usage) const {
    json::Writer out;
    out.begin_object().member("id", piece.id.empty() ? std::string_view(id_) : piece.id);
    out.member("object", "text_completion").member("created", piece.created);
    out.member("model", piece.model).key("choices").begin_array().begin_object();
    out.member("text", piece.text).member("index", 0).key("logprobs").null().key("finish_reason");
    piece.finish_reason.empty() ? out.null() : out.string(piece.finish_reason);
    out.end_object().end_array();
    if (usage) {
      out.key("usage").begin_object().member("prompt_tokens", usage->prompt);
      out.member("completion_tokens", usage->completion);
      out.member("total_tokens", usage->prompt + usage->completion).end_object();
    }
    return out.end_object().take();
  }

  Result<void> chunk(const ChatPiece& piece, std::string& out) override {
    if (!piece.text.empty() || !piece.finish_reason.empty() || piece.usage)
      append_event(out, "", object(piece, piece.usage));
    return {};
  }
  Result<void> end(std::string& out) override {
    append_event(out, "", "[DONE]");
    return {};
  }

  std::string id_;
};

Result<void> write_texts(const Value& prompt, json::Writer& out) {
  size_t index = 0;
  for (const Value& text : prompt.items()) {
    if (!text.is_string()) {
      return wrong(fmt::format("prompt[{}]", index),
                   "expected a string, found {}; token numbers are not supported",
                   json::type_name(text.type()));
    }
    out.begin_object().member("role", kUser).member(kList, true).key("content").raw(text.raw());
    out.end_object();
    ++index;
  }
  if (index == 0) return wrong("prompt", "expected at least one text, found none");
  return {};
}

/// Returns the source with the first member of that name replaced by another name and value; all
/// other bytes stay. Precondition: the member exists.
std::string replace_member(const json::Document& document, std::string_view key,
                           std::string_view name, std::string_view value) {
  const std::string_view source = document.source();
  size_t previous_end = document.root().begin() + 1;  // the end of the member before
  for (const json::Member& member : document.root().members()) {
    if (member.key != key) {
      previous_end = member.value.end();
      continue;
    }
    const size_t begin = source.find('"', previous_end);
    const size_t between = source.rfind('"', member.value.begin() - 1) + 1;
    return fmt::format("{}\"{}\"{}{}{}", source.substr(0, begin), name,
                       source.substr(between, member.value.begin() - between), value,
                       source.substr(member.value.end()));
  }
  return std::string(source);
}

std::string text_of(const Value& content) {
  if (content.is_string()) return std::string(content.text());
  std::string out;
  for (const Value& part : content.items()) {
    const auto text = part.find("text");
    if (text && text->is_string()) out.append(out.empty() ? "" : "\n\n").append(text->text());
  }
  return out;
}

constexpr auto kUntranslatable =
    std::to_array<std::string_view>({"best_of", "echo", "logprobs", "n", "suffix"});

/// True if this value of one of kUntranslatable is the same as none.
bool is_neutral(std::string_view key, const Value& value) {
  if (value.is_null()) return true;
  if (key == "suffix") return value.is_string() && value.text().empty();
  if (key == "echo") return value.raw() == "false";
  return key != "logprobs" && value.integer().value_or(0) == 1;
}

/// Copies the messages without the mark of a list.
Result<void> copy_messages(const Value& messages, json::Writer& out) {
  out.begin_array();
  size_t prompts = 0;
  for (const Value& message : messages.items()) {
    out.begin_object();
    for (const json::Member& member : message.members()) {
      if (member.key != kList) out.key(member.key).raw(member.value.raw());
      prompts += member.key == kList ? 1 : 0;
    }
    out.end_object();
  }
  out.end_array();
  if (prompts > 1) {
    return wrong("prompt", "found {} texts; a decision that calls several models answers one",
                 prompts);
  }
  return {};
}

bool is_from_user(const Value& message) {
  const auto role = message.find("role");
  return role && role->text() == kUser;
}

Result<std::string> chat_of(const json::Document& document) {
  constexpr auto kMembers = std::to_array<std::string_view>({"model", "prompt", "stream"});
  const Value root = document.root();
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  SIGNALBOX_TRY_VOID(refuse_repeats(root, kMembers, ""));
  if (root.find("messages")) return wrong("messages", "not a parameter of this API; use prompt");
  const auto prompt = root.find("prompt");
  if (!prompt) return wrong("prompt", "missing");
  json::Writer messages;
  messages.begin_array();
  if (prompt->is_string()) {
    messages.begin_object().member("role", kUser).key("content").raw(prompt->raw()).end_object();
  } else if (prompt->is_array()) {
    SIGNALBOX_TRY_VOID(write_texts(*prompt, messages));
  } else {
    return wrong_type("prompt", "a string or an array of strings", *prompt);
  }
  return replace_member(document, "prompt", "messages", messages.end_array().take());
}

}  // namespace

Result<Incoming> CompletionsDialect::read(std::string&& body, const RequestContext& context) const {
  SIGNALBOX_TRY(json::Document document, json::Document::take(body));
  Result<std::string> chat = chat_of(document);
  if (!chat) {
    body = std::move(document).take_source();
    return tl::unexpected(std::move(chat).error());
  }
  Incoming out;
  out.chat = *std::move(chat);
  out.replies = std::make_unique<CompletionReplies>(fmt::format("cmpl-{}", context.id));
  return out;
}

Result<std::string> CompletionsDialect::outgoing(std::string_view chat) const {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::string(chat)));
  const Value root = document.root();
  std::string before;
  std::vector<std::string> prompts;
  bool is_list = false;
  const auto messages = root.find("messages");
  if (!messages) return fail(Code::kInternal, "the completion request has lost its messages");
  // Documents come behind the text of the user that they belong to.
  for (const Value& message : messages->items()) {
    const auto content = message.find("content");
    const std::string text = is_from_user(message) || !content ? "" : text_of(*content);
    if (!text.empty()) before.append(text).append("\n\n");
  }
  for (const Value& message : messages->items()) {
    const auto content = message.find("content");
    if (!content || !is_from_user(message)) continue;
    is_list = is_list || message.find(kList).has_value();
    const bool is_plain = before.empty() && content->is_string();
    prompts.push_back(is_plain ? std::string(content->raw())
                               : json::quote(fmt::format("{}{}", before, text_of(*content))));
  }
  std::string prompt;
  for (const std::string& each : prompts) prompt.append(prompt.empty() ? "" : ",").append(each);
  if (is_list) prompt = fmt::format("[{}]", prompt);
  return replace_member(document, "messages", "prompt", prompt);
}

// `logprobs` is a number in this API, and true in a call for which the router itself set it.
Result<std::string> CompletionsDialect::as_chat(std::string_view chat) const {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::string(chat)));
  json::Writer out;
  out.begin_object();
  for (const json::Member& member : document.root().members()) {
    const Value& value = member.value;
    if (member.key == "messages") {
      SIGNALBOX_TRY_VOID(copy_messages(value, out.key(member.key)));
      continue;
    }
    const auto found = std::find(kUntranslatable.begin(), kUntranslatable.end(), member.key);
    const bool is_from_router = member.key == "logprobs" && value.raw() == "true";
    if (found == kUntranslatable.end() || is_from_router) {
      out.key(member.key).raw(value.raw());
    } else if (!is_neutral(member.key, value)) {
      return wrong(member.key,
                   "not supported by a decision that calls several models, because it calls them "
                   "as chats");
    }
  }
  return out.end_object().take();
}

std::string CompletionsDialect::refusal(int, std::string_view body) const {
  return std::string(body);
}

}  // namespace signalbox::dialects
