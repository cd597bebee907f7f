// Headers are copied only if something in them changes.

#include "router/gateway/send.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/ascii.h"
#include "router/dialects/anthropic_server.h"
#include "router/dialects/own_parts.h"
#include "router/gateway/native_call.h"
#include "router/plugins/image_gen/image_gen.h"
#include "router/plugins/server_form/refused_members.h"
#include "router/upstream/decoded_reply.h"
#include "router/upstream/dialect_headers.h"

namespace signalbox::gateway {
namespace {

/// The parts of the prompt in the order in which a model reads them, so that the worker is chosen
/// whose cache has them. A decision's system prompt is represented by the decision's name.
std::vector<std::string_view> prompt_of(const request::ChatRequest& request,
                                        const routing::Plan& plan) {
  std::vector<std::string_view> out;
  if (plan.model->backend_refs.size() < 2) return out;  // there is nothing to choose
  if (plan.injected_system_prompt) out.push_back(plan.decision);
  const json::Value root = request.document.root();
  if (const auto tools = root.find("tools")) out.push_back(tools->raw());
  const auto messages = root.find("messages");
  if (!messages) return out;
  for (const json::Value& message : messages->items()) out.push_back(message.raw());
  return out;
}

/// Writes the headers for the server to `out`. Returns false if the client's can go as they are.
bool change_headers(const RequestScope& scope, const routing::Plan& plan,
                    const ServerRequest& server, bool reads_reply, plugins::UpstreamHeaders& out) {
  const http::Headers* client = &scope.headers();
  if (plan.header_mutation != nullptr) {
    out = plugins::mutate_headers(*plan.header_mutation, *client);
    client = &out.client;
  }
  if (reads_reply) {
    out.client = upstream::accepting_identity(*client);
    if (server.to_client) out.client = upstream::for_openai(out.client);
    if (server.from_server) out.client = upstream::for_anthropic(out.client);
    client = &out.client;
  }
  if (!upstream::is_json(*client)) {
    out.client = upstream::as_json(*client);
    client = &out.client;
  }
  if (plan.native && scope.api.native() == request::Api::kMessages) {
    if (client->find("anthropic-version")) return client == &out.client;
    if (client != &out.client) out.client = *client;
    out.client.add("anthropic-version", upstream::kAnthropicVersion);
    client = &out.client;
  }
  return client == &out.client;
}

/// Returns the traceparent for the server.
std::string record_sending(RequestRecord& record, std::string_view body) {
  record.sent(body);
  return record.traceparent();
}

}  // namespace

namespace {

/// The request as the client wrote it, with the plan's edits, and without what only this router
/// understands. The reply passes as it comes.
ServerRequest native_request(const RequestScope& scope, const routing::Plan& plan) {
  ServerRequest out;
  out.body = without_own_parts(*scope.api.native(), plan.body);
  out.target = fmt::format("{}{}", scope.api.path(), scope.exchange.request.query());
  out.is_chat = false;
  return out;
}

dialects::CacheMarks marks_of(const config::PromptCachePlugin* plugin) {
  if (plugin == nullptr) return {};
  const auto has = [plugin](std::string_view target) {
    return std::ranges::find(plugin->targets, target) != plugin->targets.end();
  };
  return {has(config::kCachedInstructions), has(config::kCachedTools), plugin->ttl};
}

/// `losses`: the parts of the client's request that a chat lacks. `is_loop`: the server gets a chat
/// even if the client's API has servers of its own.
Result<ServerRequest> translated_request(const RequestScope& scope, dialects::Losses losses,
                                         const routing::Plan& plan, bool is_loop) {
  if (plan.model->api_format == config::Model::ApiFormat::kSystemOne) {
    return fail(Code::kInvalid, "model: the servers of \"{}\" answer {}, and no chats",
                plan.model->name, config::kSystemOnePath);
  }
  const dialects::Dialect* const dialect = scope.api.dialect();
  ServerRequest out;
  out.losses = std::move(losses);
  out.to_client = dialect != nullptr && (is_loop || !dialect->passes_replies());
  out.target = dialect == nullptr || is_loop ? dialects::kChatPath : dialect->target();
  out.is_chat = dialect == nullptr || out.to_client;
  if (dialect != nullptr && is_loop) {
    SIGNALBOX_TRY(out.body, dialect->as_chat(plan.body));
  }
  if (plan.model->api_format == config::Model::ApiFormat::kAnthropic) {
    if (out.target != dialects::kChatPath)
      return fail(Code::kUnsupported, "the model's server supports chats only");
    SIGNALBOX_TRY(dialects::MessagesRequest messages,
                  dialects::to_messages(out.body.empty() ? plan.body : out.body,
                                        static_cast<int64_t>(std::time(nullptr)),
                                        marks_of(plan.prompt_cache)));
    out.body = std::move(messages.body);
    out.from_server = std::move(messages.replies);
    out.losses.add(messages.losses);
    out.target = dialects::kMessagesPath;
    return out;
  }
  if (dialect != nullptr && !is_loop) {
    SIGNALBOX_TRY(out.body, dialect->outgoing(plan.body));
  }
  if (scope.api.native() && plugins::refuses_members(*plan.model)) {
    out.body = plugins::without_refused_members(plan.body);
    const bool had_thoughts = plan.body.find(R"("reasoning_content")") != std::string::npos;
    const bool is_messages = scope.api.native() == request::Api::kMessages;
    if (!out.body.empty() && had_thoughts)
      out.losses.hint(is_messages ? "messages.thinking" : "input.reasoning");
  }
  if (!out.to_client) out.target.append(scope.exchange.request.query());
  return out;
}

}  // namespace

namespace {

tl::unexpected<Error> refuse_image(const routing::Plan& plan) {
  return fail(
      Code::kUnsupported,
      "decision \"{}\" calls an image server, and the answers of this API have no place for "
      "an image",
      plan.decision);
}

Result<void> check_prompt_cache(const routing::Plan& plan) {
  const bool is_anthropic = plan.model->api_format == config::Model::ApiFormat::kAnthropic;
  if (is_anthropic || plan.prompt_cache == nullptr ||
      plan.prompt_cache->on_unsupported != config::PromptCachePlugin::OnUnsupported::kReject)
    return {};
  return fail(Code::kUnsupported,
              "prompt_cache_target_unsupported: the server of the model \"{}\" does not have "
              "Anthropic's API, and the decision's prompt_cache rejects the request",
              plan.model->name);
}

// The plan's body is the image server's.
Result<ServerRequest> image_request(const RequestScope& scope, const routing::Plan& plan) {
  const dialects::Dialect* const dialect = scope.api.dialect();
  ServerRequest out;
  out.image = plan.image;
  out.is_direct = true;
  out.target = plugins::image_path(*plan.image);
  out.to_client = dialect != nullptr && !dialect->passes_replies();
  if (dialect == nullptr || out.to_client) return out;
  return refuse_image(plan);
}

/// Returns an error if the configuration wants no part to be left out and one was.
Result<ServerRequest> without_losses(const RequestScope& scope, ServerRequest out) {
  const bool strict =
      scope.config().apis.untranslatable == config::ClientApis::Untranslatable::kRefuse;
  if (auto refusal = out.losses.refusal(strict)) return tl::unexpected<Error>(*std::move(refusal));
  return out;
}

}  // namespace

Result<ServerRequest> make_server_request(const RequestScope& scope, const ParsedRequest& request,
                                          const routing::Plan& plan) {
  if (plan.image != nullptr) return image_request(scope, plan);
  SIGNALBOX_TRY_VOID(check_prompt_cache(plan));
  if (plan.native) return native_request(scope, plan);
  SIGNALBOX_TRY(ServerRequest out, translated_request(scope, request.losses, plan, false));
  return without_losses(scope, std::move(out));
}

Result<ServerRequest> make_loop_request(const RequestScope& scope, const ParsedRequest& request,
                                        const routing::Plan& plan, bool only_quotes) {
  if (plan.image != nullptr) return image_request(scope, plan);
  SIGNALBOX_TRY_VOID(check_prompt_cache(plan));
  if (plan.native) {
    ServerRequest out = native_request(scope, plan);
    out.is_direct = true;
    return out;
  }
  const dialects::Dialect* const dialect = scope.api.dialect();
  const bool is_completion = dialect != nullptr && dialect->passes_replies();
  if (is_completion && plan.painter != nullptr) return refuse_image(plan);
  SIGNALBOX_TRY(
      ServerRequest out,
      translated_request(scope, only_quotes ? dialects::Losses() : request.losses, plan, true));
  out.is_direct = true;
  // The calls that answer get all of it.
  if (keeps_api(scope.config().providers, request, plan)) out.losses = {};
  return without_losses(scope, std::move(out));
}

std::string without_own_parts(request::Api api, std::string_view body) {
  return api == request::Api::kMessages ? dialects::without_own_thoughts(body)
                                        : dialects::without_own_items(body);
}

size_t translating_bytes(const RequestScope& scope, const routing::Plan& plan) {
  if (plan.image != nullptr) return 0;
  if (plan.native)
    return dialects::may_have_own_parts(plan.body) ? dialects::kOutgoingCopies * plan.body.size()
                                                   : 0;
  const dialects::Dialect* const dialect = scope.api.dialect();
  const bool is_completion = dialect != nullptr && dialect->passes_replies();
  const size_t chats = is_completion ? 1 : 0;  // from which a loop's call is translated again
  if (plan.model->api_format == config::Model::ApiFormat::kAnthropic)
    return (dialects::kMessagesCopies + chats) * plan.body.size();
  if (scope.api.native() && plugins::refuses_members(*plan.model))
    return dialects::kOutgoingCopies * plan.body.size();
  return is_completion ? dialects::kOutgoingCopies * plan.body.size() : 0;
}

void add_protocols(const RequestScope& scope, const routing::Plan& plan, http::Headers& fields) {
  constexpr std::string_view kOpenAi = "openai", kAnthropic = "anthropic";
  const dialects::Dialect* const dialect = scope.api.dialect();
  const bool to_anthropic =
      plan.image == nullptr && plan.model->api_format == config::Model::ApiFormat::kAnthropic;
  const bool from_openai = dialect == nullptr || dialect->protocol().empty();
  if (from_openai && !to_anthropic) return;
  fields.add("x-vsr-client-protocol", from_openai ? kOpenAi : dialect->protocol());
  fields.add("x-vsr-upstream-protocol", to_anthropic ? kAnthropic : kOpenAi);
}

plugins::UpstreamHeaders headers_for_server(const RequestScope& scope, const routing::Plan& plan,
                                            const ServerRequest& server) {
  plugins::UpstreamHeaders out;
  if (!change_headers(scope, plan, server, true, out)) out.client = scope.headers();
  return out;
}

ServerCall::ServerCall(const RequestScope& scope, const ParsedRequest& request,
                       const routing::Plan& plan, const ServerRequest& server,
                       const http::Headers& decided, bool needs_reply, bool reads_reply)
    : record_(scope.record),
      caller_(server.is_direct ? scope.context.backends.direct() : scope.context.backends),
      model_(server.image != nullptr ? server.image->server : *plan.model),
      client_(change_headers(scope, plan, server, reads_reply, changed_) ? changed_.client
                                                                         : scope.headers()),
      prompt_(prompt_of(request.chat, plan)),
      body_(server.body.empty() ? std::string_view(plan.body) : server.body),
      reads_reply_(reads_reply),
      traceparent_(record_sending(scope.record, body_)),
      call_{.target = server.target,
            .headers = client_,
            .added = changed_.added,
            .request_id = scope.record.id(),
            .body = body_,
            .interrupt = scope.exchange.interrupt,
            .prompt = prompt_,
            .decided = &decided,
            .stage = &stage_,
            .traceparent = traceparent_,
            .drops_tracestate = !scope.record.keeps_tracestate(),
            .needs_reply = needs_reply,
            .repeatable = server.image == nullptr,
            .limits_whole = server.image != nullptr} {}

http::Task<upstream::CallOutcome> ServerCall::send() const {
  upstream::CallOutcome outcome = co_await caller_.call(model_, call_);
  if (outcome.answer) record_.received(model_, outcome.backend, (*outcome.answer)->head().status);
  // A proxy may keep the body to itself, and then passes it on under its own name.
  if (outcome.answer && reads_reply_ && (call_.needs_reply || caller_.is_direct()))
    outcome.answer = upstream::decoded(*std::move(outcome.answer));
  co_return outcome;
}

}  // namespace signalbox::gateway
