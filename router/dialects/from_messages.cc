// Unknown types of events are ignored, as the API requires. Unknown content blocks would leave a
// gap in the answer, so they are an error.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/dialects/anthropic_server.h"
#include "router/dialects/chat_reply.h"
#include "router/dialects/custom_tools.h"

namespace signalbox::dialects {
namespace {

using json::Value;

std::string_view label(const std::optional<Value>& object, std::string_view key) {
  const auto value = object ? object->find(key) : std::nullopt;
  return value && value->is_string() ? value->text() : std::string_view{};
}

int64_t count(const Value& object, std::string_view key) {
  const auto value = object.find(key);
  return value ? std::max<int64_t>(0, value->integer().value_or(0)) : 0;
}

std::string_view finish_reason(std::string_view stop) {
  if (stop == "max_tokens" || stop == "model_context_window_exceeded") return "length";
  if (stop == "tool_use") return "tool_calls";
  return stop == "refusal" ? "content_filter" : "stop";
}

/// True if a call may lack arguments that the model meant to write.
bool is_cut(std::string_view stop) {
  return finish_reason(stop) == "length" || finish_reason(stop) == "content_filter";
}

/// True for blocks without content for a chat completion.
bool has_no_content(std::string_view type) {
  return type == "redacted_thinking";
}

/// The arguments of a call: an object, even if the server sends none.
std::string_view input_of(const Value& call) {
  const auto input = call.find("input");
  return input && input->is_object() ? input->raw() : std::string_view("{}");
}

/// Members of a usage object replace earlier values, since later ones are totals.
void add_usage(const std::optional<Value>& usage, ChatUsage& out, int64_t& input) {
  if (!usage || !usage->is_object()) return;
  const int64_t read = count(*usage, "cache_read_input_tokens");
  const int64_t all =
      count(*usage, "input_tokens") + read + count(*usage, "cache_creation_input_tokens");
  if (all > 0) {
    input = all;
    out.cached = read;
  }
  out.prompt = input;
  if (usage->find("output_tokens")) out.completion = count(*usage, "output_tokens");
}

void write_chat_usage(json::Writer& out, const ChatUsage& usage) {
  out.key("usage").begin_object().member("prompt_tokens", usage.prompt);
  out.member("completion_tokens", usage.completion);
  out.member("total_tokens", usage.prompt + usage.completion);
  out.key("prompt_tokens_details").begin_object().member("cached_tokens", usage.cached);
  out.end_object().end_object();
}

constexpr size_t kOpenCallsMax = 1024;

/// A call whose block has begun; servers that pass on other APIs may have several at a time.
struct OpenCall {
  int64_t number;
  std::string input;  // until parts of it come, or of a custom tool until it is whole
  bool is_custom = false, has_stopped = false, has_parts = false;
};

class FromMessages final : public ReplyTranslator {
 public:
  FromMessages(bool usage, int64_t now, std::set<std::string, std::less<>> custom)
      : with_usage_(usage), now_(now), custom_(std::move(custom)) {}

  Result<std::string> whole(std::string body) override;
  std::string refusal(int status, std::string_view body) const override;
  Result<void> push(std::string_view bytes, std::string& out) override;
  Result<void> finish(std::string& out) override;
  std::string broken(std::string_view error_body) override {
    return fmt::format("data: {}\n\n", error_body);
  }

 private:
  Result<void> event(std::string_view data, std::string& out);
  Result<void> block_start(const Value& root, std::string& out);
  Result<void> block_delta(const Value& root, std::string& out);
  void write_call(json::Writer& out, std::string_view name, std::string_view arguments) const;
  void open(json::Writer& out, std::string_view object) const;
  void chunk(std::string_view delta, std::string_view reason, std::string& out) const;
  void text_chunk(std::string_view key, std::string_view text, std::string& out) const;
  void add_arguments(int64_t call, std::string_view arguments, std::string& out) const;
  void add_input(const OpenCall& call, std::string& out) const;
  Result<void> count_held(size_t bytes);
  void end(std::string& out);

  const bool with_usage_;
  const int64_t now_;
  const std::set<std::string, std::less<>> custom_;  // the tools whose input is a text
  EventReader reader_;
  std::string id_, model_, stop_;
  int64_t calls_ = 0;
  std::map<int64_t, OpenCall> open_;  // by block
  size_t held_bytes_ = 0;             // of all inputs that were held until their call ended
  ChatUsage usage_;
  int64_t input_ = 0;
  bool done_ = false;
};

// Writes the type of a call and what belongs to it.
void FromMessages::write_call(json::Writer& out, std::string_view name,
                              std::string_view arguments) const {
  const bool custom = custom_.contains(name);
  const std::string_view type = custom ? "custom" : "function";
  out.member("type", type).key(type).begin_object().member("name", name);
  if (custom)
    out.member("input", arguments.empty() ? std::string() : custom_input(arguments));
  else
    out.member("arguments", arguments);
  out.end_object();
}

void FromMessages::open(json::Writer& out, std::string_view object) const {
  out.begin_object().member("id", id_).member("object", object).member("created", now_);
  out.member("model", model_);
}

Result<std::string> FromMessages::whole(std::string body) {
  SIGNALBOX_TRY(const json::Document document, parse_chat(std::move(body)));
  const Value root = document.root();
  const auto content = root.find("content");
  SIGNALBOX_TRY_VOID(refuse_error(root));
  if (!content || !content->is_array())
    return fail(Code::kUpstream, "the reply: content: expected an array");
  id_ = label(root, "id");
  model_ = label(root, "model");
  add_usage(root.find("usage"), usage_, input_);
  std::string text, thoughts;
  json::Writer calls;
  calls.begin_array();
  const std::string_view stop = label(root, "stop_reason");
  size_t index = 0;
  const json::Items blocks = content->items();
  for (auto next = blocks.begin(); next != blocks.end(); ++index) {
    const Value block = *next;
    ++next;
    const std::string_view type = label(block, "type");
    if (type == "text") {
      text += label(block, "text");
    } else if (type == "thinking") {
      thoughts += label(block, "thinking");
    } else if (type == "tool_use") {
      const std::string_view name = label(block, "name");
      const std::string_view input = input_of(block);
      const bool has_none = input == "{}" && is_cut(stop) && !(next != blocks.end());
      calls.begin_object().member("id", label(block, "id"));
      write_call(calls, name, has_none ? std::string_view() : input);
      calls.end_object();
      ++calls_;
    } else if (!has_no_content(type)) {
      return fail(Code::kUpstream, "the reply: content[{}].type: not supported", index);
    }
  }
  json::Writer out;
  open(out, "chat.completion");
  out.key("choices").begin_array().begin_object().member("index", 0).key("message");
  out.begin_object().member("role", "assistant").key("content");
  text.empty() && calls_ > 0 ? out.null() : out.string(text);
  if (!thoughts.empty()) out.member("reasoning_content", thoughts);
  out.key("refusal").null();
  calls.end_array();
  if (calls_ > 0) out.key("tool_calls").raw(calls.take());
  out.end_object().key("logprobs").null();
  out.member("finish_reason", finish_reason(stop)).end_object().end_array();
  write_chat_usage(out, usage_);
  return out.end_object().take();
}

std::string FromMessages::refusal(int status, std::string_view body) const {
  return openai_error(status, body);
}

Result<void> FromMessages::push(std::string_view bytes, std::string& out) {
  const EventReader::Take take = [&](std::string_view data) { return event(data, out); };
  return reader_.push(bytes, take);
}

Result<void> FromMessages::finish(std::string& out) {
  const EventReader::Take take = [&](std::string_view data) { return event(data, out); };
  SIGNALBOX_TRY_VOID(reader_.finish(take));
  if (done_) return {};
  return fail(Code::kUpstream, "the stream ended before the reply was complete");
}

void FromMessages::chunk(std::string_view delta, std::string_view reason, std::string& out) const {
  json::Writer event;
  open(event, "chat.completion.chunk");
  event.key("choices").begin_array().begin_object().member("index", 0).key("delta").raw(delta);
  event.key("logprobs").null().key("finish_reason");
  reason.empty() ? event.null() : event.string(reason);
  event.end_object().end_array();
  if (with_usage_) event.key("usage").null();
  append_event(out, "", event.end_object().take());
}

void FromMessages::text_chunk(std::string_view key, std::string_view text, std::string& out) const {
  if (text.empty()) return;
  json::Writer delta;
  chunk(delta.begin_object().member(key, text).end_object().take(), {}, out);
}

// A call without arguments comes without parts, and clients parse the arguments. A call that was
// cut may lack its parts, too, so wait until something follows the call or the reply ends.
void FromMessages::add_input(const OpenCall& call, std::string& out) const {
  if (call.input.empty()) return;
  if (!call.is_custom) return add_arguments(call.number, call.input, out);
  json::Writer delta;
  delta.begin_object().key("tool_calls").begin_array().begin_object();
  delta.member("index", call.number).key("custom").begin_object();
  delta.member("input", custom_input(call.input));
  chunk(delta.end_object().end_object().end_array().end_object().take(), {}, out);
}

Result<void> FromMessages::block_start(const Value& root, std::string& out) {
  for (const auto& [block, call] : open_)
    if (call.has_stopped) add_input(call, out);
  std::erase_if(open_, [](const auto& each) { return each.second.has_stopped; });
  const auto block = root.find("content_block");
  const std::string_view type = label(block, "type");
  if (type == "text") {
    text_chunk("content", label(block, "text"), out);
  } else if (type == "thinking") {
    text_chunk("reasoning_content", label(block, "thinking"), out);
  } else if (type == "tool_use") {
    // A server that numbers no blocks, or ends none, begins the next call in the place of the last.
    const int64_t index = count(root, "index");
    if (const auto replaced = open_.find(index); replaced != open_.end())
      add_input(replaced->second, out);
    const std::string_view name = label(block, "name");
    json::Writer delta;
    delta.begin_object().key("tool_calls").begin_array().begin_object().member("index", calls_++);
    write_call(delta.member("id", label(block, "id")), name, {});
    delta.end_object().end_array().end_object();
    chunk(delta.take(), {}, out);
    if (open_.size() == kOpenCallsMax)
      return fail(Code::kUpstream, "the reply: more than {} open calls", kOpenCallsMax);
    const std::string_view input = input_of(*block);
    SIGNALBOX_TRY_VOID(count_held(input.size()));
    open_[index] = {calls_ - 1, std::string(input), custom_.contains(name)};
  } else if (!has_no_content(type)) {
    return fail(Code::kUpstream, "the reply: content_block.type: not supported");
  }
  return {};
}

Result<void> FromMessages::block_delta(const Value& root, std::string& out) {
  const auto delta = root.find("delta");
  const std::string_view type = label(delta, "type");
  if (type == "text_delta") text_chunk("content", label(delta, "text"), out);
  if (type == "thinking_delta") text_chunk("reasoning_content", label(delta, "thinking"), out);
  if (type != "input_json_delta") return {};
  const auto call = open_.find(count(root, "index"));
  if (call == open_.end()) return fail(Code::kUpstream, "the reply: arguments without a tool call");
  const std::string_view part = label(delta, "partial_json");
  if (part.empty()) return {};
  if (!std::exchange(call->second.has_parts, true)) call->second.input.clear();
  if (!call->second.is_custom) {
    add_arguments(call->second.number, part, out);
    return {};
  }
  SIGNALBOX_TRY_VOID(count_held(part.size()));
  call->second.input += part;
  return {};
}

// One limit for all calls of a reply, because many may be open at once.
Result<void> FromMessages::count_held(size_t bytes) {
  held_bytes_ += bytes;
  if (held_bytes_ <= EventReader::kEventBytesMax) return {};
  return fail(Code::kTooLarge, "the reply: the inputs of tools are longer than {} bytes",
              EventReader::kEventBytesMax);
}

void FromMessages::add_arguments(int64_t call, std::string_view arguments, std::string& out) const {
  json::Writer delta;
  delta.begin_object().key("tool_calls").begin_array().begin_object();
  delta.member("index", call).key("function").begin_object();
  delta.member("arguments", arguments);
  delta.end_object().end_object().end_array().end_object();
  chunk(delta.take(), {}, out);
}

void FromMessages::end(std::string& out) {
  done_ = true;
  for (const auto& [block, call] : open_)
    if (!is_cut(stop_) || call.number + 1 < calls_) add_input(call, out);
  chunk("{}", finish_reason(stop_), out);
  if (with_usage_) {
    json::Writer event;
    open(event, "chat.completion.chunk");
    event.key("choices").begin_array().end_array();
    write_chat_usage(event, usage_);
    append_event(out, "", event.end_object().take());
  }
  append_event(out, "", "[DONE]");
}

Result<void> FromMessages::event(std::string_view data, std::string& out) {
  data = ascii::trimmed(data);
  if (done_ || data.empty()) return {};
  SIGNALBOX_TRY(const json::Document document, parse_chat(std::string(data)));
  const Value root = document.root();
  const std::string_view type = label(root, "type");
  if (type == "error") {
    done_ = true;
    out += broken(refusal(500, data));
    return {};
  }
  if (type == "message_start") {
    const auto message = root.find("message");
    id_ = label(message, "id");
    model_ = label(message, "model");
    if (message) add_usage(message->find("usage"), usage_, input_);
    chunk(R"({"role":"assistant","content":""})", {}, out);
  } else if (type == "content_block_start") {
    return block_start(root, out);
  } else if (type == "content_block_delta") {
    return block_delta(root, out);
  } else if (type == "content_block_stop") {
    const auto call = open_.find(count(root, "index"));
    if (call != open_.end()) call->second.has_stopped = true;
  } else if (type == "message_delta") {
    stop_ = label(root.find("delta"), "stop_reason");
    add_usage(root.find("usage"), usage_, input_);
  } else if (type == "message_stop") {
    end(out);
  }
  return {};
}

}  // namespace

std::unique_ptr<ReplyTranslator> replies_of_messages(bool usage, int64_t now,
                                                     std::set<std::string, std::less<>> custom) {
  return std::make_unique<FromMessages>(usage, now, std::move(custom));
}

}  // namespace signalbox::dialects
