// The image is copied as it is written, because it may have megabytes.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "router/plugins/image_gen/image_gen.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {
namespace {

std::optional<json::Value> message_of(const json::Value& completion) {
  const auto choices = completion.find("choices");
  if (!choices || !choices->is_array()) return std::nullopt;
  for (const json::Value& choice : choices->items()) {
    const auto message = choice.is_object() ? choice.find("message") : std::nullopt;
    return message && message->is_object() ? message : std::nullopt;
  }
  return std::nullopt;
}

bool has_no_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), ascii::is_space);
}

/// The texts of a content, which may be a list of parts.
std::string content_text(const std::optional<json::Value>& content) {
  if (!content) return {};
  if (content->is_string()) return std::string(content->text());
  std::string out;
  for (const json::Value& part : content->items()) {
    const auto text = part.is_object() ? part.find("text") : std::nullopt;
    if (text && text->is_string()) out += text->text();
  }
  return out;
}

/// `image` is a string of JSON.
std::string as_one_text(const std::string& text, std::string_view image) {
  if (image.empty()) return json::quote(text);
  if (has_no_word(text)) return std::string(image);
  std::string out = json::quote(text + "\n\n");
  out.pop_back();
  return out.append(image.substr(1));
}

/// `image` is a list of JSON with one part.
std::string as_list(const std::string& text, std::string_view image) {
  if (has_no_word(text)) return std::string(image);
  json::Writer part;
  part.begin_object().member("type", "text").member("text", text).end_object();
  std::string out = "[" + part.take();
  if (image.empty()) return out + "]";
  return out.append(",").append(image.substr(1));
}

}  // namespace

Result<std::string> join_text_and_image(std::string completion, std::string_view image,
                                        bool as_text) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(completion)));
  const auto message = message_of(document.root());
  if (!message) return fail(Code::kUpstream, "the reply is not a chat completion");
  std::optional<json::Document> other;
  std::string_view added;
  if (!image.empty()) {
    SIGNALBOX_TRY(other, json::Document::parse(std::string(image)));
    const auto found = message_of(other->root());
    const auto content = found ? found->find("content") : std::nullopt;
    if (!content || !(as_text ? content->is_string() : content->is_array()))
      return fail(Code::kInternal, "the image has another form than the answer");
    added = content->raw();
  }
  const std::string text = content_text(message->find("content"));
  if (added.empty() && has_no_word(text)) return std::string(document.source());
  splice::ObjectEditor editor(*message);
  editor.set("content", as_text ? as_one_text(text, added) : as_list(text, added));
  std::vector<splice::Edit> edits;
  editor.finish(edits);
  return splice::apply(document.source(), std::move(edits));
}

}  // namespace signalbox::plugins
