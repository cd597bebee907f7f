// A stream has at least three events per choice, because clients take the role from the first and
// the end from the last.

#include "router/plugins/fast_response/fast_response.h"

#include <algorithm>

#include "base/json_writer.h"

namespace signalbox::plugins {
namespace {

constexpr std::string_view kModel = "router";  // the name that the Semantic Router uses

/// OpenAI's limit; a higher `n` is reduced to it.
constexpr int64_t kChoicesMax = 128;

class Completion {
 public:
  Completion(std::string_view id, int64_t created, int64_t choices)
      : id_(id), created_(created), choices_(choices) {}

  std::string whole(std::string_view message) const {
    json::Writer out = open("chat.completion");
    out.key("choices").begin_array();
    for (int64_t i = 0; i < choices_; ++i) {
      out.begin_object().member("index", i).key("message").begin_object();
      out.member("role", "assistant").member("content", message).key("refusal").null();
      out.end_object().key("logprobs").null().member("finish_reason", "stop").end_object();
    }
    out.end_array();
    add_usage(out);
    return out.end_object().take();
  }

  std::string events(std::string_view message, bool with_usage) const {
    const std::string content = fmt::format(R"({{"content":{}}})", json::quote(message));
    std::string out;
    for (int64_t i = 0; i < choices_; ++i) {
      out += event(delta(i, R"({"role":"assistant","content":""})", false, with_usage));
      out += event(delta(i, content, false, with_usage));
      out += event(delta(i, "{}", true, with_usage));
    }
    if (with_usage) {
      json::Writer last = open("chat.completion.chunk");
      last.key("choices").begin_array().end_array();
      add_usage(last);
      out += event(last.end_object().take());
    }
    return out + event("[DONE]");
  }

 private:
  json::Writer open(std::string_view object) const {
    json::Writer out;
    out.begin_object().member("id", id_).member("object", object).member("created", created_);
    out.member("model", kModel);
    return out;
  }

  std::string delta(int64_t choice, std::string_view json, bool last, bool with_usage) const {
    json::Writer out = open("chat.completion.chunk");
    out.key("choices").begin_array().begin_object().member("index", choice).key("delta").raw(json);
    out.key("logprobs").null().key("finish_reason");
    last ? out.string("stop") : out.null();
    out.end_object().end_array();
    if (with_usage) out.key("usage").null();
    return out.end_object().take();
  }

  static void add_usage(json::Writer& out) {
    out.key("usage").begin_object().member("prompt_tokens", 0).member("completion_tokens", 0);
    out.member("total_tokens", 0).end_object();
  }

  static std::string event(std::string_view data) { return fmt::format("data: {}\n\n", data); }

  std::string_view id_;
  int64_t created_;
  int64_t choices_;
};

// A value of `n` that is not a valid number counts as 1.
int64_t choices_of(const request::ChatRequest& request) {
  const auto n = request.document.root().find("n");
  return std::clamp<int64_t>(n ? n->integer().value_or(1) : 1, 1, kChoicesMax);
}

}  // namespace

std::string fast_response(std::string_view message, const request::ChatRequest& request,
                          std::string_view id, int64_t created) {
  const Completion completion(id, created, choices_of(request));
  return request.stream ? completion.events(message, request.requests_usage())
                        : completion.whole(message);
}

}  // namespace signalbox::plugins
