// The whole reply is known when the call comes in. It is a list of pieces: one piece for a plain
// reply, one piece per event for a stream.

#include "router/upstream/echo_backend.h"

#include <atomic>
#include <ctime>
#include <functional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_find.h"
#include "base/json_writer.h"
#include "router/http/thread_pool.h"

namespace signalbox::upstream {
namespace {

constexpr size_t kQuotedBytesMax = 200;  // of the user's text, as a reminder and not a copy
constexpr size_t kWordsAPiece = 4;
constexpr size_t kLoopBytesMax = 64 << 10;  // a larger request is read on a thread of its own
constexpr uint32_t kWaitingMax = 64;        // large requests

class EchoReply final : public UpstreamReply {
 public:
  EchoReply(int status, std::string_view content_type, std::vector<std::string> pieces)
      : pieces_(std::move(pieces)) {
    head_.status = status;
    head_.headers.add("Content-Type", content_type);
    if (pieces_.size() == 1) head_.content_length = pieces_.front().size();
  }

  const http::Response& head() const override { return head_; }
  bool ready() const override { return true; }
  http::Task<Result<Piece>> next() override {
    const std::string_view bytes = pieces_[at_++];
    co_return Piece{bytes, at_ == pieces_.size()};
  }

 private:
  http::Response head_;
  std::vector<std::string> pieces_;
  size_t at_ = 0;
};

/// The properties of a request that the reply describes.
struct EchoRequest {
  std::string_view model;
  size_t messages = 0;
  bool system_prompt = false;
  bool stream = false;
  bool include_usage = false;
  std::string reasoning;  // `reasoning_effort "high"`, or ""
  std::string last_user_text;
  size_t words = 0;
};

size_t count_words(std::string_view text) {
  size_t words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r');
    words += !space && !inside;
    inside = !space;
  }
  return words;
}

std::string text_of(const json::Value& content) {
  if (content.is_string()) return std::string(content.text());
  std::string out;
  for (const json::Value part : content.items()) {
    const auto text = part.find("text");
    if (text && text->is_string()) out.append(out.empty() ? "" : "\n").append(text->text());
  }
  return out;
}

/// Truncates to at most kQuotedBytesMax bytes without splitting a character.
std::string shorten(std::string text) {
  if (text.size() <= kQuotedBytesMax) return text;
  size_t end = kQuotedBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text.append("...");
}

bool is_true(const std::optional<json::Value>& value) {
  return value && value->is_bool() && value->boolean();
}

std::string reasoning_of(const json::Value& root) {
  std::string out;
  const auto add = [&out](std::string_view name, const std::optional<json::Value>& value) {
    if (value) out.append(out.empty() ? "" : ", ").append(name).append(" ").append(value->raw());
  };
  const auto [effort, template_arguments, reasoning, thinking] =
      json::find_each(root, "reasoning_effort", "chat_template_kwargs", "reasoning", "thinking");
  add("reasoning_effort", effort);
  add("chat_template_kwargs", template_arguments);
  add("reasoning", reasoning);
  add("thinking", thinking);
  return out;
}

Result<EchoRequest> read_request(const json::Value& root) {
  EchoRequest out;
  const auto [model, messages, stream, options] =
      json::find_each(root, "model", "messages", "stream", "stream_options");
  if (!model || !model->is_string()) return fail(Code::kInvalid, "model: expected a string");
  out.model = model->text();
  if (!messages || !messages->is_array())
    return fail(Code::kInvalid, "messages: expected an array");
  for (const json::Value message : messages->items()) {
    ++out.messages;
    const auto [role, content] = json::find_each(message, "role", "content");
    if (!role || !role->is_string() || !content) continue;
    const std::string text = text_of(*content);
    out.words += count_words(text);
    out.system_prompt =
        out.system_prompt || role->text() == "system" || role->text() == "developer";
    if (role->text() == "user") out.last_user_text = text;
  }
  out.reasoning = reasoning_of(root);
  out.stream = is_true(stream);
  out.include_usage = options && is_true(options->find("include_usage"));
  return out;
}

std::string describe(std::string_view stands_for, const EchoRequest& request) {
  return fmt::format(
      "Echo, standing in for {}. I was asked as \"{}\", with {} message{}, {} and {}. You said: {}",
      stands_for, request.model, request.messages, request.messages == 1 ? "" : "s",
      request.system_prompt ? "a system prompt" : "no system prompt",
      request.reasoning.empty() ? "no reasoning parameters" : request.reasoning,
      shorten(request.last_user_text));
}

/// The members that every object of one completion shares.
struct Completion {
  std::string id;
  int64_t created;
  std::string_view model;

  json::Writer& open(json::Writer& out, const char* object) const {
    return out.begin_object()
        .member("id", id)
        .member("object", object)
        .member("created", created)
        .member("model", model);
  }
};

Completion new_completion(std::string_view model) {
  static std::atomic<uint64_t> counter{0};
  const std::time_t now = std::time(nullptr);
  return {fmt::format("chatcmpl-echo-{:x}-{}", now, counter.fetch_add(1)),
          static_cast<int64_t>(now), model};
}

void write_usage(json::Writer& out, size_t prompt, size_t completion) {
  out.key("usage")
      .begin_object()
      .member("prompt_tokens", static_cast<int64_t>(prompt))
      .member("completion_tokens", static_cast<int64_t>(completion))
      .member("total_tokens", static_cast<int64_t>(prompt + completion))
      .end_object();
}

std::string write_completion(const Completion& completion, const EchoRequest& request,
                             std::string_view text) {
  json::Writer out;
  completion.open(out, "chat.completion").key("choices").begin_array().begin_object();
  out.member("index", int64_t{0}).key("message").begin_object();
  out.member("role", "assistant").member("content", text).key("refusal").null().end_object();
  out.key("logprobs").null().member("finish_reason", "stop").end_object().end_array();
  write_usage(out, request.words, count_words(text));
  return out.end_object().take();
}

std::string event(std::string_view data) {
  return fmt::format("data: {}\n\n", data);
}

/// Writes a chunk; `fill` writes its delta.
template <class Fill>
std::string chunk(const Completion& completion, bool announces_usage, const char* finish_reason,
                  const Fill& fill) {
  json::Writer out;
  completion.open(out, "chat.completion.chunk").key("choices").begin_array().begin_object();
  out.member("index", int64_t{0}).key("delta").begin_object();
  fill(out);
  out.end_object().key("logprobs").null().key("finish_reason");
  finish_reason == nullptr ? out.null() : out.string(finish_reason);
  out.end_object().end_array();
  if (announces_usage) out.key("usage").null();
  return event(out.end_object().take());
}

/// Splits the text into pieces of a few words and keeps the white space.
std::vector<std::string_view> split_text(std::string_view text) {
  std::vector<std::string_view> pieces;
  size_t begin = 0, words = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ' || ++words % kWordsAPiece != 0) continue;
    pieces.push_back(text.substr(begin, i + 1 - begin));
    begin = i + 1;
  }
  if (begin < text.size()) pieces.push_back(text.substr(begin));
  return pieces;
}

std::vector<std::string> write_events(const Completion& completion, const EchoRequest& request,
                                      std::string_view text) {
  std::vector<std::string> events;
  const bool usage = request.include_usage;
  events.push_back(chunk(completion, usage, nullptr, [](json::Writer& delta) {
    delta.member("role", "assistant").member("content", "").key("refusal").null();
  }));
  for (const std::string_view piece : split_text(text)) {
    events.push_back(chunk(completion, usage, nullptr,
                           [&](json::Writer& delta) { delta.member("content", piece); }));
  }
  events.push_back(chunk(completion, usage, "stop", [](json::Writer&) {}));
  if (usage) {
    json::Writer out;
    completion.open(out, "chat.completion.chunk").key("choices").begin_array().end_array();
    write_usage(out, request.words, count_words(text));
    events.push_back(event(out.end_object().take()));
  }
  events.push_back(event("[DONE]"));
  return events;
}

std::string write_invalid_request(std::string_view message) {
  json::Writer out;
  out.begin_object().key("error").begin_object();
  out.member("message", message)
      .member("type", "invalid_request_error")
      .key("param")
      .null()
      .key("code")
      .null();
  return out.end_object().end_object().take();
}

struct Answer {
  int status = 200;
  std::string_view content_type = "application/json";
  std::vector<std::string> pieces = {};
};

Answer answer(std::string_view model, std::string_view body) {
  const auto document = json::Document::parse(std::string(body));
  auto request = document ? read_request(document->root())
                          : Result<EchoRequest>(tl::unexpected<Error>(document.error()));
  Answer out;
  if (!request) {
    out.status = 400;
    out.pieces.push_back(write_invalid_request(request.error().message));
    return out;
  }
  const std::string text = describe(model, *request);
  const Completion completion = new_completion(request->model);
  if (request->stream) {
    out.content_type = "text/event-stream";
    out.pieces = write_events(completion, *request, text);
  } else {
    out.pieces.push_back(write_completion(completion, *request, text));
  }
  return out;
}

/// A thread that reads large requests; the first one of the process starts it.
http::ThreadPool& reader() {
  static http::ThreadPool pool(1, kWaitingMax);
  return pool;
}

}  // namespace

http::Task<Result<std::unique_ptr<UpstreamReply>>> EchoBackend::call(const Call& call) const {
  Answer out;
  if (call.body.size() <= kLoopBytesMax) {
    out = answer(model_, call.body);
  } else {
    std::function<void()> read = [&] { out = answer(model_, call.body); };
    const http::Share share;
    const bool ran = co_await reader().run(std::move(read), share);
    if (!ran) co_return fail(Code::kOverloaded, "the echo backend has too many large requests");
  }
  co_return std::make_unique<EchoReply>(out.status, out.content_type, std::move(out.pieces));
}

}  // namespace signalbox::upstream
