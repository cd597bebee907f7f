// A reply that is not understood completely is not cached: if a part of it were lost here, every
// later client would get a wrong answer.

#include "router/cache/reply.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/dialects/events.h"

namespace signalbox::cache {
namespace {

using namespace std::string_view_literals;

constexpr auto kReplyHead = std::to_array<std::string_view>(
    {"id", "created", "model", "service_tier", "system_fingerprint"});
constexpr auto kTexts =
    std::to_array<std::string_view>({"content", "refusal", "reasoning_content", "reasoning"});
// Members of a choice that repeat known facts or only describe how the server produced it.
constexpr auto kIgnoredMembers = std::to_array<std::string_view>({"stop_reason", "token_ids"});

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

bool ended_well(std::string_view finish_reason) {
  return finish_reason == "stop" || finish_reason == "tool_calls" ||
         finish_reason == "function_call";
}

tl::unexpected<Error> unknown_member(std::string_view where, std::string_view name) {
  return fail(Code::kInvalid, "a {} with the member {}", where, json::quote_briefly(name));
}

// Clients and our own translators limit the size of an event, and a text can contain a whole image.
constexpr size_t kDeltaBytesMax = size_t{1} << 20;

// Returns the deltas that make up a text, as JSON.
std::vector<std::string> deltas_of(std::string_view name, const json::Value& text) {
  if (text.raw().size() <= kDeltaBytesMax) return {fmt::format("{{\"{}\":{}}}", name, text.raw())};
  std::vector<std::string> out;
  for (std::string_view rest = text.text(); !rest.empty();) {
    size_t size = std::min(rest.size(), kDeltaBytesMax);
    while (size < rest.size() && (static_cast<unsigned char>(rest[size]) & 0xC0) == 0x80) --size;
    out.push_back(fmt::format("{{\"{}\":{}}}", name, json::quote(rest.substr(0, size))));
    rest.remove_prefix(size);
  }
  return out;
}

int64_t index_of(const json::Value& object) {
  const auto index = object.find("index");
  return index ? index->integer().value_or(0) : 0;
}

std::string_view text_at(const std::optional<json::Value>& object, std::string_view key) {
  const auto value = object ? object->find(key) : std::nullopt;
  return value && value->is_string() ? value->text() : std::string_view{};
}

size_t number_of(const json::Value& call, bool is_last, dialects::CallNumbers& numbers) {
  const auto function = call.find("function");
  return numbers.of(index_of(call), text_at(call, "id"), text_at(function, "name"),
                    text_at(function, "arguments"), is_last);
}

// A reply may contain line breaks, but the data of an event is one line.
std::string event(std::string data) {
  std::ranges::replace(data, '\n', ' ');
  std::ranges::replace(data, '\r', ' ');
  return fmt::format("data: {}\n\n", data);
}

/// Writes the chunks of one completion.
class Chunks {
 public:
  Chunks(const json::Value& completion, bool with_usage) : with_usage_(with_usage) {
    head_ = R"({"object":"chat.completion.chunk")";
    for (const std::string_view name : kReplyHead) {
      if (const auto value = completion.find(name))
        head_ += fmt::format(",\"{}\":{}", name, value->raw());
    }
  }

  void delta(int64_t choice, std::string_view delta, std::string_view finish_reason = "null",
             std::string_view logprobs = "null") {
    out_ += event(fmt::format(
        R"({},"choices":[{{"index":{},"delta":{},"logprobs":{},"finish_reason":{}}}]{}}})", head_,
        choice, delta, logprobs, finish_reason, with_usage_ ? ",\"usage\":null" : ""));
  }

  void usage(std::string_view usage) {
    out_ += event(fmt::format(R"({},"choices":[],"usage":{}}})", head_, usage));
  }

  std::string take() { return out_ + event("[DONE]"); }

 private:
  std::string head_;
  bool with_usage_;
  std::string out_;
};

// Adds the numbers that the calls of a delta have and those of a message lack.
std::string add_call_numbers(const json::Value& calls) {
  std::string out = "[";
  int64_t index = 0;
  for (const json::Value& call : calls.items()) {
    const bool has_index = call.find("index").has_value();
    if (index > 0) out.push_back(',');
    if (has_index || call.members().begin() != call.members().end()) {
      out += has_index ? std::string(call.raw())
                       : fmt::format("{{\"index\":{},{}", index, call.raw().substr(1));
    } else {
      out += fmt::format("{{\"index\":{}}}", index);
    }
    ++index;
  }
  out.push_back(']');
  return out;
}

void add_choice(const json::Value& choice, Chunks& chunks) {
  const int64_t index = index_of(choice);
  const auto logprobs = choice.find("logprobs");
  const auto message = choice.find("message");
  std::string first = R"({"role":"assistant")";
  std::vector<std::string> rest;
  for (const json::Member& member : message->members()) {
    if (member.key == "role" || member.value.is_null()) continue;
    const bool calls = member.key == "tool_calls";
    if (calls && member.value.items().begin() != member.value.items().end()) {
      rest.push_back(fmt::format("{{\"tool_calls\":{}}}", add_call_numbers(member.value)));
    } else if (is_one_of(member.key, kTexts) && member.value.is_string()) {
      std::ranges::move(deltas_of(member.key, member.value), std::back_inserter(rest));
    } else if (!calls) {
      first += fmt::format(",{}:{}", json::quote(member.key), member.value.raw());
    }
  }
  const auto content = message->find("content");
  if (content && content->is_string()) first += R"(,"content":"")";
  chunks.delta(index, first + "}");
  bool logprobs_sent = false;
  for (const std::string& each : rest) {
    const bool takes_logprobs = !logprobs_sent && each.starts_with(R"({"content")");
    chunks.delta(index, each, "null", takes_logprobs && logprobs ? logprobs->raw() : "null"sv);
    logprobs_sent = logprobs_sent || takes_logprobs;
  }
  const auto reason = choice.find("finish_reason");
  chunks.delta(index, "{}", reason ? reason->raw() : "null"sv,
               !logprobs_sent && logprobs ? logprobs->raw() : "null"sv);
}

}  // namespace

Result<void> check_keepable(std::string_view body) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::string(body)));
  const json::Value root = document.root();
  if (root.find("error")) return fail(Code::kInvalid, "an error");
  const auto choices = root.find("choices");
  size_t count = 0;
  if (choices) {
    for (const json::Value& choice : choices->items()) {
      const auto message = choice.find("message");
      const auto reason = choice.find("finish_reason");
      if (!message || !message->is_object())
        return fail(Code::kInvalid, "a choice without a message");
      if (!reason || !reason->is_string() || !ended_well(reason->text()))
        return fail(Code::kInvalid, "a choice that did not end by itself");
      ++count;
    }
  }
  if (count == 0) return fail(Code::kInvalid, "no choices");
  return {};
}

namespace {

Result<void> check_native_end(const json::Value& root) {
  const std::string_view stop = text_at(root, "stop_reason"), status = text_at(root, "status");
  const bool is_well =
      stop == "end_turn" || stop == "stop_sequence" || stop == "tool_use" || status == "completed";
  if (is_well) return {};
  return fail(Code::kInvalid, "a reply that did not end by itself");
}

}  // namespace

// The events that end a stream hold what a whole reply holds at its root.
Result<void> check_native(std::string_view body, bool is_stream) {
  if (!is_stream) {
    SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::string(body)));
    return check_native_end(document.root());
  }
  bool has_end = false;
  const dialects::EventReader::Take take = [&](std::string_view data) -> Result<void> {
    if (ascii::trimmed(data).empty() || ascii::trimmed(data) == "[DONE]") return {};
    SIGNALBOX_TRY(const json::Document event, json::Document::parse(std::string(data)));
    const std::string_view type = text_at(event.root(), "type");
    if (type == "error") return fail(Code::kInvalid, "an error");
    const auto end = event.root().find(type == "message_delta" ? "delta" : "response");
    const bool ends = type == "message_stop" || type == "response.completed";
    if (end && (type == "message_delta" || type == "response.completed"))
      SIGNALBOX_TRY_VOID(check_native_end(*end));
    has_end = has_end || ends;
    return {};
  };
  dialects::EventReader reader;
  SIGNALBOX_TRY_VOID(reader.push(body, take));
  SIGNALBOX_TRY_VOID(reader.finish(take));
  if (!has_end) return fail(Code::kInvalid, "a stream without an end");
  return {};
}

Result<void> EventAssembler::push(std::string_view bytes) {
  for (;;) {
    const size_t end = bytes.find('\n');
    // An event may exceed its text by some JSON.
    if (rest_.size() + std::min(end, bytes.size()) > bytes_max_ + 65536)
      return fail(Code::kTooLarge, "an event of more than {} bytes", bytes_max_);
    if (end == std::string_view::npos) break;
    rest_ += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    SIGNALBOX_TRY_VOID(line(rest_));
    rest_.clear();
  }
  rest_ += bytes;
  return {};
}

Result<void> EventAssembler::line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.starts_with("data:")) {
    if (line.starts_with("event:")) return fail(Code::kInvalid, "an event with a name");
    return {};
  }
  line.remove_prefix(5);
  line = ascii::trimmed(line);
  if (line.empty()) return {};
  if (line == "[DONE]") {
    done_ = true;
    return {};
  }
  if (done_) return fail(Code::kInvalid, "an event after the last one");
  SIGNALBOX_TRY(const json::Document chunk, json::Document::parse(std::string(line)));
  return event(chunk.root());
}

Result<void> EventAssembler::event(const json::Value& chunk) {
  if (!chunk.find("choices")) return fail(Code::kInvalid, "an event without choices");
  for (const json::Member& member : chunk.members()) {
    if (is_one_of(member.key, kReplyHead)) {
      head_.try_emplace(std::string(member.key), member.value.raw());
    } else if (member.key == "usage") {
      if (!member.value.is_null()) usage_ = member.value.raw();
    } else if (member.key == "choices") {
      for (const json::Value& each : member.value.items()) SIGNALBOX_TRY_VOID(choice(each));
    } else if (member.key != "object" && member.key != "obfuscation" && !member.value.is_null()) {
      return unknown_member("chunk", member.key);
    }
  }
  return {};
}

Result<void> EventAssembler::choice(const json::Value& choice) {
  constexpr size_t kChoicesMax = 128;
  if (choices_.size() >= kChoicesMax) return fail(Code::kTooLarge, "too many choices");
  Choice& into = choices_[index_of(choice)];
  for (const json::Member& member : choice.members()) {
    if (member.key == "delta") {
      const bool is_last = !text_at(choice, "finish_reason").empty();
      SIGNALBOX_TRY_VOID(delta(member.value, is_last, into));
    } else if (member.key == "finish_reason") {
      if (member.value.is_string()) into.finish_reason = member.value.text();
    } else if (member.key != "index" && !member.value.is_null() &&
               !is_one_of(member.key, kIgnoredMembers)) {
      return unknown_member("choice", member.key);
    }
  }
  return {};
}

Result<void> EventAssembler::delta(const json::Value& delta, bool is_last, Choice& into) {
  constexpr size_t kCallsMax = 1024;
  for (const json::Member& member : delta.members()) {
    if (member.value.is_null() || member.key == "role") continue;
    if (is_one_of(member.key, kTexts)) {
      SIGNALBOX_TRY_VOID(append(into.texts[std::string(member.key)], member.value));
    } else if (member.key == "tool_calls") {
      for (const json::Value& each : member.value.items()) {
        if (into.calls.size() >= kCallsMax) return fail(Code::kTooLarge, "too many calls");
        SIGNALBOX_TRY_VOID(call(each, into.calls[number_of(each, is_last, into.numbers)]));
      }
    } else if (member.key == "function_call") {
      if (!into.function) into.function.emplace();
      SIGNALBOX_TRY_VOID(function(member.value, *into.function));
    } else {
      return unknown_member("delta", member.key);
    }
  }
  return {};
}

Result<void> EventAssembler::call(const json::Value& call, Call& into) {
  for (const json::Member& member : call.members()) {
    if (member.value.is_null() || member.key == "index") continue;
    if (member.key == "id" || member.key == "type") {
      std::string& to = member.key == "id" ? into.id : into.type;
      if (to.empty()) SIGNALBOX_TRY_VOID(append(to, member.value));
    } else if (member.key == "function") {
      SIGNALBOX_TRY_VOID(function(member.value, into));
    } else {
      return unknown_member("call", member.key);
    }
  }
  return {};
}

Result<void> EventAssembler::function(const json::Value& function, Call& into) {
  for (const json::Member& member : function.members()) {
    if (member.value.is_null()) continue;
    if (member.key != "name" && member.key != "arguments")
      return unknown_member("function", member.key);
    // Some servers repeat the name with each piece.
    if (member.key == "name" && !into.name.empty()) continue;
    if (member.key == "arguments" && member.value.is_object()) {
      SIGNALBOX_TRY_VOID(append_text(into.arguments, member.value.raw()));
      continue;
    }
    SIGNALBOX_TRY_VOID(append(member.key == "name" ? into.name : into.arguments, member.value));
  }
  return {};
}

Result<void> EventAssembler::append(std::string& to, const json::Value& text) {
  if (!text.is_array()) {
    if (!text.is_string()) return fail(Code::kInvalid, "a text that is not a string");
    return append_text(to, text.text());
  }
  for (const json::Value& part : text.items()) {
    const bool is_text = text_at(part, "type") == "text" && part.find("text");
    if (!part.is_string() && !is_text) return fail(Code::kInvalid, "a part that is not a text");
    SIGNALBOX_TRY_VOID(append_text(to, part.is_string() ? part.text() : text_at(part, "text")));
  }
  return {};
}

Result<void> EventAssembler::append_text(std::string& to, std::string_view text) {
  bytes_ += text.size();
  if (bytes_ > bytes_max_) return fail(Code::kTooLarge, "more than {} bytes", bytes_max_);
  to += text;
  return {};
}

Result<std::string> EventAssembler::finish() {
  if (!done_ || !rest_.empty()) return fail(Code::kInvalid, "a stream without an end");
  json::Writer out;
  out.begin_object().member("object", "chat.completion");
  for (const auto& [name, value] : head_) out.key(name).raw(value);
  out.key("choices").begin_array();
  for (const auto& [index, choice] : choices_) {
    out.begin_object().member("index", index).key("message").begin_object();
    out.member("role", "assistant");
    if (!choice.texts.contains("content")) out.key("content").null();
    for (const auto& [name, text] : choice.texts) out.member(name, text);
    if (!choice.calls.empty()) out.key("tool_calls").begin_array();
    for (const auto& [number, call] : choice.calls) {
      out.begin_object().member("id", call.id);
      out.member("type", call.type.empty() ? "function" : call.type.c_str());
      out.key("function").begin_object().member("name", call.name);
      out.member("arguments", call.arguments).end_object().end_object();
    }
    if (!choice.calls.empty()) out.end_array();
    if (choice.function) {
      out.key("function_call").begin_object().member("name", choice.function->name);
      out.member("arguments", choice.function->arguments).end_object();
    }
    out.end_object().key("logprobs").null().member("finish_reason", choice.finish_reason);
    out.end_object();
  }
  out.end_array();
  if (!usage_.empty()) out.key("usage").raw(usage_);
  std::string whole = out.end_object().take();
  SIGNALBOX_TRY_VOID(check_keepable(whole));
  return whole;
}

std::string events_of(const json::Value& completion, bool with_usage) {
  const auto usage = completion.find("usage");
  const bool has_usage = with_usage && usage && !usage->is_null();
  Chunks chunks(completion, has_usage);
  if (const auto choices = completion.find("choices")) {
    for (const json::Value& choice : choices->items()) add_choice(choice, chunks);
  }
  if (has_usage) chunks.usage(usage->raw());
  return chunks.take();
}

}  // namespace signalbox::cache
