// Algorithms read the text of a native reply, and never its other parts.

#include "router/gateway/native_call.h"

#include <algorithm>
#include <chrono>

#include "router/plugins/server_family.h"
#include "router/plugins/tools/tools.h"
#include "router/replies/reply_content.h"
#include "router/replies/reply_meter.h"
#include "router/splice/object_editor.h"

namespace signalbox::gateway {

bool keeps_api(const config::Providers& providers, const ParsedRequest& request,
               const routing::Plan& plan) {
  const auto& native = request.chat.native;
  if (!native || plan.loop == nullptr || plan.painter != nullptr ||
      plan.response_cache != nullptr || plugins::strips_tools(*plan.loop) ||
      !looper::passes_request(plan.loop->algorithm) ||
      request::is_bound_to_server(native->document.root()))
    return false;
  return std::all_of(plan.voices.begin(), plan.voices.end(), [&](const looper::Voice& voice) {
    const config::Model* model = providers.find(voice.model);
    return model != nullptr && plugins::speaks(*model, native->api);
  });
}

Result<std::string> write_native_call(std::string body, request::Api api, bool streams,
                                      bool is_stored) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(body)));
  splice::ObjectEditor edited(document.root());
  if (!streams) {
    edited.remove("stream");
    edited.remove("stream_options");
  }
  // Servers of the Responses API store a response unless `store` is false.
  if (!is_stored && api == request::Api::kResponses) edited.set("store", "false");
  std::vector<splice::Edit> edits;
  edited.finish(edits);
  return splice::apply(document.source(), std::move(edits));
}

namespace {

/// Other replies are no answers, and cannot be sent as events either (whole_events.h).
bool has_form_of_answer(const json::Value& reply, request::Api api) {
  if (api == request::Api::kMessages) return replies::text_member(reply, "type") == "message";
  const std::string_view status = replies::text_member(reply, "status");
  return status == "completed" || status == "incomplete";
}

}  // namespace

Result<looper::Reply> read_native_reply(std::string body, request::Api api) {
  const auto document = json::Document::parse(body);
  const auto read = document ? replies::read_native(document->root(), api) : std::nullopt;
  if (!read) return fail(Code::kUpstream, "the reply has no list of its parts");
  if (!has_form_of_answer(document->root(), api))
    return fail(Code::kUpstream, "the reply is not an answer that has ended");
  const auto now = std::chrono::steady_clock::now();
  replies::ReplyMeter meter(now, false);
  meter.feed(body, now);
  const replies::ReplyMeter::Times times = meter.times();
  looper::Reply out;
  out.text = read->text;
  out.calls_tools = read->calls;
  out.prompt_tokens = times.prompt_tokens.value_or(0);
  out.cached_tokens = times.cached_tokens.value_or(0);
  out.completion_tokens = times.completion_tokens.value_or(0);
  out.body = std::move(body);
  return out;
}

}  // namespace signalbox::gateway
