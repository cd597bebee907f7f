// Replies were parsed when they came, so that a second reading cannot fail.

#include "router/looper/compose.h"

#include "base/json_writer.h"
#include "router/splice/object_editor.h"

namespace signalbox::looper {
namespace {

json::Document document_of(const std::string& completion) {
  auto document = json::Document::parse(completion);
  SIGNALBOX_CHECK(document);
  return *std::move(document);
}

std::string edited(const std::string& completion, std::string_view name, std::string value) {
  const json::Document document = document_of(completion);
  splice::ObjectEditor editor(document.root());
  editor.set(name, std::move(value));
  std::vector<splice::Edit> edits;
  editor.finish(edits);
  return splice::apply(document.source(), std::move(edits));
}

std::string usage_json(uint64_t prompt, uint64_t completed) {
  json::Writer out;
  out.begin_object().member("prompt_tokens", static_cast<int64_t>(prompt));
  out.member("completion_tokens", static_cast<int64_t>(completed));
  return out.member("total_tokens", static_cast<int64_t>(prompt + completed)).end_object().take();
}

void add_choices(const Turn& turn, int64_t& index, json::Writer& out) {
  const json::Document document = document_of(turn.reply()->body);
  const auto choices = document.root().find("choices");
  for (const json::Value& choice : choices->items()) {
    out.begin_object().member("index", index++).member("model", turn.call.model);
    for (const json::Member& member : choice.members()) {
      if (member.key != "index" && member.key != "model")
        out.key(member.key).raw(member.value.raw());
    }
    out.end_object();
  }
}

}  // namespace

std::string compose_choices(std::span<const Turn> turns, const std::vector<size_t>& which) {
  uint64_t prompt = 0, completed = 0;
  json::Writer out;
  out.begin_object();
  const json::Document first = document_of(turns[which.front()].reply()->body);
  for (const json::Member& member : first.root().members()) {
    if (member.key != "choices" && member.key != "usage")
      out.key(member.key).raw(member.value.raw());
  }
  out.key("choices").begin_array();
  int64_t index = 0;
  for (const size_t i : which) {
    add_choices(turns[i], index, out);
    prompt += turns[i].reply()->prompt_tokens;
    completed += turns[i].reply()->completion_tokens;
  }
  return out.end_array().key("usage").raw(usage_json(prompt, completed)).end_object().take();
}

std::string extended(const std::string& completion, std::optional<Extension> extension) {
  if (!extension) return {};
  return edited(completion, extension->name, std::move(extension->json));
}

std::string with_usage(const std::string& completion, uint64_t prompt, uint64_t completed) {
  const json::Document document = document_of(completion);
  const auto usage = document.root().find("usage");
  if (!usage || !usage->is_object()) return completion;
  return edited(completion, "usage", usage_json(prompt, completed));
}

std::string describe_turns(std::span<const Turn> turns) {
  json::Writer out;
  out.begin_array();
  for (const Turn& turn : turns) {
    out.begin_object().member("model", turn.call.model);
    if (!turn.call.label.empty()) out.member("agent_id", turn.call.label);
    if (const Reply* reply = turn.reply()) {
      out.member("content", reply->text);
      if (!reply->reasoning.empty()) out.member("reasoning", reply->reasoning);
    } else {
      out.member("error", turn.outcome.error().message);
    }
    out.end_object();
  }
  return out.end_array().take();
}

}  // namespace signalbox::looper
