// The stages in order. Each stage either hands its result to the next one or has answered the
// client. The destructor of the record publishes what happened.

#include "router/gateway/pipeline.h"

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "base/log.h"
#include "router/cache/reply.h"
#include "router/config/access.h"
#include "router/gateway/admit.h"
#include "router/gateway/metered_reply.h"
#include "router/gateway/own_replies.h"
#include "router/gateway/relay.h"
#include "router/gateway/send.h"
#include "router/gateway/translated_reply.h"
#include "router/gateway/understand.h"
#include "router/shadow/answer.h"
#include "router/upstream/whole.h"

namespace signalbox::gateway {
namespace {

/// A larger reply is not stored. The events of a stream have many times the size of its text.
constexpr size_t kTurnBytesMax = size_t{1} << 20;

/// Returns what the reply is to be copied to; null if the plan stores no memory.
std::shared_ptr<upstream::ReplyCopy> copy_for_memory(const routing::Plan& plan,
                                                     const ServerRequest& server) {
  if (plan.memories.turn == nullptr || (!server.is_chat && !plan.native)) return nullptr;
  auto out = std::make_shared<upstream::ReplyCopy>();
  out->bytes_max = kTurnBytesMax;
  return out;
}

Result<std::string> read_final_text(std::optional<request::Api> native, upstream::ReplyCopy& copy) {
  if (native) SIGNALBOX_TRY_VOID(cache::check_native(copy.bytes, copy.is_stream));
  return shadow::read_final_text({std::move(copy.bytes), copy.is_stream, native}, kTurnBytesMax);
}

void store_turn(const RequestScope& scope, const routing::Plan& plan, bool is_native,
                upstream::ReplyCopy& copy) {
  const plugins::OpenTurn& turn = *plan.memories.turn;
  const auto answer = read_final_text(is_native ? scope.api.native() : std::nullopt, copy);
  if (!answer) return;
  auto memory = plan.memory_rules->memory_of(turn, *answer, plan.masks);
  if (!memory) return;
  const auto id = scope.context.memories->add(plan.memories.user, *std::move(memory), turn.vector,
                                              turn.moment, memories::TimePoint::clock::now());
  if (!id) log::warn("memory", "{}: nothing is stored: {}", scope.record.id(), id.error().message);
  if (id && !id->empty()) scope.record.remembered();
}

/// Records that the memories were of use, and stores the turn as a memory of its user if the client
/// got the whole answer. The pool does it even if the client has gone meanwhile, and no loop waits
/// for the store's lock.
http::Task<> keep_turn(const RequestScope& scope, const routing::Plan& plan, bool is_native,
                       std::shared_ptr<upstream::ReplyCopy> copy) {
  const bool stores = copy != nullptr && copy->is_whole && !copy->is_cut &&
                      !scope.record.has_failed() && !scope.record.is_doubtful();
  const plugins::FoundMemories& found = plan.memories;
  if (!stores && found.ids.empty()) co_return;
  std::function<void()> work = [&] {
    if (!found.ids.empty())
      scope.context.memories->use(found.user, found.ids, memories::TimePoint::clock::now());
    if (stores) store_turn(scope, plan, is_native, *copy);
  };
  const size_t bytes = stores ? copy->bytes.size() + found.turn->text.size() : 0;
  const http::Share share = scope.share(bytes, kTurnBytesMax);
  const bool ran = co_await scope.context.reading.run(std::move(work), share);
  if (!ran)
    log::warn("memory", "{}: nothing is stored: too many requests are waiting", scope.record.id());
}

}  // namespace

http::Task<> Pipeline::operator()(http::Exchange exchange) const {
  RequestShadows shadows(context_);
  RequestRecord record(context_.observer, exchange.request, exchange.reply, api_.path());
  RequestScope scope{context_, api_, exchange, record};

  // --- read ---
  if (const auto encoding = unsupported_encoding(scope.headers())) {
    co_await send_unsupported_encoding(scope, *encoding);
    co_return;
  }
  limits::Requester requester = requester_of(scope.config().authz.identity, scope.headers());
  // Nothing is loaded from a server for a request that is refused anyway.
  const bool is_admitted_first = api_.reads_slowly();
  if (is_admitted_first) {
    const bool is_refused = co_await refuse_unread(scope, requester);
    if (is_refused) co_return;
  }
  const Result<ParsedRequest> request = co_await read_request(scope);
  if (!request) {
    exchange.request.memory.lower(exchange.request.body.size());  // others need not wait
    co_await send_error(scope, request.error());
    co_return;
  }
  routing::Evaluation evaluation =
      context_.router.evaluate(request->chat, [&scope](std::string_view name) {
        return name == ":path" ? std::optional(scope.api.path()) : scope.headers().find(name);
      });

  // --- admit ---
  if (const auto refused = evaluation.refuse_stranger()) {
    record.planned(*refused, nullptr, request->chat.stream);
    co_await send_planned(scope, *request, *refused);
    co_return;
  }
  if (const auto why = find_forbidden(scope, evaluation.requested_recipe(), request->chat.model)) {
    co_await send_forbidden(scope, *why);
    co_return;
  }
  if (!is_admitted_first) {
    const bool is_over_limit = co_await refuse_over_limit(scope, requester);
    if (is_over_limit) co_return;
  }

  // --- understand ---
  const size_t bytes = request->chat.document.source().size();
  const Result<Understanding> understanding = co_await understand(scope, *request, evaluation);
  if (!understanding) {
    co_await send_error(scope, understanding.error());
    co_return;
  }

  // --- plan ---
  Result<routing::Plan> plan = tl::unexpected(Error{});  // until it is made
  std::function<void()> make_plan = [&] {
    plan = plan_request(scope, *request, evaluation, *understanding);
  };
  if (const auto ran = co_await run_by_size(scope, bytes, std::move(make_plan)); !ran)
    plan = tl::unexpected<Error>(ran.error());
  if (!plan) {
    const bool is_late = plan.error().code == Code::kDeadline && !exchange.interrupt.raised();
    auto sent = is_late ? send_unjudged(scope, plan.error()) : send_error(scope, plan.error());
    co_await std::move(sent);
    co_return;
  }
  if (plan->path != routing::Plan::Path::kUpstream) {
    co_await send_planned(scope, *request, *plan);
    co_return;
  }

  // --- look up, send, relay: for one model after the other until one answers ---
  Journey journey{scope, *request, std::move(evaluation), std::move(requester), shadows};
  for (;;) {
    std::optional<routing::Plan> next = co_await answer_by_plan(journey, *plan);
    if (!next) break;
    plan = *std::move(next);
  }
  charge(scope, journey.requester);
  record.ended();
  if (journey.evaluation) co_await shadows.plan(scope, *request, *journey.evaluation, *plan);
}

// This and the next return true if they have answered the client. They need no body.
http::Task<bool> Pipeline::refuse_unread(RequestScope& scope, const limits::Requester& requester) {
  if (config::refuses_stranger(scope.config(), requester.user, requester.groups)) {
    co_await send_nameless(scope);
    co_return true;
  }
  const bool is_over_limit = co_await refuse_over_limit(scope, requester);
  co_return is_over_limit;
}

http::Task<bool> Pipeline::refuse_over_limit(RequestScope& scope,
                                             const limits::Requester& requester) {
  const std::optional<spending::Finding> budget = admit_to_spend(scope, requester);
  if (budget && budget->action == spending::Finding::Action::kRefuse) {
    co_await send_over_budget(scope, *budget);
    co_return true;
  }
  scope.cheapest = budget && budget->action == spending::Finding::Action::kCheaper;
  const auto limited = admit(scope, requester);
  if (!limited) co_return false;
  const http::Headers headers = undecided_headers(scope);
  co_await send_limited(scope, *limited, headers);
  co_return true;
}

// Returns the plan to follow instead if nothing is answered. Not a coroutine, because it waits for
// nothing itself.
http::Task<std::optional<routing::Plan>> Pipeline::answer_by_plan(Journey& journey,
                                                                  const routing::Plan& plan) const {
  return plan.loop != nullptr ? call_several(journey, plan) : try_model(journey, plan);
}

// Adds to `headers` what the servers do not get.
http::Task<Result<ServerRequest>> Pipeline::request_for_server(Journey& journey,
                                                               const routing::Plan& plan,
                                                               http::Headers& headers) const {
  const RequestScope& scope = journey.scope;
  const size_t held = journey.request.memory_bytes() + plan.body.size();
  const Result<void> room = co_await reserve(scope, held + translating_bytes(scope, plan));
  if (!room) co_return tl::unexpected<Error>(room.error());
  Result<ServerRequest> server = tl::unexpected(Error{});  // until it is translated
  std::function<void()> translate = [&] {
    server = plan.loop != nullptr ? make_loop_request(scope, journey.request, plan, false)
                                  : make_server_request(scope, journey.request, plan);
  };
  if (const auto ran = co_await run_by_size(scope, plan.body.size(), std::move(translate)); !ran)
    server = tl::unexpected<Error>(ran.error());
  if (!server) co_return server;
  scope.exchange.request.memory.lower(held + server->body.capacity());
  if (const std::string dropped = server->losses.names(); !dropped.empty()) {
    headers.add("x-vsr-dropped", dropped);
    log::info("chat", "{}: the servers of model \"{}\" have another API, and do not get: {}",
              scope.record.id(), plan.model->name, dropped);
  }
  co_return server;
}

// Returns the plan to follow instead if the model's servers have refused and nothing is answered.
http::Task<std::optional<routing::Plan>> Pipeline::try_model(Journey& journey,
                                                             const routing::Plan& plan) const {
  const RequestScope& scope = journey.scope;
  http::Headers headers = decision_headers(scope, plan);
  if (const auto limited = admit_to_model(scope, plan.model->name, journey.requester)) {
    co_await send_limited(scope, *limited, headers);
    co_return std::nullopt;
  }
  add_protocols(scope, plan, headers);
  const Result<ServerRequest> server = co_await request_for_server(journey, plan, headers);
  if (!server) {
    co_await send_error(scope, server.error(), headers);
    co_return std::nullopt;
  }
  const std::optional<replies::WatchedReply> watched =
      context_.guards.watched_reply(plan, journey.request.chat);

  // --- look up ---
  // Do not cache the answer of a substitute: the planned model will answer again once it recovers.
  const bool caches = (server->is_chat || plan.native) && journey.attempts.failed.empty();
  CacheLookup cache(context_, caches ? plan.response_cache : nullptr, plan, scope.exchange.request,
                    server->target);
  ReplyFilterInputs inputs{scope, journey.request, plan, *server, watched, cache, headers};
  bool answered = false;
  if (cache.active()) answered = co_await answer_from_cache(journey, inputs);
  if (answered) co_return std::nullopt;
  if (journey.shadows.begin(scope, plan, *server)) inputs.shadows = &journey.shadows;
  inputs.turn = copy_for_memory(plan, *server);

  // --- send ---
  const bool changes = !plan.masks.empty() || watched || server->to_client ||
                       server->from_server != nullptr || server->image != nullptr ||
                       plan.takes_usage || inputs.shadows != nullptr;
  const bool reads = changes || cache.records() || context_.ledger != nullptr || inputs.turn;
  const ServerCall call(scope, journey.request, plan, *server, headers, changes, reads);
  const observe::Meters::AtModel at_model(context_.observer.meters(), plan.model->name);
  const InFlight in_flight(context_.stats, plan.model->name);
  const auto started = std::chrono::steady_clock::now();
  upstream::CallOutcome outcome = co_await call.send();
  std::optional<routing::Plan> next = plan_another_model(
      scope, journey.request, *journey.evaluation, plan, outcome, journey.attempts);
  if (next) co_return next;
  const int status = outcome.answer ? (*outcome.answer)->head().status : 0;
  scope.record.answered_by(std::move(outcome.backend));
  if (outcome.answer && status < 400) remember(scope, plan);

  // --- relay ---
  // A stream may take minutes.
  if (inputs.shadows == nullptr) journey.evaluation.reset();
  if (journey.attempts.servers > 1)
    headers.add("x-vsr-attempts", std::to_string(journey.attempts.servers));
  const std::vector<ReplyFilter> filters = server_reply_filters(inputs, started);
  co_await relay_filtered(inputs, filters, std::move(outcome.answer));
  end_turn(scope);
  if (context_.memories != nullptr) co_await keep_turn(scope, plan, plan.native, inputs.turn);
  co_return std::nullopt;
}

// For a decision whose algorithm calls several models. It tries others itself, so there is no plan
// to follow instead.
http::Task<std::optional<routing::Plan>> Pipeline::call_several(Journey& journey,
                                                                const routing::Plan& plan) const {
  const RequestScope& scope = journey.scope;
  http::Headers headers = decision_headers(scope, plan);
  const Result<ServerRequest> server = co_await request_for_server(journey, plan, headers);
  if (!server) {
    co_await send_error(scope, server.error(), headers);
    co_return std::nullopt;
  }
  const std::optional<replies::WatchedReply> watched =
      context_.guards.watched_reply(plan, journey.request.chat);
  CacheLookup cache(context_, plan.response_cache, plan, scope.exchange.request, server->target);
  ReplyFilterInputs inputs{scope, journey.request, plan, *server, watched, cache, headers};
  bool answered = false;
  if (cache.active()) answered = co_await answer_from_cache(journey, inputs);
  if (answered) co_return std::nullopt;
  if (plan.painter == nullptr) forget(scope);
  inputs.turn = copy_for_memory(plan, *server);
  const http::Headers decided = headers;
  const bool may_begin = journey.request.chat.stream && context_.backends.is_direct();
  std::optional<EarlyStream> early;
  if (may_begin) early.emplace(scope, decided, plan, watched ? &*watched : nullptr);
  Loop loop(scope, journey.request, *journey.evaluation, plan, journey.requester, decided,
            early ? &*early : nullptr);
  Result<LoopAnswer> answer = co_await loop.run();
  journey.evaluation.reset();  // a stream may take minutes
  if (answer && scope.exchange.reply.started()) {
    http::Headers late;
    late.add(routing::kSelectedModel, "");
    loop.add_headers(answer->model, late);
    trail_headers(scope, late);
  }
  loop.add_headers(answer ? answer->model : nullptr, headers);
  if (!answer) {
    co_await send_failure(inputs, answer.error());
    co_return std::nullopt;
  }
  if (answer->is_waiting) cache.keep_nothing();
  if (answer->stream == nullptr) {
    co_await relay_composed(inputs, *std::move(answer));
    co_return std::nullopt;
  }
  const std::chrono::milliseconds keep_alive = scope.config().looper.stream.keep_alive;
  const ReplyFilterInputs live{scope, journey.request, *answer->plan, *answer->server, watched,
                               cache, headers,         nullptr,       inputs.turn};
  std::vector<ReplyFilter> filters = server_reply_filters(live, answer->started);
  add_extension(live, answer->extension, filters);
  co_await relay_filtered(live, filters, std::move(answer->stream), keep_alive);
  if (context_.memories != nullptr)
    co_await keep_turn(scope, plan, answer->is_native(), inputs.turn);
  co_return std::nullopt;
}

// For an answer that is here whole.
http::Task<> Pipeline::relay_composed(const ReplyFilterInputs& inputs, LoopAnswer answer) const {
  const RequestScope& scope = inputs.scope;
  scope.record.passes(answer.body);
  // Once the time of the request is over, its interrupt breaks each wait. The answer came in time,
  // so it is checked and translated without that interrupt, until the connection closes.
  http::Interrupt never;
  const http::Exchange& exchange = scope.exchange;
  const RequestScope late{
      scope.context, scope.api, {exchange.request, exchange.reply, never}, scope.record};
  const bool is_native = answer.is_native();
  const ReplyFilterInputs composed{exchange.interrupt.raised() ? late : scope,
                                   inputs.request,
                                   is_native ? *answer.plan : inputs.plan,
                                   is_native ? *answer.server : inputs.server,
                                   inputs.watched,
                                   inputs.cache,
                                   inputs.headers,
                                   nullptr,
                                   inputs.turn};
  const bool has_image = inputs.plan.painter != nullptr;
  const AnswerParts parts{answer.is_image, answer.image};
  if (has_image && !parts.is_image && answer.model == inputs.plan.model)
    remember(scope, inputs.plan);
  ReplyOrError whole = has_image || is_native
                           ? stored_reply(std::move(answer.body))
                           : completion_reply(std::move(answer.body), inputs.request.chat);
  std::vector<ReplyFilter> filters =
      has_image ? paired_reply_filters(composed, parts) : composed_reply_filters(composed);
  add_extension(composed, answer.extension, filters);
  const auto keep_alive = exchange.reply.started() ? scope.config().looper.stream.keep_alive
                                                   : std::chrono::milliseconds(0);
  co_await relay_filtered(composed, filters, std::move(whole), keep_alive);
  if (has_image) end_turn(scope);
  co_await keep_turn(scope, inputs.plan, is_native, inputs.turn);
}

http::Task<bool> Pipeline::answer_from_cache(Journey& journey,
                                             const ReplyFilterInputs& inputs) const {
  CacheLookup& cache = inputs.cache;
  const RequestScope& scope = inputs.scope;
  const auto began = std::chrono::steady_clock::now();
  ReplyOrError cached =
      co_await cache.look_up(journey.request.chat, *journey.evaluation, scope.exchange.interrupt);
  scope.record.cached(cache.use(), began);
  for (const auto& [name, value] : cache.headers(requests_debug_headers(scope.headers())))
    inputs.headers.add(name, value);
  if (*cached == nullptr) co_return false;
  scope.record.repeated(cache.measures());
  remember(scope, inputs.plan);
  log::debug("chat", "{}: model \"{}\" by decision \"{}\": answered from the cache",
             scope.record.id(), inputs.plan.model->name, inputs.plan.decision);
  inputs.headers = with_path(inputs.headers, routing::kCachePath);
  const std::vector<ReplyFilter> filters = cached_reply_filters(inputs);
  co_await relay_filtered(inputs, filters, std::move(cached));
  co_return true;
}

namespace {

/// Makes the events of an error in the client's API; empty if they are OpenAI's.
BrokenStream broken_stream(const ReplyFilterInputs& inputs) {
  if (!inputs.server.to_client && !inputs.plan.native) return {};
  return [&inputs](std::string_view error) { return inputs.request.replies->broken(error); };
}

}  // namespace

http::Task<> Pipeline::relay_filtered(const ReplyFilterInputs& inputs,
                                      const std::vector<ReplyFilter>& filters, ReplyOrError reply,
                                      std::chrono::milliseconds keep_alive) const {
  const RequestScope& scope = inputs.scope;
  ReplyOrError filtered = co_await apply(filters, std::move(reply));
  if (!filtered) {
    co_await send_failure(inputs, filtered.error());
    co_return;
  }
  const BrokenStream broken = broken_stream(inputs);
  const BrokenStream* const events = broken ? &broken : nullptr;
  http::Reply& client = scope.exchange.reply;
  if (client.started() && !is_event_stream((*filtered)->head().headers)) {
    const Result<std::string> refusal =
        co_await upstream::read_whole(**filtered, TranslatedReply::kBodyBytesMax);
    if (!refusal) {
      co_await send_failure(inputs, refusal.error());
      co_return;
    }
    scope.record.unanswered((*filtered)->head().status);
    co_await break_stream(client, {}, *refusal, events);
    co_return;
  }
  const Result<void> relayed =
      co_await relay(**filtered, client, inputs.headers, events, keep_alive);
  if (!relayed) scope.record.failed(relayed.error(), relayed.error().message);
}

// A stream that has begun gets the error as its last event.
http::Task<> Pipeline::send_failure(const ReplyFilterInputs& inputs, const Error& error) const {
  const BrokenStream broken = broken_stream(inputs);
  if (inputs.scope.exchange.reply.started())
    co_await break_off(inputs.scope, error, broken ? &broken : nullptr);
  else
    co_await send_error(inputs.scope, error, inputs.headers);
}

http::Route chat_route(const GatewayContext& context) {
  return {"POST", std::string(dialects::kChatPath),
          Pipeline(context, ClientApi(dialects::kChatPath, nullptr))};
}

http::Route dialect_route(std::string_view path, const dialects::Dialect& dialect,
                          const GatewayContext& context) {
  return {"POST", std::string(path), Pipeline(context, ClientApi(path, &dialect))};
}

}  // namespace signalbox::gateway
