// A whole completion has a message where a stream has deltas, and the same reader takes both. The
// readers of checks find the text of messages and responses.

#include "router/shadow/answer.h"

#include <map>

#include "base/ascii.h"
#include "base/json.h"
#include "router/dialects/call_numbers.h"
#include "router/dialects/events.h"
#include "router/replies/message_events.h"
#include "router/replies/reply_content.h"
#include "router/replies/response_events.h"

namespace signalbox::shadow {
namespace {

constexpr size_t kToolsMax = 128;
constexpr std::string_view kDelta = "delta";

class AnswerReader {
 public:
  explicit AnswerReader(size_t bytes_max) : bytes_max_(bytes_max) {}

  Result<void> add(const json::Value& completion, std::string_view member) {
    const auto choices = completion.find("choices");
    if (!choices || !choices->is_array())
      return fail(Code::kUpstream, "choices: expected an array");
    for (const json::Value& choice : choices->items()) {
      const auto index = choice.find("index");
      if (index && index->integer().value_or(1) != 0) continue;
      const auto message = choice.find(member);
      if (!message || !message->is_object())
        return fail(Code::kUpstream, "choices[0].{}: expected an object", member);
      const bool is_last = member == kDelta && !text_of(choice, "finish_reason").empty();
      return add_message(*message, is_last);
    }
    return {};
  }

  Result<void> add_text(std::string_view text) { return append(text_, text); }

  Result<void> begin_call(std::string_view name) {
    if (calls_.size() == kToolsMax) return too_many_calls();
    return append(calls_[calls_.size()].name, name);
  }

  /// Adds to the call that began last.
  Result<void> add_arguments(std::string_view part) {
    return calls_.empty() ? Result<void>() : append(calls_.rbegin()->second.arguments, part);
  }

  Result<std::string> take() {
    for (const auto& [index, call] : calls_) {
      if (!text_.empty()) text_ += "\n";
      text_ += fmt::format("{}({})", call.name, call.arguments);
    }
    if (text_.empty()) return fail(Code::kUpstream, "the answer is empty");
    return std::move(text_);
  }

  std::string take_final() { return calls_.empty() ? std::move(text_) : std::string(); }

 private:
  struct ToolCall {
    std::string name, arguments;
  };

  static std::string_view text_of(const json::Value& object, std::string_view key) {
    const auto value = object.find(key);
    return value && value->is_string() ? value->text() : std::string_view{};
  }

  static tl::unexpected<Error> too_many_calls() {
    return fail(Code::kTooLarge, "the answer calls more than {} tools", kToolsMax);
  }

  Result<void> append(std::string& to, std::string_view text) {
    bytes_ += text.size();
    if (bytes_ > bytes_max_)
      return fail(Code::kTooLarge, "the answer has more than {} bytes", bytes_max_);
    to += text;
    return {};
  }

  Result<void> append(std::string& to, const std::optional<json::Value>& text) {
    return text && text->is_string() ? append(to, text->text()) : Result<void>();
  }

  Result<void> add_message(const json::Value& message, bool is_last) {
    for (const std::string_view member : {"content", "refusal"}) {
      const auto content = message.find(member);
      if (content && content->is_array()) {
        for (const json::Value& part : content->items())
          SIGNALBOX_TRY_VOID(append(text_, part.find("text")));
      } else {
        SIGNALBOX_TRY_VOID(append(text_, content));
      }
    }
    const auto calls = message.find("tool_calls");
    if (!calls) return {};
    int64_t next = 0;
    for (const json::Value& call : calls->items()) {
      const auto index = call.find("index");
      const int64_t given = index ? index->integer().value_or(next) : next;
      next = given + 1;
      const auto function = call.find("function");
      if (!function) continue;
      const size_t at = numbers_.of(given, text_of(call, "id"), text_of(*function, "name"),
                                    text_of(*function, "arguments"), is_last);
      if (!calls_.contains(at) && calls_.size() == kToolsMax) return too_many_calls();
      if (calls_[at].name.empty())
        SIGNALBOX_TRY_VOID(append(calls_[at].name, function->find("name")));
      SIGNALBOX_TRY_VOID(append(calls_[at].arguments, function->find("arguments")));
    }
    return {};
  }

  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::string text_;
  std::map<size_t, ToolCall> calls_;
  dialects::CallNumbers numbers_;
};

}  // namespace

std::string_view beginning_of(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

namespace {

/// Adds a call of a message or a response.
Result<void> add_native_call(AnswerReader& reader, const json::Value& item) {
  const std::string_view name = replies::text_member(item, "name");
  SIGNALBOX_TRY_VOID(reader.begin_call(name.empty() ? replies::text_member(item, "type") : name));
  for (const std::string_view member : {"arguments", "input", "action", "operation"}) {
    const auto value = item.find(member);
    if (value) return reader.add_arguments(value->is_string() ? value->text() : value->raw());
  }
  return {};
}

Result<void> read_native(AnswerReader& reader, const json::Value& root, request::Api api) {
  const auto reply = replies::read_native(root, api);
  if (!reply) return fail(Code::kUpstream, "the reply has no list of its parts");
  SIGNALBOX_TRY_VOID(reader.add_text(reply->text));
  const auto list = root.find(api == request::Api::kMessages ? "content" : "output");
  for (const json::Value item : list->items()) {
    if (replies::calls_client(item)) SIGNALBOX_TRY_VOID(add_native_call(reader, item));
  }
  return {};
}

/// Adds the calls of events. A block of a message begins without its arguments, whose parts follow,
/// or comes whole in the event that begins it; an item of a response comes whole at its end.
class CallEvents {
 public:
  explicit CallEvents(AnswerReader& reader) : reader_(reader) {}

  Result<void> read(const json::Value& event) {
    const std::string_view type = replies::text_member(event, "type");
    if (type == "error" || type == "response.failed")
      return fail(Code::kUpstream, "the stream ends with an error");
    if (type == "content_block_start") {
      const auto block = event.find("content_block");
      if (block) return begin(*block, index_of(event));
    } else if (type == "content_block_delta") {
      const auto delta = event.find("delta");
      if (delta && open_ == index_of(event))
        return reader_.add_arguments(replies::text_member(*delta, "partial_json"));
    } else if (type == "response.output_item.done") {
      const auto item = event.find("item");
      if (item && replies::calls_client(*item)) return add_native_call(reader_, *item);
    }
    return {};
  }

 private:
  static int64_t index_of(const json::Value& event) {
    const auto index = event.find("index");
    return index ? index->integer().value_or(0) : 0;
  }

  Result<void> begin(const json::Value& block, int64_t index) {
    open_.reset();
    if (!replies::calls_client(block)) return {};
    open_ = index;
    SIGNALBOX_TRY_VOID(reader_.begin_call(replies::text_member(block, "name")));
    const auto input = block.find("input");
    if (!input) return {};
    const json::Members members = input->members();
    const bool is_whole = members.begin() != members.end();
    return is_whole ? reader_.add_arguments(input->raw()) : Result<void>();
  }

  AnswerReader& reader_;
  std::optional<int64_t> open_ = {};  // the index of the block whose arguments are being sent
};

Result<void> read_native_stream(AnswerReader& reader, std::string_view stream, request::Api api) {
  replies::MessageEvents message;
  replies::ResponseEvents response;
  replies::ReplyEvents& events = api == request::Api::kMessages
                                     ? static_cast<replies::ReplyEvents&>(message)
                                     : static_cast<replies::ReplyEvents&>(response);
  CallEvents calls(reader);
  const dialects::EventReader::Take take = [&](std::string_view data) -> Result<void> {
    data = ascii::trimmed(data);
    if (data.empty() || data == "[DONE]") return {};
    const auto document = json::Document::parse(std::string(data));
    if (!document) return fail(Code::kUpstream, "the reply is not JSON");
    SIGNALBOX_TRY_VOID(calls.read(document->root()));
    const replies::EventContent content = events.read(std::string(data));
    events.advance();
    for (const auto& each : content.choices) SIGNALBOX_TRY_VOID(reader.add_text(each.text));
    return {};
  };
  dialects::EventReader lines;
  SIGNALBOX_TRY_VOID(lines.push(stream, take));
  return lines.finish(take);
}

Result<void> read_into(AnswerReader& reader, Reply reply) {
  if (reply.api && reply.is_stream) return read_native_stream(reader, reply.bytes, *reply.api);
  const auto read = [&](std::string text, std::string_view member) -> Result<void> {
    const auto document = json::Document::parse(std::move(text));
    if (!document) return fail(Code::kUpstream, "the reply is not JSON");
    return reply.api ? read_native(reader, document->root(), *reply.api)
                     : reader.add(document->root(), member);
  };
  if (!reply.is_stream) return read(std::move(reply.bytes), "message");
  dialects::EventReader events;
  const dialects::EventReader::Take take = [&read](std::string_view data) -> Result<void> {
    data = ascii::trimmed(data);
    if (data.empty() || data == "[DONE]") return {};
    return read(std::string(data), kDelta);
  };
  SIGNALBOX_TRY_VOID(events.push(reply.bytes, take));
  return events.finish(take);
}

}  // namespace

Result<std::string> read_answer(Reply reply, size_t bytes_max) {
  AnswerReader reader(bytes_max);
  SIGNALBOX_TRY_VOID(read_into(reader, std::move(reply)));
  return reader.take();
}

Result<std::string> read_final_text(Reply reply, size_t bytes_max) {
  AnswerReader reader(bytes_max);
  SIGNALBOX_TRY_VOID(read_into(reader, std::move(reply)));
  return reader.take_final();
}

}  // namespace signalbox::shadow
