// A whole completion has a message where a stream has deltas, and the same reader takes both.

#include "router/shadow/answer.h"

#include <map>

#include "base/ascii.h"
#include "base/json.h"
#include "router/dialects/call_numbers.h"
#include "router/dialects/events.h"

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

  Result<void> append(std::string& to, const std::optional<json::Value>& text) {
    if (!text || !text->is_string()) return {};
    bytes_ += text->text().size();
    if (bytes_ > bytes_max_)
      return fail(Code::kTooLarge, "the answer has more than {} bytes", bytes_max_);
    to += text->text();
    return {};
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
      if (!calls_.contains(at) && calls_.size() == kToolsMax)
        return fail(Code::kTooLarge, "the answer calls more than {} tools", kToolsMax);
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

Result<void> read_into(AnswerReader& reader, std::string body, bool is_stream) {
  const auto read = [&reader](std::string text, std::string_view member) -> Result<void> {
    const auto document = json::Document::parse(std::move(text));
    if (!document) return fail(Code::kUpstream, "the reply is not JSON");
    return reader.add(document->root(), member);
  };
  if (!is_stream) return read(std::move(body), "message");
  dialects::EventReader events;
  const dialects::EventReader::Take take = [&read](std::string_view data) -> Result<void> {
    data = ascii::trimmed(data);
    if (data.empty() || data == "[DONE]") return {};
    return read(std::string(data), kDelta);
  };
  SIGNALBOX_TRY_VOID(events.push(body, take));
  return events.finish(take);
}

}  // namespace

Result<std::string> read_answer(std::string body, bool is_stream, size_t bytes_max) {
  AnswerReader reader(bytes_max);
  SIGNALBOX_TRY_VOID(read_into(reader, std::move(body), is_stream));
  return reader.take();
}

Result<std::string> read_final_text(std::string body, bool is_stream, size_t bytes_max) {
  AnswerReader reader(bytes_max);
  SIGNALBOX_TRY_VOID(read_into(reader, std::move(body), is_stream));
  return reader.take_final();
}

}  // namespace signalbox::shadow
