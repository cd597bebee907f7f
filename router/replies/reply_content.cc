// Clients treat content that is not a string in different ways. So this reads everything that a
// client might show, and reports parts that it does not understand as unread.

#include "router/replies/reply_content.h"

namespace signalbox::replies {
namespace {

constexpr std::string_view kPartTexts[] = {"text", "refusal"};
constexpr std::string_view kThoughts = "thinking";
constexpr std::string_view kOfStream = "delta", kOfWhole = "message";

void read_part(const json::Value& part, ReplyContent& out) {
  if (part.is_string()) {
    out.text += part.text();
    return;
  }
  const auto type = part.find("type");
  bool known = type && type->is_string() && type->text() == kThoughts;
  for (const std::string_view key : kPartTexts) {
    const auto text = part.find(key);
    if (!text) continue;
    known = true;
    if (text->is_string()) {
      out.text += text->text();
    } else if (!text->is_null()) {
      out.unread = true;
    }
  }
  if (!known) out.unread = true;
}

}  // namespace

ReplyContent content_of(const json::Value& choice, std::string_view member) {
  ReplyContent out;
  const auto holder = choice.find(member);
  auto content = holder ? holder->find("content") : std::nullopt;
  if (!content || content->is_null()) {
    if (const auto text = choice.find("text")) content = text;
  }
  const auto other = choice.find(member == kOfStream ? kOfWhole : kOfStream);
  out.unread = !choice.is_object() || (holder && !holder->is_object() && !holder->is_null()) ||
               (other && !other->is_null());
  if (!content) return out;
  if (content->is_string()) {
    out.text = content->text();
  } else if (content->is_array()) {
    for (const json::Value part : content->items()) read_part(part, out);
  } else {
    out.unread = out.unread || !content->is_null();
    return out;
  }
  out.value = content;
  return out;
}

}  // namespace signalbox::replies
