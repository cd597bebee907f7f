// One request as one coroutine, and a RequestRecord beside it that is told what happens.

#include "router/gateway/chat.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "base/json_writer.h"
#include "router/access/owner.h"
#include "router/contexts/refs.h"
#include "router/plugins/fast_response/fast_response.h"
#include "router/routing/decision_headers.h"

namespace signalbox::gateway {
namespace {

constexpr int kBlockedStatus = 403;  // clients do not try it again

observe::Degraded degraded_by(Code code) {
  if (code == Code::kOverloaded) return observe::Degraded::kOverloaded;
  return code == Code::kDeadline ? observe::Degraded::kTimeout : observe::Degraded::kError;
}

/// What a request is decided without: nothing, or why. The message may be logged.
struct Understanding {
  observe::Degraded degraded = observe::Degraded::kNo;
  std::string why = {};
};

class Chat {
 public:
  Chat(const GatewayContext& services, std::string_view path, const dialects::Dialect* surface)
      : services_(services), path_(path), surface_(surface) {
    if (surface_ == nullptr) return;
    shape_ = [surface](int status, std::string_view body) {
      return surface->refusal(status, body);
    };
  }

  http::Task<> operator()(http::Exchange exchange) const;

 private:
  http::Task<Result<routing::Plan>> plan(http::Exchange exchange,
                                         const request::ChatRequest& request,
                                         routing::Evaluation& evaluation,
                                         RequestRecord& watch) const;
  http::Task<Result<Understanding>> understand(http::Exchange exchange,
                                               routing::Evaluation& evaluation) const;
  Result<ParsedRequest> read(http::Request& request, std::string_view id) const;
  http::Task<Result<void>> add_contexts(http::Exchange exchange, request::ChatRequest& chat,
                                        Contexts::Held& held) const;
  const http::ErrorShape* shape() const { return surface_ == nullptr ? nullptr : &shape_; }
  http::Task<> answer(http::Exchange exchange, const ParsedRequest& asked,
                      const routing::Plan& plan, const RequestRecord& watch) const;

  const GatewayContext services_;
  const std::string_view path_;             // static
  const dialects::Dialect* const surface_;  // null: chat completions themselves
  http::ErrorShape shape_;                  // of the surface
};

Result<ParsedRequest> Chat::read(http::Request& request, std::string_view id) const {
  if (surface_ == nullptr) {
    SIGNALBOX_TRY(request::ChatRequest chat, request::ChatRequest::parse(std::move(request.body)));
    return ParsedRequest{std::move(chat), nullptr};
  }
  const std::string owner = access::owner_of(request.headers, services_.router.config());
  const std::string token = access::new_token();
  SIGNALBOX_TRY(dialects::Incoming incoming,
                surface_->read(std::move(request.body),
                               {id, token, owner, static_cast<int64_t>(std::time(nullptr))}));
  SIGNALBOX_TRY(request::ChatRequest chat, request::ChatRequest::parse(std::move(incoming.chat)));
  return ParsedRequest{std::move(chat), std::move(incoming.replies)};
}

http::Task<Result<void>> Chat::add_contexts(http::Exchange exchange, request::ChatRequest& chat,
                                            Contexts::Held& held) const {
  if (surface_ != nullptr && surface_->target() != dialects::kChatPath)
    co_return fail(Code::kInvalid, "metadata.context_refs: not understood here, only in chats");
  co_return co_await services_.contexts.expand(exchange, chat, held, services_.router.config(),
                                               services_.storage);
}

http::Task<> refuse(http::Exchange exchange, http::Headers fields, const Error& error,
                    RequestRecord& watch, const http::ErrorShape* shape) {
  watch.failed(error);
  if (error.code == Code::kCancelled) {
    exchange.reply.abandon();
    co_return;
  }
  add_headers(routing::error_headers(), fields);
  co_await http::send_error(exchange.reply, std::move(fields), error, shape);
}

http::Task<> Chat::operator()(http::Exchange exchange) const {
  http::Request& request = exchange.request;
  RequestRecord watch(services_.observer, request.headers, exchange.reply, path_);
  http::Headers fields;
  fields.add("x-request-id", watch.id());

  if (const auto encoding = request.headers.find("content-encoding");
      encoding && *encoding != "identity") {
    add_headers(routing::error_headers(), fields);
    const std::string message =
        fmt::format("Content-Encoding {} is not supported", json::quote_briefly(*encoding));
    co_await http::send_refusal(exchange.reply, std::move(fields), 415, message, {}, shape());
    co_return;
  }
  Result<ParsedRequest> asked = read(request, watch.id());
  Contexts::Held held;
  if (asked && contexts::has_refs(asked->chat.document)) {
    const Result<void> added = co_await add_contexts(exchange, asked->chat, held);
    if (!added) asked = tl::unexpected<Error>(added.error());
  }
  if (!asked) {
    co_await refuse(exchange, std::move(fields), asked.error(), watch, shape());
    co_return;
  }
  const request::ChatRequest& chat = asked->chat;
  const http::Headers& headers = request.headers;
  routing::Evaluation evaluation = services_.router.evaluate(
      chat, [&headers](std::string_view name) { return headers.find(name); });
  Result<routing::Plan> planned = co_await plan(exchange, chat, evaluation, watch);
  if (!planned) {
    co_await refuse(exchange, std::move(fields), planned.error(), watch, shape());
    co_return;
  }
  if (planned->path != routing::Plan::Path::kUpstream) {
    co_await answer(exchange, *asked, *planned, watch);
    co_return;
  }
  Forwarding forwarding(services_, exchange, *asked, std::move(evaluation), {surface_, shape()},
                        watch);
  routing::Plan first = *std::move(planned);
  co_await forwarding.run(std::move(first));
}

// Our own answer as a server would have given it, then as the surface says it.
Result<std::string> answer_of(const ParsedRequest& asked, std::string chat) {
  if (!asked.replies) return chat;
  if (!asked.chat.stream) return asked.replies->whole(std::move(chat));
  std::string out;
  SIGNALBOX_TRY_VOID(asked.replies->push(chat, out));
  SIGNALBOX_TRY_VOID(asked.replies->finish(out));
  return out;
}

http::Task<> Chat::answer(http::Exchange exchange, const ParsedRequest& asked,
                          const routing::Plan& plan, const RequestRecord& watch) const {
  http::Headers fields = decision_headers(plan, exchange.request.headers, watch);
  if (plan.path == routing::Plan::Path::kBlocked) {
    co_await http::send_refusal(
        exchange.reply, std::move(fields), kBlockedStatus, plan.message,
        plan.guarded.missing_identity ? http::kMissingIdentity : "pii_policy_violation", shape());
    co_return;
  }
  const bool stream = asked.chat.stream;
  const Result<std::string> body =
      answer_of(asked, plugins::fast_response(plan.message, asked.chat,
                                              fmt::format("chatcmpl-{}", watch.id()),
                                              static_cast<int64_t>(std::time(nullptr))));
  if (!body) {
    co_await http::send_error(exchange.reply, std::move(fields), body.error(), shape());
    co_return;
  }
  fields.add("Content-Type", stream ? "text/event-stream" : "application/json");
  if (stream) fields.add("Cache-Control", "no-cache");
  co_await exchange.reply.send(200, fields, *body);
}

// Where models have no room or no time for the request it is decided on what is known, guards as
// their on_error says; only who has gone or runs out of the listener's time gets no decision.
http::Task<Result<Understanding>> Chat::understand(http::Exchange exchange,
                                                   routing::Evaluation& evaluation) const {
  Understanding out;
  if (evaluation.run_cheap()) co_return out;
  Result<void> outcome;
  std::stop_source given_up;
  const auto deadline =
      std::chrono::steady_clock::now() + services_.router.config().http.decision_timeout;
  std::function<void()> work = [&] {
    outcome = evaluation.run_needed({deadline, given_up.get_token()});
  };
  const bool ran =
      co_await run_within(services_.compute, exchange.interrupt, given_up, std::move(work));
  if (exchange.interrupt.raised()) co_return tl::unexpected<Error>(exchange.interrupt.error());
  if (!ran) {
    outcome = fail(Code::kOverloaded, "too many requests are waiting to be understood");
    evaluation.give_up(outcome.error());
  }
  if (outcome) co_return out;
  out.degraded = degraded_by(outcome.error().code);
  out.why = std::move(outcome.error().message);
  co_return out;
}

http::Task<Result<routing::Plan>> Chat::plan(http::Exchange exchange,
                                             const request::ChatRequest& request,
                                             routing::Evaluation& evaluation,
                                             RequestRecord& watch) const {
  const Result<Understanding> understood = co_await understand(exchange, evaluation);
  if (!understood) co_return tl::unexpected<Error>(understood.error());
  watch.understood(evaluation, understood->degraded, understood->why);
  auto planned = evaluation.plan(runtime_conditions(services_.stats));
  if (!planned) co_return planned;
  // Nobody has looked at the request, and a refusal would say what nobody knows.
  if (understood->degraded == observe::Degraded::kOverloaded &&
      planned->path != routing::Plan::Path::kUpstream)
    co_return fail(Code::kOverloaded, "too many requests are waiting to be understood");
  watch.planned(*planned, evaluation.decision(), request.stream);
  co_return planned;
}

}  // namespace

Route chat_route(const GatewayContext& services) {
  return {"POST", std::string(dialects::kChatPath), Chat(services, dialects::kChatPath, nullptr)};
}

Route dialect_route(std::string_view path, const dialects::Dialect& surface,
                    const GatewayContext& services) {
  return {"POST", std::string(path), Chat(services, path, &surface)};
}

}  // namespace signalbox::gateway
