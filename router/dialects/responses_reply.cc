// Items follow each other, with one open at a time. The response at the end repeats them all, so
// the output is kept, up to kOutputBytesMax.

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/dialects/call_signature.h"
#include "router/dialects/chat_messages.h"
#include "router/dialects/chat_reply.h"
#include "router/dialects/custom_tools.h"
#include "router/dialects/responses.h"

namespace signalbox::dialects {
namespace {

constexpr size_t kOutputBytesMax = size_t{1} << 26;
/// The cost of an item or a part besides its text, so that many small ones are bounded too.
constexpr size_t kItemBytes = 256;

enum class ItemKind : uint8_t { kNone, kReasoning, kMessage, kCall, kCustomCall };

constexpr std::string_view kOutputText = "output_text";
constexpr std::string_view kRefusal = "refusal";
constexpr std::string_view kReasoningText = "reasoning_text";
constexpr std::string_view kSummaryText = "summary_text";

/// A text part of a message or of reasoning.
struct Part {
  std::string_view type;  // one of the constants above
  std::string text;

  std::string_view key() const { return type == kRefusal ? kRefusal : "text"; }
  bool is_summary() const { return type == kSummaryText; }
  /// The middle of the names of its events, and of those about the part as a whole.
  std::string_view events() const { return is_summary() ? "reasoning_summary_text" : type; }
  std::string_view part_events() const {
    return is_summary() ? "reasoning_summary_part" : "content_part";
  }
};

std::string part_json(const Part& part) {
  json::Writer out;
  out.begin_object().member("type", part.type).member(part.key(), part.text);
  if (part.type == kOutputText) out.key("annotations").raw("[]").key("logprobs").raw("[]");
  return out.end_object().take();
}

struct OutputItem {
  explicit OutputItem(ItemKind of = ItemKind::kNone) : kind(of) {}
  ItemKind kind;
  std::string id;
  std::vector<Part> parts;                   // of a message or of reasoning
  std::string call_id, function, arguments;  // of a call; `function` as the server knows it
  std::string name, space;                   // of a call, as the client knows it

  bool is_call() const { return kind == ItemKind::kCall || kind == ItemKind::kCustomCall; }
};

std::string item_json(const OutputItem& item, std::string_view status) {
  json::Writer out;
  out.begin_object().member("id", item.id);
  if (item.is_call()) {
    const bool custom = item.kind == ItemKind::kCustomCall;
    out.member("type", custom ? "custom_tool_call" : "function_call").member("status", status);
    out.member("call_id", item.call_id).member("name", item.name);
    if (!item.space.empty()) out.member("namespace", item.space);
    return out.member(custom ? "input" : "arguments", item.arguments).end_object().take();
  }
  if (item.kind == ItemKind::kReasoning) {
    out.member("type", "reasoning").member("status", status).key("summary").begin_array();
    for (const Part& part : item.parts)
      if (part.is_summary()) out.raw(part_json(part));
    out.end_array();
  } else {
    out.member("type", "message").member("status", status).member("role", "assistant");
  }
  out.key("content").begin_array();
  for (const Part& part : item.parts)
    if (!part.is_summary()) out.raw(part_json(part));
  return out.end_array().end_object().take();
}

void write_usage(json::Writer& out, const std::optional<ChatUsage>& usage) {
  out.key("usage");
  if (!usage) {
    out.null();
    return;
  }
  out.begin_object().member("input_tokens", usage->prompt);
  out.key("input_tokens_details").begin_object().member("cached_tokens", usage->cached);
  out.end_object().member("output_tokens", usage->completion);
  out.key("output_tokens_details").begin_object().member("reasoning_tokens", usage->reasoning);
  out.end_object().member("total_tokens", usage->prompt + usage->completion).end_object();
}

class ResponsesReplies final : public ChatStream {
 public:
  ResponsesReplies(ParsedResponses request, const RequestContext& context, ResponseStore* store)
      : request_(std::move(request)),
        token_(context.token),
        owner_(context.owner),
        now_(context.now),
        store_(store) {
    request_.chat.clear();
  }

  Result<std::string> whole(std::string body) override;
  std::string refusal(int status, std::string_view body) const override {
    return openai_error(status, body);
  }
  std::string broken(std::string_view error_body) override;
  size_t memory_bytes() const override;
  void keep_nothing() override;
  bool has_unpublished() const override { return stored_ && store_->is_shared(); }
  std::optional<std::chrono::milliseconds> publish(std::function<void()> done) override {
    if (!stored_) return std::nullopt;
    return store_->publish(id(), std::exchange(stored_, nullptr), now_, std::move(done));
  }

 private:
  std::string id() const { return fmt::format("resp_{}", token_); }
  Result<void> chunk(const ChatPiece& piece, std::string& out) override;
  Result<void> end(std::string& out) override;

  void start(const ChatPiece& piece, std::string& out);
  void open(OutputItem item, std::string_view prefix, std::string& out);
  void open_part(std::string_view type, std::string& out);
  void close_part(std::string& out);
  void close(std::string& out);
  void close_call(std::string& out);
  void begin_message();
  void add_text(std::string_view text, std::string_view type, std::string& out);
  Result<void> call(const ChatPiece::Call& call, std::string& out);
  void add_arguments(std::string_view arguments, std::string& out);
  Result<void> count(const ChatPiece& piece);
  void store_response(const std::string& response);

  /// Starts an event about the open item. The caller adds members, and emit() ends it.
  json::Writer about_item(std::string_view type);
  void emit(std::string_view type, json::Writer event, std::string& out);
  void emit_response(std::string_view type, std::string_view response, std::string& out);
  void emit_item(std::string_view type, std::string_view json, std::string& out);
  std::string_view status() const;
  std::string response(std::string_view status, std::string_view error) const;

  ParsedResponses request_;
  const std::string token_, owner_;
  const int64_t now_;
  ResponseStore* const store_;

  bool started_ = false;
  ResponsePointer stored_;  // not published yet
  int64_t sequence_ = 0;
  std::string model_;
  OutputItem item_;
  int64_t call_ = -1;   // the number of the open or last call
  int64_t items_ = 0;   // including the open one
  std::string output_;  // closed items, elements of an array
  // The same as a message, for the conversation that continues from here
  ChatMessages output_messages_;
  std::vector<std::string> thoughts_;  // of the next one
  size_t output_bytes_ = 0;
  std::string finish_;
  std::optional<ChatUsage> usage_;
};

size_t ResponsesReplies::memory_bytes() const {
  size_t out = request_.messages.capacity() + request_.input.memory_bytes();
  for (const auto& [key, value] : request_.repeated) out += value.capacity();
  return out;
}

void ResponsesReplies::keep_nothing() {
  request_.store = false;
  for (auto& [key, value] : request_.repeated)
    if (key == "store") value = "false";
}

json::Writer ResponsesReplies::about_item(std::string_view type) {
  json::Writer event;
  event.begin_object().member("type", type).member("sequence_number", sequence_++);
  event.member("item_id", item_.id).member("output_index", items_ - 1);
  if (item_.is_call()) return event;
  const bool is_summary = !item_.parts.empty() && item_.parts.back().is_summary();
  event.member(is_summary ? "summary_index" : "content_index",
               static_cast<int64_t>(item_.parts.size()) - 1);
  return event;
}

void ResponsesReplies::emit(std::string_view type, json::Writer event, std::string& out) {
  append_event(out, type, event.end_object().take());
}

void ResponsesReplies::emit_response(std::string_view type, std::string_view response,
                                     std::string& out) {
  json::Writer event;
  event.begin_object().member("type", type).member("sequence_number", sequence_++);
  event.key("response").raw(response);
  emit(type, std::move(event), out);
}

std::string_view ResponsesReplies::status() const {
  return finish_ == "length" || finish_ == "content_filter" ? "incomplete" : "completed";
}

std::string ResponsesReplies::response(std::string_view status, std::string_view error) const {
  json::Writer out;
  out.begin_object().member("id", fmt::format("resp_{}", token_)).member("object", "response");
  out.member("created_at", now_).member("status", status).member("background", false).key("error");
  error.empty() ? out.null() : out.raw(error);
  out.key("incomplete_details");
  if (status == "incomplete") {
    out.begin_object();
    out.member("reason", finish_ == "length" ? "max_output_tokens" : "content_filter").end_object();
  } else {
    out.null();
  }
  out.member("model", model_).key("output").begin_array();
  if (!output_.empty()) out.raw(output_);
  out.end_array();
  for (const auto& [key, value] : request_.repeated) out.key(key).raw(value);
  write_usage(out, usage_);
  return out.end_object().take();
}

void ResponsesReplies::start(const ChatPiece& piece, std::string& out) {
  if (started_) return;
  started_ = true;
  model_ = piece.model;
  const std::string begun = response("in_progress", {});
  emit_response("response.created", begun, out);
  emit_response("response.in_progress", begun, out);
}

void ResponsesReplies::open(OutputItem item, std::string_view prefix, std::string& out) {
  close(out);
  output_bytes_ += kItemBytes;
  item_ = std::move(item);
  item_.id = fmt::format("{}_{}{}", prefix, token_, items_++);
  emit_item("response.output_item.added", item_json(item_, "in_progress"), out);
}

void ResponsesReplies::emit_item(std::string_view type, std::string_view json, std::string& out) {
  json::Writer event;
  event.begin_object().member("type", type).member("sequence_number", sequence_++);
  event.member("output_index", items_ - 1).key("item").raw(json);
  emit(type, std::move(event), out);
}

void ResponsesReplies::open_part(std::string_view type, std::string& out) {
  close_part(out);
  output_bytes_ += kItemBytes;
  const Part& part = item_.parts.emplace_back(Part{type, {}});
  const std::string event_type = fmt::format("response.{}.added", part.part_events());
  json::Writer event = about_item(event_type);
  event.key("part").raw(part_json(part));
  emit(event_type, std::move(event), out);
}

void ResponsesReplies::close_part(std::string& out) {
  if (item_.parts.empty()) return;
  const Part& part = item_.parts.back();
  const std::string type = fmt::format("response.{}.done", part.events());
  json::Writer done = about_item(type);
  done.member(part.key(), part.text);
  if (part.type == kOutputText) done.key("logprobs").raw("[]");
  emit(type, std::move(done), out);
  const std::string whole_type = fmt::format("response.{}.done", part.part_events());
  json::Writer event = about_item(whole_type);
  event.key("part").raw(part_json(part));
  emit(whole_type, std::move(event), out);
}

void ResponsesReplies::close(std::string& out) {
  if (item_.kind == ItemKind::kNone) return;
  if (item_.is_call()) {
    close_call(out);
  } else {
    close_part(out);
  }
  const std::string json = item_json(item_, "completed");
  emit_item("response.output_item.done", json, out);
  output_.append(output_.empty() ? "" : ",").append(json);
  if (item_.kind == ItemKind::kMessage) {
    begin_message();
    for (const Part& part : item_.parts) output_messages_.add_text(json::quote(part.text));
  }
  if (item_.kind == ItemKind::kReasoning) {
    for (const Part& part : item_.parts) thoughts_.push_back(part.text);
  }
  item_ = OutputItem();
}

// Thoughts alone are no message: a server that gets no thoughts would get an empty one.
void ResponsesReplies::begin_message() {
  output_messages_.begin("assistant");
  for (const std::string& thought : std::exchange(thoughts_, {}))
    output_messages_.add_reasoning(thought);
}

// Clients parse the arguments, so a call without any gets an empty object, unless the reply was
// cut. The conversation keeps the arguments of a custom tool as the server wrote them.
void ResponsesReplies::close_call(std::string& out) {
  if (item_.kind == ItemKind::kCall && item_.arguments.empty() && status() != "incomplete")
    add_arguments("{}", out);
  begin_message();
  output_messages_.add_call(item_.call_id, item_.function, item_.arguments);
  if (item_.kind == ItemKind::kCall) {
    constexpr std::string_view kType = "response.function_call_arguments.done";
    json::Writer done = about_item(kType);
    done.member("name", item_.name).member("arguments", item_.arguments);
    return emit(kType, std::move(done), out);
  }
  // Its text is known only when the object around it is complete.
  item_.arguments = custom_input(item_.arguments);
  constexpr std::string_view kDelta = "response.custom_tool_call_input.delta";
  json::Writer delta = about_item(kDelta);
  emit(kDelta, std::move(delta.member("delta", item_.arguments)), out);
  constexpr std::string_view kDone = "response.custom_tool_call_input.done";
  json::Writer done = about_item(kDone);
  emit(kDone, std::move(done.member("input", item_.arguments)), out);
}

void ResponsesReplies::add_text(std::string_view text, std::string_view type, std::string& out) {
  if (text.empty()) return;
  const bool is_thought = type == kReasoningText || type == kSummaryText;
  const ItemKind kind = is_thought ? ItemKind::kReasoning : ItemKind::kMessage;
  if (item_.kind != kind) open(OutputItem(kind), kind == ItemKind::kReasoning ? "rs" : "msg", out);
  if (item_.parts.empty() || item_.parts.back().type != type) open_part(type, out);
  item_.parts.back().text += text;
  const std::string event_type = fmt::format("response.{}.delta", item_.parts.back().events());
  json::Writer event = about_item(event_type);
  event.member("delta", text);
  if (type == kOutputText) event.key("logprobs").raw("[]");
  emit(event_type, std::move(event), out);
}

Result<void> ResponsesReplies::call(const ChatPiece::Call& call, std::string& out) {
  if (!item_.is_call() || call.index != call_) {
    if (call.index <= call_ && ascii::trimmed(call.arguments).empty())
      return {};  // it adds nothing
    if (call.index <= call_) return fail(Code::kUpstream, "the reply: tool calls are interleaved");
    if (call.name.empty())
      return fail(Code::kUpstream, "the reply: tool_calls[{}]: starts without a name", call.index);
    call_ = call.index;
    const auto tool = request_.tools.find(call.name);
    const bool known = tool != request_.tools.end();
    OutputItem item(known && tool->second.custom ? ItemKind::kCustomCall : ItemKind::kCall);
    item.function = call.name;
    item.name = known ? tool->second.name : item.function;
    if (known) item.space = tool->second.space;
    const std::string id =
        call.id.empty() ? fmt::format("call_{}{}", token_, items_) : std::string(call.id);
    item.call_id = signed_id(id, call.signature);
    const bool custom = item.kind == ItemKind::kCustomCall;
    open(std::move(item), custom ? "ctc" : "fc", out);
  }
  add_arguments(call.arguments, out);
  return {};
}

void ResponsesReplies::add_arguments(std::string_view arguments, std::string& out) {
  item_.arguments += arguments;
  if (arguments.empty() || item_.kind == ItemKind::kCustomCall) return;
  constexpr std::string_view kType = "response.function_call_arguments.delta";
  json::Writer event = about_item(kType);
  event.member("delta", arguments);
  emit(kType, std::move(event), out);
}

Result<void> ResponsesReplies::count(const ChatPiece& piece) {
  output_bytes_ += piece.text.size() + piece.refusal.size() + piece.reasoning.size();
  for (const ChatPiece::Call& call : piece.calls)
    output_bytes_ +=
        call.id.size() + call.signature.size() + call.name.size() + call.arguments.size();
  if (output_bytes_ <= kOutputBytesMax) return {};
  return fail(Code::kTooLarge, "the reply is longer than {} bytes", kOutputBytesMax);
}

Result<void> ResponsesReplies::chunk(const ChatPiece& piece, std::string& out) {
  start(piece, out);
  SIGNALBOX_TRY_VOID(count(piece));
  if (piece.usage) usage_ = piece.usage;
  if (!piece.finish_reason.empty()) finish_ = piece.finish_reason;
  add_text(piece.reasoning, request_.summarises ? kSummaryText : kReasoningText, out);
  add_text(piece.text, kOutputText, out);
  add_text(piece.refusal, kRefusal, out);
  for (const ChatPiece::Call& each : piece.calls) {
    SIGNALBOX_TRY_VOID(call(each, out));
  }
  return {};
}

void ResponsesReplies::store_response(const std::string& response) {
  if (store_ == nullptr || !request_.store) return;
  StoredResponse stored{owner_, response, std::move(request_.input), std::move(request_.messages)};
  const std::string output = output_messages_.take();
  if (!output.empty()) stored.messages.append(stored.messages.empty() ? "" : ",").append(output);
  stored_ = store_->put(id(), std::move(stored), now_);
}

Result<void> ResponsesReplies::end(std::string& out) {
  close(out);
  const std::string done = response(status(), {});
  store_response(done);
  emit_response(fmt::format("response.{}", status()), done, out);
  return {};
}

// Handles the reply as a stream of one chunk and discards the events.
Result<std::string> ResponsesReplies::whole(std::string body) {
  SIGNALBOX_TRY(const json::Document document, parse_chat(std::move(body)));
  SIGNALBOX_TRY(const ChatPiece piece, read_chat(document.root(), "message"));
  std::string events;
  SIGNALBOX_TRY_VOID(chunk(piece, events));
  close(events);
  std::string done = response(status(), {});
  store_response(done);
  return done;
}

std::string ResponsesReplies::broken(std::string_view error_body) {
  const Refused error = read_refusal(502, error_body);
  constexpr std::string_view kOther = "server_error";
  const std::string_view code = error.openai_code();
  json::Writer event;
  event.begin_object().member("type", "error").member("sequence_number", sequence_++);
  event.member("code", code.empty() ? kOther : code)
      .member("message", error.message)
      .key("param")
      .null();
  std::string out;
  emit("error", std::move(event), out);
  if (!started_) return out;
  json::Writer why;
  why.begin_object().member("code", error.is_too_long() ? code : kOther);
  why.member("message", error.message).end_object();
  emit_response("response.failed", response("failed", why.take()), out);
  return out;
}

}  // namespace

std::unique_ptr<ReplyTranslator> responses_replies(ParsedResponses request,
                                                   const RequestContext& context,
                                                   ResponseStore* store) {
  return std::make_unique<ResponsesReplies>(std::move(request), context, store);
}

}  // namespace signalbox::dialects
