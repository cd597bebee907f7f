// Members that a stream fills later are emptied in the event that begins their object; all others
// are copied as they are.

#include "router/dialects/whole_events.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/json_writer.h"
#include "router/dialects/events.h"

namespace signalbox::dialects {
namespace {

using json::Value;

constexpr std::string_view kEmptyText = R"("")", kEmptyList = "[]", kEmptyObject = "{}",
                           kNull = "null", kInProgress = R"("in_progress")";

/// Members and the JSON that stands in their place.
using Replaced = std::initializer_list<std::pair<std::string_view, std::string_view>>;

std::string_view text_at(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? value->text() : std::string_view{};
}

std::string copy_with(const Value& object, Replaced replaced) {
  json::Writer out;
  out.begin_object();
  for (const json::Member& member : object.members()) {
    const auto found = std::find_if(replaced.begin(), replaced.end(),
                                    [&](const auto& each) { return each.first == member.key; });
    out.key(member.key).raw(found == replaced.end() ? member.value.raw() : found->second);
  }
  return out.end_object().take();
}

/// Line feeds are white space in JSON, and would end the event's data.
void append_json_event(std::string& out, std::string_view name, std::string data) {
  std::replace(data.begin(), data.end(), '\n', ' ');
  std::replace(data.begin(), data.end(), '\r', ' ');
  append_event(out, name, data);
}

// --- messages ---

void append_delta(std::string& out, int64_t index, std::string_view type, std::string_view key,
                  std::string_view text) {
  if (text.empty()) return;
  json::Writer event;
  event.begin_object().member("type", "content_block_delta").member("index", index);
  event.key("delta").begin_object().member("type", type).member(key, text).end_object();
  append_json_event(out, "content_block_delta", event.end_object().take());
}

void append_block(std::string& out, int64_t index, const Value& block) {
  const std::string_view type = text_at(block, "type");
  const bool is_call = type == "tool_use" || type == "server_tool_use";
  std::string begun(block.raw());
  if (type == "text") begun = copy_with(block, {{"text", kEmptyText}});
  if (type == "thinking")
    begun = copy_with(block, {{"thinking", kEmptyText}, {"signature", kEmptyText}});
  if (is_call) begun = copy_with(block, {{"input", kEmptyObject}});
  json::Writer start;
  start.begin_object().member("type", "content_block_start").member("index", index);
  append_json_event(out, "content_block_start",
                    start.key("content_block").raw(begun).end_object().take());
  if (type == "text") append_delta(out, index, "text_delta", "text", text_at(block, "text"));
  if (type == "thinking") {
    append_delta(out, index, "thinking_delta", "thinking", text_at(block, "thinking"));
    append_delta(out, index, "signature_delta", "signature", text_at(block, "signature"));
  }
  const auto input = block.find("input");
  if (is_call && input) append_delta(out, index, "input_json_delta", "partial_json", input->raw());
  json::Writer stop;
  stop.begin_object().member("type", "content_block_stop").member("index", index);
  append_event(out, "content_block_stop", stop.end_object().take());
}

// --- responses ---

/// Writes the events of one response, and numbers them.
class ResponseWriter {
 public:
  void response(std::string_view type, std::string_view json) {
    json::Writer event = begin(type);
    end(type, event.key("response").raw(json));
  }

  void item(const Value& item) {
    const std::string_view type = text_at(item, "type");
    Replaced filled_later = {
        {"status", kInProgress}, {"content", kEmptyList}, {"arguments", kEmptyText}};
    Replaced with_input = {{"status", kInProgress}, {"input", kEmptyText}};
    const bool is_custom = type == "custom_tool_call";
    item_event("response.output_item.added",
               copy_with(item, is_custom ? with_input : filled_later));
    if (type == "message") parts(item);
    if (type == "function_call") text(item, "response.function_call_arguments", "arguments");
    if (is_custom) text(item, "response.custom_tool_call_input", "input");
    item_event("response.output_item.done", std::string(item.raw()));
    ++index_;
  }

  std::string take() { return std::move(out_); }

 private:
  json::Writer begin(std::string_view type) {
    json::Writer event;
    event.begin_object().member("type", type).member("sequence_number", number_++);
    return event;
  }
  void end(std::string_view type, json::Writer& event) {
    append_json_event(out_, type, event.end_object().take());
  }
  json::Writer about(const Value& item, std::string_view type) {
    json::Writer event = begin(type);
    event.member("item_id", text_at(item, "id")).member("output_index", index_);
    return event;
  }
  void item_event(std::string_view type, const std::string& json) {
    json::Writer event = begin(type);
    end(type, event.member("output_index", index_).key("item").raw(json));
  }

  /// A delta with the whole text of a member, and the event that ends it.
  void text(const Value& item, std::string_view events, std::string_view key) {
    const std::string delta = fmt::format("{}.delta", events),
                      done = fmt::format("{}.done", events);
    json::Writer first = about(item, delta);
    end(delta, first.member("delta", text_at(item, key)));
    json::Writer last = about(item, done);
    end(done, last.member(key, text_at(item, key)));
  }

  void parts(const Value& item) {
    const auto content = item.find("content");
    if (!content) return;
    int64_t number = 0;
    for (const Value& part : content->items()) {
      const std::string_view type = text_at(part, "type");
      const bool is_refusal = type == "refusal", has_text = is_refusal || type == "output_text";
      const std::string_view key = is_refusal ? "refusal" : "text";
      part_event(item, number, "response.content_part.added",
                 has_text ? copy_with(part, {{key, kEmptyText}}) : std::string(part.raw()));
      if (has_text) text_of_part(item, number, part, key);
      part_event(item, number++, "response.content_part.done", std::string(part.raw()));
    }
  }
  void text_of_part(const Value& item, int64_t number, const Value& part, std::string_view key) {
    const bool is_refusal = key == "refusal";
    const std::string_view events = is_refusal ? "response.refusal" : "response.output_text";
    for (const bool is_done : {false, true}) {
      const std::string type = fmt::format("{}.{}", events, is_done ? "done" : "delta");
      json::Writer event = about(item, type);
      event.member("content_index", number).member(is_done ? key : "delta", text_at(part, key));
      if (!is_refusal) event.key("logprobs").raw(kEmptyList);
      end(type, event);
    }
  }
  void part_event(const Value& item, int64_t number, std::string_view type,
                  const std::string& json) {
    json::Writer event = about(item, type);
    end(type, event.member("content_index", number).key("part").raw(json));
  }

  std::string out_;
  int64_t number_ = 0, index_ = 0;
};

}  // namespace

std::string message_events(const Value& message) {
  const auto content = message.find("content");
  if (text_at(message, "type") != "message" || !content || !content->is_array()) return {};
  std::string out;
  json::Writer start;
  start.begin_object().member("type", "message_start");
  start.key("message").raw(copy_with(
      message, {{"content", kEmptyList}, {"stop_reason", kNull}, {"stop_sequence", kNull}}));
  append_json_event(out, "message_start", start.end_object().take());
  int64_t index = 0;
  for (const Value& block : content->items()) append_block(out, index++, block);
  json::Writer end;
  end.begin_object().member("type", "message_delta").key("delta").begin_object();
  for (const std::string_view key : {"stop_reason", "stop_sequence"}) {
    const auto value = message.find(key);
    end.key(key).raw(value ? value->raw() : kNull);
  }
  end.end_object();
  if (const auto usage = message.find("usage")) end.key("usage").raw(usage->raw());
  append_json_event(out, "message_delta", end.end_object().take());
  append_event(out, "message_stop", R"({"type":"message_stop"})");
  return out;
}

std::string response_events(const Value& response) {
  const std::string_view status = text_at(response, "status");
  const auto output = response.find("output");
  const bool has_ended = status == "completed" || status == "incomplete" || status == "failed";
  if (!has_ended || !output || !output->is_array()) return {};
  ResponseWriter out;
  const std::string begun = copy_with(response, {{"status", kInProgress},
                                                 {"output", kEmptyList},
                                                 {"incomplete_details", kNull},
                                                 {"error", kNull},
                                                 {"usage", kNull}});
  out.response("response.created", begun);
  out.response("response.in_progress", begun);
  for (const Value& item : output->items()) out.item(item);
  out.response(fmt::format("response.{}", status), response.raw());
  return out.take();
}

}  // namespace signalbox::dialects
