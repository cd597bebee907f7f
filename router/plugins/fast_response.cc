// Three events at least: clients take the role from the first, the end from the last.

#include "router/plugins/fast_response.h"

#include "base/json_writer.h"

namespace signalbox::router {
namespace {

constexpr std::string_view kModel = "router";  // as upstream names itself

class Completion {
 public:
  Completion(std::string_view id, int64_t created) : id_(id), created_(created) {}

  std::string whole(std::string_view message) const {
    json::Writer out = open("chat.completion");
    out.key("choices").begin_array().begin_object().member("index", 0);
    out.key("message").begin_object().member("role", "assistant").member("content", message);
    out.key("refusal").null().end_object().key("logprobs").null();
    out.member("finish_reason", "stop").end_object().end_array();
    add_usage(out);
    return out.end_object().take();
  }

  std::string events(std::string_view message, bool with_usage) const {
    std::string out = event(delta(R"({"role":"assistant","content":""})", false, with_usage));
    out +=
        event(delta(fmt::format(R"({{"content":{}}})", json::quote(message)), false, with_usage));
    out += event(delta("{}", true, with_usage));
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

  std::string delta(std::string_view json, bool last, bool with_usage) const {
    json::Writer out = open("chat.completion.chunk");
    out.key("choices").begin_array().begin_object().member("index", 0).key("delta").raw(json);
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
};

bool wants_usage(const ChatRequest& request) {
  const auto options = request.document.root().find("stream_options");
  const auto usage = options ? options->find("include_usage") : std::nullopt;
  return usage && usage->is_bool() && usage->boolean();
}

}  // namespace

std::string fast_response(std::string_view message, const ChatRequest& request, std::string_view id,
                          int64_t created) {
  const Completion completion(id, created);
  return request.stream ? completion.events(message, wants_usage(request))
                        : completion.whole(message);
}

}  // namespace signalbox::router
