#pragma once
// Streams of messages and of responses for the exploration of orders, and a client that reads them
// and finds what no client could read.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "router/request/native_request.h"

namespace signalbox::replies::test {

using Api = std::optional<request::Api>;
inline constexpr Api kChunks = std::nullopt, kMessages = request::Api::kMessages,
                     kResponses = request::Api::kResponses;

/// The reply that upstream sends, piece by piece. An attack has the word "bad", a false claim
/// "wrong".
struct Script {
  std::string_view name;
  std::vector<std::string> pieces;
  Api api = kChunks;
};

/// The events that a client has read.
struct Read {
  std::map<int64_t, std::string> texts;  // of upstream
  std::set<int64_t> stops, cuts;         // choices with a regular end, and with one by the router
  int dones = 0;
  bool is_marked_unchecked = false;
  std::set<int64_t> marked_stops;  // regular ends with such a mark before them
  std::string fault;
  int warnings = 0;  // texts of the router
  // In messages:
  std::optional<int64_t> open;  // the number of the open block
  int64_t blocks = 0;
  // In responses:
  int64_t number = -1;
  std::map<int64_t, std::string> parts, items;  // texts, and JSON of the items that have ended
};

// Smaller than GuardedStream::kEventBytesMax, because each state has a copy of the sent bytes.
inline constexpr size_t kEventBytesMax = 256;

inline std::string member_of(const json::Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value && value->is_string() ? std::string(value->text()) : "";
}

inline void expect(bool holds, std::string_view fault, Read& into) {
  if (!holds) into.fault = fault;
}

inline bool is_warning(std::string_view text) {
  return text.starts_with("\n\n[");
}

inline void read_message_event(const json::Value& event, Read& into) {
  const std::string type = member_of(event, "type");
  const auto index = event.find("index");
  const int64_t block = index ? index->integer().value_or(-1) : -1;
  const bool is_over = into.stops.contains(0) || into.cuts.contains(0);
  if (type == "content_block_start") {
    expect(!into.open && !is_over && block == into.blocks, "a block begins at the wrong place",
           into);
    into.open = into.blocks++;
  } else if (type == "content_block_delta") {
    expect(into.open == block && !is_over, "a delta is outside of its block", into);
    const std::string text = member_of(*event.find("delta"), "text");
    is_warning(text) ? void(++into.warnings) : void(into.texts[0] += text);
  } else if (type == "content_block_stop") {
    expect(into.open == block, "a block ends that is not open", into);
    into.open.reset();
  } else if (type == "message_delta") {
    expect(!into.open && !is_over, "the message ends at the wrong place", into);
    const bool is_cut = member_of(*event.find("delta"), "stop_reason") == "refusal";
    (is_cut ? into.cuts : into.stops).insert(0);
  } else if (type == "message_stop") {
    ++into.dones;
  }
}

inline void read_response_end(const json::Value& response, Read& into) {
  int64_t number = 0;
  for (const json::Value item : response.find("output")->items()) {
    expect(into.items[number] == item.raw(), "the response repeats another item", into);
    ++number;
  }
  expect(number == static_cast<int64_t>(into.items.size()), "the response lacks an item", into);
  (member_of(response, "status") == "completed" ? into.stops : into.cuts).insert(0);
  ++into.dones;
}

inline void read_response_event(const json::Value& event, Read& into) {
  const std::string type = member_of(event, "type");
  const int64_t number = event.find("sequence_number")->integer().value_or(-1);
  expect(number == into.number + 1, "a number is missing or comes twice", into);
  into.number = number;
  const auto index = event.find("output_index");
  const int64_t item = index ? index->integer().value_or(-1) : -1;
  if (type == "response.output_text.delta") {
    const std::string text = member_of(event, "delta");
    is_warning(text) ? void(++into.warnings) : void(into.texts[0] += text);
    into.parts[item] += text;
  } else if (type == "response.output_text.done") {
    expect(into.parts[item] == member_of(event, "text"), "a text ends as another", into);
  } else if (type == "response.output_item.done") {
    expect(!into.items.contains(item), "an item ends twice", into);
    into.items[item] = event.find("item")->raw();
  } else if (type == "response.completed" || type == "response.incomplete") {
    read_response_end(*event.find("response"), into);
  }
}

inline std::string message_event(std::string_view type, std::string_view members) {
  return fmt::format("event: {}\ndata: {{\"type\":\"{}\"{}}}\n\n", type, type, members);
}
inline const std::string kMessageBegin =
    message_event("message_start", R"(,"message":{"content":[],"usage":{"output_tokens":1}})");
inline std::string block(int64_t index, std::string_view type) {
  return message_event(
      "content_block_start",
      fmt::format(R"(,"index":{},"content_block":{{"type":"{}","text":""}})", index, type));
}
inline std::string block_text(int64_t index, std::string_view text) {
  return message_event(
      "content_block_delta",
      fmt::format(R"(,"index":{},"delta":{{"type":"text_delta","text":"{}"}})", index, text));
}
inline std::string block_end(int64_t index) {
  return message_event("content_block_stop", fmt::format(R"(,"index":{})", index));
}
inline const std::string kMessageEnd = message_event(
    "message_delta", R"(,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9})");
inline const std::string kMessageLast = message_event("message_stop", "");

/// Numbers the events of a response.
class ResponseScript {
 public:
  std::string event(std::string_view type, std::string_view members) {
    return fmt::format(
        "event: response.{}\ndata: {{\"type\":\"response.{}\",\"sequence_number\":{},{}}}\n\n",
        type, type, number_++, members);
  }
  std::string begin() { return event("created", response("in_progress", "")); }
  std::string item(int64_t index) {
    return event("output_item.added", fmt::format(R"("output_index":{},"item":{})", index,
                                                  json_of("in_progress", index, "")));
  }
  std::string text(int64_t index, std::string_view text) {
    return event("output_text.delta", fmt::format(R"({},"delta":"{}")", at(index), text));
  }
  std::string done(int64_t index, std::string_view text) {
    const std::string part =
        fmt::format(R"({{"type":"output_text","text":"{}","annotations":[]}})", text);
    const std::string item = json_of("completed", index, part);
    output_ += (output_.empty() ? "" : ",") + item;
    std::string out = event("output_text.done", fmt::format(R"({},"text":"{}")", at(index), text));
    out += event("content_part.done", fmt::format(R"({},"part":{})", at(index), part));
    return out +
           event("output_item.done", fmt::format(R"("output_index":{},"item":{})", index, item));
  }
  std::string end() { return event("completed", response("completed", output_)); }

 private:
  static std::string at(int64_t index) {
    return fmt::format(R"("output_index":{},"content_index":0)", index);
  }
  static std::string json_of(std::string_view status, int64_t index, std::string_view part) {
    return fmt::format(R"({{"id":"msg_{}","type":"message","status":"{}","content":[{}]}})", index,
                       status, part);
  }
  static std::string response(std::string_view status, std::string_view output) {
    return fmt::format(R"("response":{{"id":"r","status":"{}","output":[{}]}})", status, output);
  }
  int64_t number_ = 0;
  std::string output_;
};

inline std::vector<Script> message_scripts() {
  return {
      {"message: sentences",
       {kMessageBegin + block(0, "text"), block_text(0, "One is fine. "),
        block_text(0, "Two is bad. So it"), block_text(0, " is wrong."), block_end(0), kMessageEnd,
        kMessageLast},
       kMessages},
      {"message: blocks",
       {kMessageBegin + block(0, "text"), block_text(0, "This is wrong. And"),
        block_end(0) + block(1, "tool_use"), block_end(1),
        block(2, "text") + block_text(2, " that is bad."), block_end(2) + kMessageEnd,
        kMessageLast},
       kMessages},
      {"message: everything at once",
       {kMessageBegin + block(0, "text") + block_text(0, "Bad is bad. Wrong is wrong. End") +
        block_end(0) + kMessageEnd + kMessageLast},
       kMessages},
      {"message: a long event",
       {kMessageBegin + block(0, "text"), block_text(0, "This is bad. So."),
        block_text(0, " Or bad" + std::string(kEventBytesMax, 'x')).substr(0, kEventBytesMax + 4),
        block_text(0, " Or bad" + std::string(kEventBytesMax, 'x')).substr(kEventBytesMax + 4),
        block_end(0) + kMessageEnd, kMessageLast},
       kMessages},
      {"message: no regular end",
       {kMessageBegin + block(0, "text"), block_text(0, "One. Two"),
        block_text(0, " is bad. Three.")},
       kMessages},
  };
}

// The parts of a list are made in its order.
inline std::string joined(std::initializer_list<std::string> events) {
  std::string out;
  for (const std::string& event : events) out += event;
  return out;
}

inline std::vector<Script> response_scripts() {
  ResponseScript a, b, c;
  return {
      {"response: sentences",
       {joined({a.begin(), a.item(0)}), a.text(0, "One is fine. "), a.text(0, "Two is bad. So it"),
        a.text(0, " is wrong."), a.done(0, "One is fine. Two is bad. So it is wrong."), a.end()},
       kResponses},
      {"response: items",
       {joined({b.begin(), b.item(0), b.text(0, "This is wrong. And")}),
        b.done(0, "This is wrong. And"), joined({b.item(1), b.text(1, " that is bad.")}),
        b.done(1, " that is bad."), b.end()},
       kResponses},
      {"response: no regular end",
       {joined({c.begin(), c.item(0)}), c.text(0, "One. Two"), c.text(0, " is bad. Three.")},
       kResponses},
  };
}

}  // namespace signalbox::replies::test
