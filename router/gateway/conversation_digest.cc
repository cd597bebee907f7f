// A client may repeat its texts in another form, as one string or as parts. It repeats an image or
// another part as it was.

#include "router/gateway/conversation_digest.h"

#include "base/json_writer.h"
#include "base/sha256.h"

namespace signalbox::gateway {

std::string conversation_of(const request::ChatRequest& request, std::span<const pii::Mask> masks) {
  json::Writer out;
  out.begin_array();
  for (const std::string_view text : request.user_texts()) out.string(text);
  for (const json::Value& message : request.document.root().find("messages")->items()) {
    const auto role = message.find("role"), content = message.find("content");
    if (!role || role->text() != "user" || !content || !content->is_array()) continue;
    for (const json::Value& part : content->items()) {
      const auto type = part.find("type");
      if (!type || !type->is_string() || type->text() != "text") out.string(sha256_hex(part.raw()));
    }
  }
  for (const pii::Mask& mask : masks) out.string(mask.placeholder).string(mask.original);
  return sha256_hex(out.end_array().take());
}

}  // namespace signalbox::gateway
