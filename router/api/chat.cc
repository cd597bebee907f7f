// One request as one coroutine, and a Watch beside it that is told what happens.

#include "router/api/chat.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <random>
#include <utility>

#include "base/json_writer.h"
#include "base/log.h"
#include "router/api/errors.h"
#include "router/api/metered_answer.h"
#include "router/api/relay.h"
#include "router/api/surface_headers.h"
#include "router/api/translated_answer.h"
#include "router/api/unmasked_answer.h"
#include "router/api/watch.h"
#include "router/plan_headers.h"
#include "router/plugins/fast_response.h"
#include "router/plugins/header_mutation.h"
#include "router/surfaces/anthropic_server.h"

namespace signalbox::api {
namespace {

constexpr std::string_view kPath = "/v1/chat/completions";
constexpr int kBlockedStatus = 403;  // clients do not try it again

void add_headers(const std::vector<router::Header>& headers, http::Headers& fields) {
  for (const router::Header& header : headers) fields.add(header.name, header.value);
}

/// What was decided, for a reply that is an error all the same.
http::Headers of_error(const http::Headers& fields) {
  http::Headers out;
  for (size_t i = 0; i < fields.size(); ++i) {
    const http::Field field = fields[i];
    const bool path = http::iequals(field.name, router::kResponsePath);
    out.add(field.name, path ? router::kErrorPath : field.value);
  }
  return out;
}

/// A reply that is to be read has to come as it is.
http::Headers without_encodings(const http::Headers& headers) {
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    if (!http::iequals(headers[i].name, "accept-encoding"))
      out.add(headers[i].name, headers[i].value);
  }
  return out;
}

/// What is kept until a reply begins, for the case that another model has to be asked.
struct Retry {
  std::optional<router::Evaluation> evaluation;
  std::vector<std::string_view> failed = {};  // models, in turn
  uint32_t attempts = 0;                      // servers that were asked
};

/// What a model reads before anything else: it is what a server's cache knows again. A decision's
/// system prompt is known by its name.
std::array<std::string_view, 3> prompt_of(const router::ChatRequest& request,
                                          const router::Plan& plan) {
  std::array<std::string_view, 3> out;
  if (plan.injected_system_prompt) out[0] = plan.decision;
  const json::Value root = request.document.root();
  if (const auto tools = root.find("tools")) out[1] = tools->raw();
  if (const auto messages = root.find("messages")) out[2] = messages->raw();
  return out;
}

observe::Degraded degraded_by(Code code) {
  if (code == Code::kOverloaded) return observe::Degraded::kOverloaded;
  return code == Code::kDeadline ? observe::Degraded::kTimeout : observe::Degraded::kError;
}

/// What a request is decided without: nothing, or why. The message may be logged.
struct Understanding {
  observe::Degraded degraded = observe::Degraded::kNo;
  std::string why = {};
};

/// Which forms a request had on its way, where they differ.
void add_protocols(const surfaces::Surface* surface, const config::Model& model,
                   http::Headers& fields) {
  constexpr std::string_view kOpenAi = "openai", kAnthropic = "anthropic";
  const bool foreign = model.api_format == config::Model::ApiFormat::kAnthropic;
  const bool own = surface == nullptr || surface->protocol().empty();
  if (own && !foreign) return;
  fields.add("x-vsr-client-protocol", own ? kOpenAi : surface->protocol());
  fields.add("x-vsr-upstream-protocol", foreign ? kAnthropic : kOpenAi);
}

/// A request as its model's server has it.
struct Outgoing {
  std::string target;
  std::string body;                                    // "": the plan's
  std::unique_ptr<surfaces::ReplyTranslator> replies;  // from the server's form; null: it is ours
  bool translates = false;                             // a reply is translated to the surface's
};

/// A request as it is decided on, and what its replies become; null: what they are.
struct Asked {
  router::ChatRequest chat;
  std::unique_ptr<surfaces::ReplyTranslator> replies;
};

class Chat {
 public:
  Chat(const router::Router& router, const upstream::Backends& backends, Compute& compute,
       router::selection::RuntimeStats& stats, const Observer& observer,
       const surfaces::Surface* surface)
      : router_(router),
        backends_(backends),
        compute_(compute),
        stats_(stats),
        observer_(observer),
        surface_(surface) {
    if (surface_ == nullptr) return;
    shape_ = [surface](int status, std::string_view body) {
      return surface->refusal(status, body);
    };
  }

  http::Task<> operator()(http::Exchange exchange) const;

 private:
  http::Task<Result<router::Plan>> plan(http::Exchange exchange, const router::ChatRequest& request,
                                        router::Evaluation& evaluation, Watch& watch) const;
  http::Task<Result<Understanding>> understand(http::Exchange exchange,
                                               router::Evaluation& evaluation) const;
  router::Circumstances circumstances(std::span<const std::string_view> failed = {}) const;
  Result<Asked> read(http::Request& request, std::string_view id) const;
  const ErrorShape* shape() const { return surface_ == nullptr ? nullptr : &shape_; }
  Result<Outgoing> outgoing(const router::Plan& plan, std::string_view query) const;
  http::Task<Result<std::unique_ptr<upstream::Answer>>> shaped(
      std::unique_ptr<upstream::Answer> answer, const Asked& asked, const router::Plan& plan,
      const Outgoing& out, std::chrono::steady_clock::time_point started, Watch& watch) const;
  http::Task<> answer(http::Exchange exchange, const Asked& asked, const router::Plan& plan,
                      http::Headers fields, const Watch& watch) const;
  http::Task<std::optional<router::Plan>> forward(http::Exchange exchange, const Asked& asked,
                                                  const router::Plan& plan, http::Headers fields,
                                                  Watch& watch, Retry& retry) const;
  std::optional<router::Plan> successor(const upstream::Outcome& outcome,
                                        const router::ChatRequest& request,
                                        const router::Plan& plan, Watch& watch, Retry& retry) const;

  const router::Router& router_;
  const upstream::Backends& backends_;
  Compute& compute_;
  router::selection::RuntimeStats& stats_;
  const Observer& observer_;
  const surfaces::Surface* const surface_;  // null: chat completions themselves
  ErrorShape shape_;                        // of the surface
};

Result<Asked> Chat::read(http::Request& request, std::string_view id) const {
  if (surface_ == nullptr) {
    SIGNALBOX_TRY(router::ChatRequest chat, router::ChatRequest::parse(std::move(request.body)));
    return Asked{std::move(chat), nullptr};
  }
  const std::string owner = owner_of(request.headers, router_.config());
  const std::string token = new_token();
  SIGNALBOX_TRY(surfaces::Incoming incoming,
                surface_->read(std::move(request.body),
                               {id, token, owner, static_cast<int64_t>(std::time(nullptr))}));
  SIGNALBOX_TRY(router::ChatRequest chat, router::ChatRequest::parse(std::move(incoming.chat)));
  return Asked{std::move(chat), std::move(incoming.replies)};
}

http::Task<> refuse(http::Exchange exchange, http::Headers fields, const Error& error, Watch& watch,
                    const ErrorShape* shape) {
  watch.failed(error);
  if (error.code == Code::kCancelled) {
    exchange.reply.abandon();
    co_return;
  }
  add_headers(router::error_headers(), fields);
  co_await send_error(exchange.reply, std::move(fields), error, shape);
}

http::Task<> Chat::operator()(http::Exchange exchange) const {
  http::Request& request = exchange.request;
  Watch watch(observer_, request.headers, exchange.reply, kPath);
  http::Headers fields;
  fields.add("x-request-id", watch.id());

  if (const auto encoding = request.headers.find("content-encoding");
      encoding && *encoding != "identity") {
    add_headers(router::error_headers(), fields);
    fields.add("Content-Type", "application/json");
    std::string body = error_body(
        415, fmt::format("Content-Encoding {} is not supported", json::quote_briefly(*encoding)));
    if (surface_ != nullptr) body = shape_(415, body);
    co_await exchange.reply.send(415, fields, body);
    co_return;
  }
  const Result<Asked> asked = read(request, watch.id());
  if (!asked) {
    co_await refuse(exchange, std::move(fields), asked.error(), watch, shape());
    co_return;
  }
  const router::ChatRequest* const chat = &asked->chat;
  const http::Headers& headers = request.headers;
  Retry retry{
      router_.evaluate(*chat, [&headers](std::string_view name) { return headers.find(name); })};
  Result<router::Plan> planned = co_await plan(exchange, *chat, *retry.evaluation, watch);
  if (!planned) {
    co_await refuse(exchange, std::move(fields), planned.error(), watch, shape());
    co_return;
  }
  const auto debug = request.headers.find("x-vsr-debug");
  const bool explains = debug && http::iequals(*debug, "true");
  const auto told_of = [&](const router::Plan& of) {
    http::Headers out = fields;
    add_headers(router::response_headers(of, explains), out);
    if (watch.degraded() != observe::Degraded::kNo) {
      out.add("x-vsr-degraded", "true");
      out.add("x-vsr-degraded-reason", observe::name_of(watch.degraded()));
    }
    if (!watch.replay_id().empty()) out.add("x-vsr-replay-id", watch.replay_id());
    return out;
  };
  if (planned->path != router::Plan::Path::kUpstream) {
    co_await answer(exchange, *asked, *planned, told_of(*planned), watch);
    co_return;
  }
  for (std::optional<router::Plan> next = *std::move(planned); next;) {
    const router::Plan current = *std::move(next);
    http::Headers told = told_of(current);
    add_protocols(surface_, *current.model, told);
    next = co_await forward(exchange, *asked, current, std::move(told), watch, retry);
  }
}

// Our own answer as a server would have given it, then as the surface says it.
Result<std::string> answer_of(const Asked& asked, std::string chat) {
  if (!asked.replies) return chat;
  if (!asked.chat.stream) return asked.replies->whole(std::move(chat));
  std::string out;
  SIGNALBOX_TRY_VOID(asked.replies->push(chat, out));
  SIGNALBOX_TRY_VOID(asked.replies->finish(out));
  return out;
}

http::Task<> Chat::answer(http::Exchange exchange, const Asked& asked, const router::Plan& plan,
                          http::Headers fields, const Watch& watch) const {
  if (plan.path == router::Plan::Path::kBlocked) {
    fields.add("Content-Type", "application/json");
    std::string body = error_body(kBlockedStatus, plan.message, "pii_policy_violation");
    if (surface_ != nullptr) body = shape_(kBlockedStatus, body);
    co_await exchange.reply.send(kBlockedStatus, fields, body);
    co_return;
  }
  const bool stream = asked.chat.stream;
  const Result<std::string> body = answer_of(
      asked, router::fast_response(plan.message, asked.chat, fmt::format("chatcmpl-{}", watch.id()),
                                   static_cast<int64_t>(std::time(nullptr))));
  if (!body) {
    co_await send_error(exchange.reply, std::move(fields), body.error(), shape());
    co_return;
  }
  fields.add("Content-Type", stream ? "text/event-stream" : "application/json");
  if (stream) fields.add("Cache-Control", "no-cache");
  co_await exchange.reply.send(200, fields, *body);
}

// Where models have no room or no time for the request it is decided on what is known, guards as
// their on_error says; only who has gone or runs out of the listener's time gets no decision.
http::Task<Result<Understanding>> Chat::understand(http::Exchange exchange,
                                                   router::Evaluation& evaluation) const {
  Understanding out;
  if (evaluation.run_cheap()) co_return out;
  Result<void> outcome;
  std::stop_source given_up;
  const auto deadline = std::chrono::steady_clock::now() + router_.config().http.decision_timeout;
  std::function<void()> work = [&] {
    outcome = evaluation.run_needed({deadline, given_up.get_token()});
  };
  const bool ran = co_await run_within(compute_, exchange.interrupt, given_up, std::move(work));
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

http::Task<Result<router::Plan>> Chat::plan(http::Exchange exchange,
                                            const router::ChatRequest& request,
                                            router::Evaluation& evaluation, Watch& watch) const {
  const Result<Understanding> understood = co_await understand(exchange, evaluation);
  if (!understood) co_return tl::unexpected<Error>(understood.error());
  watch.understood(evaluation, understood->degraded, understood->why);
  auto planned = evaluation.plan(circumstances());
  if (!planned) co_return planned;
  // Nobody has looked at the request, and a refusal would say what nobody knows.
  if (understood->degraded == observe::Degraded::kOverloaded &&
      planned->path != router::Plan::Path::kUpstream)
    co_return fail(Code::kOverloaded, "too many requests are waiting to be understood");
  watch.planned(*planned, evaluation.decision(), request.stream);
  co_return planned;
}

router::Circumstances Chat::circumstances(std::span<const std::string_view> failed) const {
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto now = std::chrono::steady_clock::now();
  return {[this, now](std::string_view model) { return stats_.figures(model, now); },
          std::uniform_real_distribution<double>(0, 1)(random), failed};
}

Result<Outgoing> Chat::outgoing(const router::Plan& plan, std::string_view query) const {
  Outgoing out;
  out.translates = surface_ != nullptr && !surface_->passes_replies();
  out.target = surface_ == nullptr ? kPath : surface_->target();
  if (plan.model->api_format == config::Model::ApiFormat::kAnthropic) {
    if (out.target != kPath)
      return fail(Code::kUnsupported, "the model's server answers in chats, and nothing else");
    SIGNALBOX_TRY(surfaces::MessagesRequest request,
                  surfaces::to_messages(plan.body, static_cast<int64_t>(std::time(nullptr))));
    out.body = std::move(request.body);
    out.replies = std::move(request.replies);
    out.target = surfaces::kMessagesPath;
    return out;
  }
  if (surface_ != nullptr) {
    SIGNALBOX_TRY(out.body, surface_->outgoing(plan.body));
  }
  if (!out.translates) out.target.append(query);
  return out;
}

// From the server inwards: its own form, measures and masks, the client's form.
http::Task<Result<std::unique_ptr<upstream::Answer>>> Chat::shaped(
    std::unique_ptr<upstream::Answer> got, const Asked& asked, const router::Plan& plan,
    const Outgoing& out, std::chrono::steady_clock::time_point started, Watch& watch) const {
  Result<std::unique_ptr<upstream::Answer>> answer = std::move(got);
  if (out.replies) {
    auto chat =
        co_await TranslatedAnswer::wrap(std::move(*answer), *out.replies, asked.chat.stream);
    answer = std::move(chat);
  }
  if (answer) {
    answer = std::make_unique<MeteredAnswer>(std::move(*answer), stats_, plan.model->name, started,
                                             watch);
    if (!plan.masks.empty()) answer = UnmaskedAnswer::wrap(std::move(*answer), plan.masks);
  }
  if (answer && out.translates) {
    auto own =
        co_await TranslatedAnswer::wrap(std::move(*answer), *asked.replies, asked.chat.stream);
    answer = std::move(own);
  }
  co_return answer;
}

// Nothing is answered yet when it yields a plan, which is to be followed instead.
http::Task<std::optional<router::Plan>> Chat::forward(http::Exchange exchange, const Asked& asked,
                                                      const router::Plan& plan,
                                                      http::Headers fields, Watch& watch,
                                                      Retry& retry) const {
  const Result<Outgoing> made = outgoing(plan, exchange.request.query());
  if (!made) {
    watch.failed(made.error());
    http::Headers told = of_error(fields);
    co_await send_error(exchange.reply, std::move(told), made.error(), shape());
    co_return std::nullopt;
  }
  const Outgoing& out = *made;
  router::UpstreamHeaders mutated;
  const http::Headers* client = &exchange.request.headers;
  if (plan.header_mutation != nullptr) {
    mutated = router::mutate_headers(*plan.header_mutation, *client);
    client = &mutated.client;
  }
  if (!plan.masks.empty() || out.translates || out.replies) {
    mutated.client = without_encodings(*client);
    if (out.translates) mutated.client = for_openai(mutated.client);
    if (out.replies) mutated.client = for_anthropic(mutated.client);
    client = &mutated.client;
  }
  const std::string_view body = out.body.empty() ? std::string_view(plan.body) : out.body;
  const auto prompt = prompt_of(asked.chat, plan);
  watch.sent(body);
  const std::string traceparent = watch.traceparent();
  const upstream::Call call{.target = out.target,
                            .headers = *client,
                            .added = mutated.added,
                            .request_id = watch.id(),
                            .body = body,
                            .interrupt = exchange.interrupt,
                            .prompt = prompt,
                            .decided = &fields,
                            .traceparent = traceparent,
                            .drops_tracestate = !watch.keeps_tracestate()};
  const InFlight in_flight(stats_, plan.model->name);
  const observe::Meters::AtModel at_model(observer_.meters(), plan.model->name);
  const auto started = std::chrono::steady_clock::now();
  upstream::Outcome outcome = co_await backends_.call(*plan.model, call);
  if (auto next = successor(outcome, asked.chat, plan, watch, retry)) co_return next;
  retry.evaluation.reset();  // a stream may take minutes
  if (retry.attempts > 1) fields.add("x-vsr-attempts", std::to_string(retry.attempts));
  Result<std::unique_ptr<upstream::Answer>> answer = std::move(outcome.answer);
  if (answer) {
    auto wrapped = co_await shaped(std::move(*answer), asked, plan, out, started, watch);
    answer = std::move(wrapped);
  }
  BrokenStream broken;
  if (out.translates)
    broken = [&asked](std::string_view error) { return asked.replies->broken(error); };
  if (answer) {
    const Result<void> relayed =
        co_await relay(**answer, exchange.reply, fields, broken ? &broken : nullptr);
    if (!relayed) watch.failed(relayed.error(), relayed.error().message);
    co_return std::nullopt;
  }
  const Error& error = answer.error();
  watch.failed(error, error.message);
  if (error.code == Code::kCancelled) {
    exchange.reply.abandon();
  } else {
    http::Headers told = of_error(fields);
    co_await send_error(exchange.reply, std::move(told), error, shape());
  }
  co_return std::nullopt;
}

// The plan for another model where this one's servers have refused the request and there is one.
std::optional<router::Plan> Chat::successor(const upstream::Outcome& outcome,
                                            const router::ChatRequest& request,
                                            const router::Plan& plan, Watch& watch,
                                            Retry& retry) const {
  retry.attempts += outcome.attempts;
  if (!outcome.elsewhere) return std::nullopt;
  retry.failed.push_back(plan.model->name);
  Result<router::Plan> next = retry.evaluation->plan(circumstances(retry.failed));
  if (!next || next->path != router::Plan::Path::kUpstream) return std::nullopt;
  log::warn("chat", "{}: model \"{}\" does not answer; \"{}\" is asked instead", watch.id(),
            plan.model->name, next->model->name);
  watch.planned(*next, retry.evaluation->decision(), request.stream);
  return *std::move(next);
}

}  // namespace

Route chat_route(const router::Router& router, const upstream::Backends& backends, Compute& compute,
                 router::selection::RuntimeStats& stats, const Observer& observer) {
  return {"POST", std::string(kPath), Chat(router, backends, compute, stats, observer, nullptr)};
}

Route surface_route(std::string path, const surfaces::Surface& surface,
                    const router::Router& router, const upstream::Backends& backends,
                    Compute& compute, router::selection::RuntimeStats& stats,
                    const Observer& observer) {
  return {"POST", std::move(path), Chat(router, backends, compute, stats, observer, &surface)};
}

}  // namespace signalbox::api
