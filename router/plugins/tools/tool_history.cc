// The list of messages is rebuilt from the original bytes of those that stay.

#include "router/plugins/tools/tool_history.h"

#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "router/splice/edit.h"
#include "router/splice/object_editor.h"

namespace signalbox::plugins {
namespace {

bool is_call(std::string_view member) {
  return member == "tool_calls" || member == "function_call";
}

bool is_result(const json::Value& message) {
  const auto role = message.find("role");
  return role && role->is_string() && (role->text() == "tool" || role->text() == "function");
}

// True for a content with something to read.
bool has_content(const json::Value& message) {
  const auto content = message.find("content");
  if (!content) return false;
  if (content->is_string()) return !content->text().empty();
  return content->is_array() && content->items().begin() != content->items().end();
}

// Returns the message without calls; "" if nothing else is in it.
std::string without_calls(const json::Value& message) {
  bool calls = false;
  json::Writer out;
  out.begin_object();
  for (const json::Member& member : message.members()) {
    if (is_call(member.key) && member.value.raw() != "null") {
      calls = true;
    } else {
      out.key(member.key).raw(member.value.raw());
    }
  }
  if (!calls) return std::string(message.raw());
  return has_content(message) ? out.end_object().take() : "";
}

}  // namespace

std::string strip_tool_history(std::string body) {
  const auto document = json::Document::parse(body);
  if (!document || !document->root().is_object()) return body;
  splice::ObjectEditor editor(document->root());
  for (const json::Value& messages : editor.values("messages")) {
    std::string kept;
    bool all = true;
    for (const json::Value& message : messages.items()) {
      const std::string form = is_result(message) ? "" : without_calls(message);
      all = all && form == message.raw();
      if (!form.empty()) kept.append(kept.empty() ? "" : ", ").append(form);
    }
    if (all) return body;
    editor.set("messages", fmt::format("[{}]", kept));
  }
  std::vector<splice::Edit> edits;
  editor.finish(edits);
  return splice::apply(document->source(), std::move(edits));
}

}  // namespace signalbox::plugins
