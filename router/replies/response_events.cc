// An event names its text by the numbers of its item and part. The events that follow a text are
// compared with it, because they could hold another.

#include "router/replies/response_events.h"

#include <algorithm>

#include "base/json_writer.h"
#include "router/replies/reply_content.h"
#include "router/splice/edit.h"
#include "router/splice/object_editor.h"

namespace signalbox::replies {
namespace {

using json::Value;

constexpr std::string_view kTextDelta = "response.output_text.delta",
                           kRefusalDelta = "response.refusal.delta",
                           kTextDone = "response.output_text.done",
                           kRefusalDone = "response.refusal.done",
                           kPartAdded = "response.content_part.added",
                           kPartDone = "response.content_part.done",
                           kItemAdded = "response.output_item.added",
                           kItemDone = "response.output_item.done";

constexpr size_t kEntryBytes = 256;  // of an item or a part besides its text

int64_t number_at(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value ? value->integer().value_or(0) : 0;
}

bool begins_response(std::string_view type) {
  return type == "response.created" || type == "response.queued" || type == "response.in_progress";
}
bool ends_response(std::string_view type) {
  return type == "response.completed" || type == "response.incomplete" || type == "response.failed";
}

/// Events about thoughts, and about calls and their results. An annotation names a source.
bool is_silent(std::string_view type) {
  return type.starts_with("response.reasoning") || type.starts_with("response.mcp_") ||
         type.find("_call") != std::string_view::npos || type == "error" ||
         type == "response.output_text.annotation.added" || type == "keepalive";
}

std::string part_json(std::string_view text, bool is_refusal) {
  if (is_refusal) return fmt::format(R"({{"type":"refusal","refusal":{}}})", json::quote(text));
  return fmt::format(R"({{"type":"output_text","text":{},"annotations":[],"logprobs":[]}})",
                     json::quote(text));
}

std::string message_json(std::string_view id, std::string_view status, std::string_view content) {
  return fmt::format(
      R"({{"id":{},"type":"message","status":"{}","role":"assistant","content":[{}]}})",
      json::quote(id), status, content);
}

std::string place(int64_t item, int64_t part, std::string_view id) {
  return fmt::format(R"("item_id":{},"output_index":{},"content_index":{})", json::quote(id), item,
                     part);
}

}  // namespace

std::string own_message(std::string_view id, std::string_view text) {
  return message_json(id, "completed", part_json(text, false));
}

EventContent ResponseEvents::read(std::string data) {
  step_ = {};
  EventContent out;
  const auto event = parse_named_event(std::move(data), out);
  if (!event) return out;
  const Value root = event->root();
  const std::string_view type = text_member(root, "type");
  if (root.find("sequence_number")) step_.number = number_at(root, "sequence_number");
  out.is_content = true;
  out.ends = out.last = ends_response(type);
  std::string text;
  read_event(root, type, out, text);
  step_.ends = out.ends;
  size_t parts = parts_.size();
  for (const auto& [key, more] : step_.texts) {
    const bool is_new = !parts_.contains(key);
    kept_bytes_ += more.size() + (is_new ? kEntryBytes : 0);
    parts += is_new ? 1 : 0;
  }
  if (step_.item) kept_bytes_ += step_.item->second.done.size();
  if (step_.item || step_.refusal || step_.done) kept_bytes_ += kEntryBytes;
  if (kept_bytes_ > kKeptBytesMax || parts > kPartsMax) {
    out.unread = true;
    step_ = {};
  }
  if (!text.empty() || out.ends) out.choices.push_back({0, std::move(text), out.ends});
  return out;
}

void ResponseEvents::read_event(const Value& root, std::string_view type, EventContent& out,
                                std::string& text) {
  const PartKey key{number_at(root, "output_index"), number_at(root, "content_index")};
  const bool is_refusal = type == kRefusalDelta || type == kRefusalDone;
  if (type == kTextDelta || type == kRefusalDelta) {
    const auto delta = root.find("delta");
    if (delta) text = delta->is_string() ? std::string(delta->text()) : all_strings(*delta);
    step_.texts.emplace_back(key, text);
    if (is_refusal) step_.refusal = key;
  } else if (type == kTextDone || type == kRefusalDone) {
    const auto whole = root.find(is_refusal ? "refusal" : "text");
    if (whole)
      text = new_text(key, whole->is_string() ? std::string(whole->text()) : all_strings(*whole));
    step_.done = key;
  } else if (type == kPartAdded || type == kPartDone) {
    const auto part = root.find("part");
    const bool is_thought = part && text_member(*part, "type") == "reasoning_text";
    if (part && !is_thought) text = new_text(key, text_of_part(*part));
    if (part && text_member(*part, "type") == "refusal") step_.refusal = key;
  } else if (type == kItemAdded || type == kItemDone) {
    const auto item = root.find("item");
    if (!item) return;
    text = read_item(key.first, *item);
    out.calls = calls_client(*item);
    Item known{.id = std::string(text_member(*item, "id")),
               .is_message = text_member(*item, "type") == "message"};
    if (type == kItemDone) known.done = item->raw();
    step_.item.emplace(key.first, std::move(known));
  } else if (begins_response(type) || ends_response(type)) {
    const auto response = root.find("response");
    const auto output = response ? response->find("output") : std::nullopt;
    if (begins_response(type) && response) step_.response = response->raw();
    if (!output) return;
    int64_t number = 0;
    for (const Value item : output->items()) text += read_item(number++, item);
  } else if (!is_silent(type)) {
    text = all_strings(root);
  }
}

// Returns the text of an item that no event had before.
std::string ResponseEvents::read_item(int64_t number, const Value& item) {
  if (text_member(item, "type") != "message") return text_of_item(item);
  const auto content = item.find("content");
  if (!content) return {};
  if (!content->is_array()) return all_strings(*content);
  std::string out;
  int64_t part = 0;
  for (const Value each : content->items()) out += new_text({number, part++}, text_of_part(each));
  return out;
}

// Some servers number items in the events differently from their places in the response, so a text
// is known wherever it was.
std::string ResponseEvents::new_text(PartKey key, std::string text) {
  if (text.empty()) return {};
  for (const auto& [other, part] : parts_) {
    if (part.text == text) return {};
  }
  const auto known = parts_.find(key);
  if (known != parts_.end() && text.starts_with(known->second.text))
    text.erase(0, known->second.text.size());
  step_.texts.emplace_back(key, text);
  return text;
}

void ResponseEvents::advance() {
  Step step = std::exchange(step_, {});
  // The event that ends the response may follow warnings, so completed() gives it its number.
  if (step.number && !step.ends) number_ = *step.number;
  if (has_ended_) return;
  has_ended_ = step.ends;
  if (!step.response.empty()) response_ = std::move(step.response);
  for (auto& [key, text] : step.texts) parts_[key].text += text;
  if (step.refusal) parts_[*step.refusal].is_refusal = true;
  if (step.done) parts_[*step.done].is_done = true;
  if (step.item) items_[step.item->first] = std::move(step.item->second);
}

std::string ResponseEvents::event(std::string_view type, std::string_view members) {
  return named_event(
      type, fmt::format(R"({{"type":"{}","sequence_number":{},{}}})", type, ++number_, members));
}

std::string ResponseEvents::text(int64_t, std::string_view text, const std::vector<ReplyMark>&) {
  if (response_.empty()) return {};
  const int64_t item =
      (items_.empty() ? 0 : items_.rbegin()->first + 1) + static_cast<int64_t>(own_.size());
  const auto document = json::Document::parse(response_);
  const std::string id =
      fmt::format("{}{}_{}", kOwnMessageId, text_member(document->root(), "id"), own_.size());
  const std::string message = own_message(id, text), part = part_json(text, false),
                    at = place(item, 0, id);
  std::string out = event(kItemAdded, fmt::format(R"("output_index":{},"item":{})", item,
                                                  message_json(id, "in_progress", "")));
  out += event(kPartAdded, fmt::format(R"({},"part":{})", at, part_json("", false)));
  out += event(kTextDelta, fmt::format(R"({},"delta":{},"logprobs":[])", at, json::quote(text)));
  out += event(kTextDone, fmt::format(R"({},"text":{},"logprobs":[])", at, json::quote(text)));
  out += event(kPartDone, fmt::format(R"({},"part":{})", at, part));
  out += event(kItemDone, fmt::format(R"("output_index":{},"item":{})", item, message));
  own_.push_back(message);
  return out;
}

// The response at the end repeats the messages with warnings, too.
std::string ResponseEvents::completed(std::string event) {
  if (own_.empty()) return event;
  const std::string data = event_data(event);
  const size_t at = event.find(data);
  const auto document = json::Document::parse(data);
  if (at == std::string::npos || !document) return event;
  const Value root = document->root();
  std::vector<splice::Edit> edits;
  if (const auto number = root.find("sequence_number"))
    edits.push_back({number->begin(), number->end(), std::to_string(++number_)});
  const auto response = root.find("response");
  const auto output = response ? response->find("output") : std::nullopt;
  if (output && output->is_array()) {
    bool is_first = !(output->items().begin() != output->items().end());
    std::string more;
    for (const std::string& message : own_)
      more.append(std::exchange(is_first, false) ? "" : ",").append(message);
    edits.push_back({output->end() - 1, output->end() - 1, std::move(more)});
  }
  return event.replace(at, data.size(), splice::apply(data, std::move(edits)));
}

// Ends a message in the middle, with the text that the client has.
std::string ResponseEvents::end_message(int64_t number, Item& item) {
  std::string out, content;
  for (const auto& [key, part] : parts_) {
    if (key.first != number) continue;
    const std::string json = part_json(part.text, part.is_refusal),
                      at = place(number, key.second, item.id);
    content.append(content.empty() ? "" : ",").append(json);
    if (part.is_done) continue;
    const std::string_view type = part.is_refusal ? kRefusalDone : kTextDone;
    out += event(type, fmt::format(R"({},"{}":{})", at, part.is_refusal ? "refusal" : "text",
                                   json::quote(part.text)));
    out += event(kPartDone, fmt::format(R"({},"part":{})", at, json));
  }
  item.done = message_json(item.id, "incomplete", content);
  return out + event(kItemDone, fmt::format(R"("output_index":{},"item":{})", number, item.done));
}

std::string ResponseEvents::end(int64_t, const std::vector<ReplyMark>&) {
  const auto document = json::Document::parse(response_);
  if (!document || !document->root().is_object()) {
    return event("error",
                 R"("code":"server_error","message":"the reply was withheld","param":null)");
  }
  std::string out, output;
  for (auto& [number, item] : items_) {
    if (item.done.empty() && item.is_message) out += end_message(number, item);
    if (!item.done.empty()) output.append(output.empty() ? "" : ",").append(item.done);
  }
  for (const std::string& message : own_) output.append(output.empty() ? "" : ",").append(message);
  splice::ObjectEditor editor(document->root());
  editor.set("status", R"("incomplete")");
  editor.set("incomplete_details", R"({"reason":"content_filter"})");
  editor.set("output", fmt::format("[{}]", output));
  std::vector<splice::Edit> edits;
  editor.finish(edits);
  return out + event("response.incomplete",
                     fmt::format(R"("response":{})",
                                 splice::apply(document->source(), std::move(edits))));
}

}  // namespace signalbox::replies
