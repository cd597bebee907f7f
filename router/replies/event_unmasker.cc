// An event names its text by the numbers of its item and part, and its end by the same numbers.

#include "router/replies/event_unmasker.h"

#include <array>
#include <optional>

#include "base/json_writer.h"

namespace signalbox::replies {
namespace {

using json::Value;

std::string_view label_of(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : std::string_view{};
}

int64_t number_of(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value ? value->integer().value_or(0) : 0;
}

/// The forms of a text's delta: the event, the member with the text, the event that ends it.
struct DeltaForm {
  std::string_view event, end;
  bool is_json;
};
constexpr auto kResponseForms = std::to_array<DeltaForm>({
    {"response.output_text.delta", "response.output_text.done", false},
    {"response.refusal.delta", "response.refusal.done", false},
    {"response.function_call_arguments.delta", "response.function_call_arguments.done", true},
    {"response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", false},
});

constexpr std::string_view kMessageDelta = "content_block_delta";
constexpr std::string_view kMessageEnd = "content_block_stop";

std::string message_key(const Value& root) {
  return fmt::format("block {}", number_of(root, "index"));
}

std::string response_key(const DeltaForm& form, const Value& root) {
  return fmt::format("{} {} {}", form.event, number_of(root, "output_index"),
                     number_of(root, "content_index"));
}

/// Thoughts in pieces, whose signature comes in a piece of its own.
bool is_thought(std::string_view type, const Value& root) {
  if (type.starts_with("response.reasoning")) return true;
  if (type != kMessageDelta) return false;
  const auto delta = root.find("delta");
  const std::string_view kind = delta ? label_of(*delta, "type") : std::string_view{};
  return kind == "thinking_delta" || kind == "signature_delta";
}

bool is_signed(const Value& object) {
  for (const std::string_view key : {"signature", "encrypted_content"}) {
    const auto value = object.find(key);
    if (value && value->is_string()) return true;
  }
  const std::string_view type = label_of(object, "type");
  return type == "reasoning" || type == "redacted_thinking";
}

void find_strings(const Value& value, bool all, std::vector<size_t>& out) {
  if (all && value.is_string()) out.push_back(value.begin());
  for (const Value& item : value.items()) find_strings(item, all || is_signed(item), out);
  for (const json::Member& member : value.members())
    find_strings(member.value, all || is_signed(member.value), out);
}

}  // namespace

void find_signed_strings(const Value& value, std::vector<size_t>& out) {
  find_strings(value, is_signed(value), out);
}

std::string EventUnmasker::edit(const json::Document& event, std::string& before) {
  const Value root = event.root();
  const std::string_view type = label_of(root, "type");
  std::vector<splice::Edit> edits;
  std::optional<Value> text;
  if (type == kMessageDelta) {
    const auto delta = root.find("delta");
    const std::string_view kind = delta ? label_of(*delta, "type") : std::string_view{};
    if (kind == "text_delta") text = delta->find("text");
    if (kind == "input_json_delta") text = delta->find("partial_json");
    if (text && text->is_string())
      push(root, *text, message_key(root), kind == "input_json_delta", edits);
  } else if (type == kMessageEnd) {
    flush(texts_.find(message_key(root)), before);
  }
  for (const DeltaForm& form : kResponseForms) {
    if (type == form.end) flush(texts_.find(response_key(form, root)), before);
    if (type != form.event) continue;
    text = root.find("delta");
    if (text && text->is_string()) push(root, *text, response_key(form, root), form.is_json, edits);
  }
  std::vector<size_t> done;
  text ? done.push_back(text->begin()) : find_signed_strings(root, done);
  if (!is_thought(type, root)) unmask_strings(root, masks_, done, edits);
  renumber(root, edits);
  return splice::apply(event.source(), std::move(edits));
}

void EventUnmasker::push(const Value& root, const Value& text, std::string key, bool is_json,
                         std::vector<splice::Edit>& edits) {
  auto found = texts_.find(key);
  if (found == texts_.end()) {
    if (texts_.size() == kTextsMax) {
      edits.push_back(
          {text.begin(), text.end(), json::quote(unmasked_text(text.text(), is_json, masks_))});
      return;
    }
    found = texts_.emplace(std::move(key), Text{TextUnmasker(is_json, masks_), {}, {}, {}, false})
                .first;
  }
  Text& known = found->second;
  std::string restored;
  known.unmasker.push(text.text(), restored);
  if (restored != text.text()) edits.push_back({text.begin(), text.end(), json::quote(restored)});
  if (!known.unmasker.holds_back()) return;
  const std::string_view source = root.raw();
  known.name = label_of(root, "type");
  known.before = source.substr(0, text.begin() - root.begin());
  known.after = source.substr(text.end() - root.begin());
  const auto number = root.find("sequence_number");
  known.has_number = number.has_value();
}

// The held-back text goes into a copy of its last delta.
void EventUnmasker::flush(Texts::iterator text, std::string& before) {
  if (text == texts_.end()) return;
  Text ended = std::move(text->second);
  texts_.erase(text);
  std::string held;
  ended.unmasker.finish(held);
  if (held.empty()) return;
  std::string data = fmt::format("{}{}{}", ended.before, json::quote(held), ended.after);
  if (ended.has_number) {
    ++inserted_;
    const auto copy = json::Document::parse(data);
    const auto number = copy ? copy->root().find("sequence_number") : std::nullopt;
    if (number)
      data = splice::apply(data, {{number->begin(), number->end(), std::to_string(++number_)}});
  }
  before += fmt::format("event: {}\ndata: {}\n\n", ended.name, data);
}

void EventUnmasker::renumber(const Value& root, std::vector<splice::Edit>& edits) {
  const auto number = root.find("sequence_number");
  const auto known = number ? number->integer() : Result<int64_t>(0);
  if (!number || !known) return;
  number_ = *known + inserted_;
  if (inserted_ > 0) edits.push_back({number->begin(), number->end(), std::to_string(number_)});
}

void EventUnmasker::finish(std::string& before) {
  while (!texts_.empty()) flush(texts_.begin(), before);
}

}  // namespace signalbox::replies
