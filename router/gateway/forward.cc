// A request as its server has it, the reply on its way back, and whom to ask when there is none.

#include "router/gateway/forward.h"

#include <ctime>
#include <random>
#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "router/config/access.h"
#include "router/dialects/anthropic_server.h"
#include "router/gateway/dialect_headers.h"
#include "router/gateway/guarded_reply.h"
#include "router/gateway/metered_reply.h"
#include "router/gateway/relay.h"
#include "router/gateway/translated_reply.h"
#include "router/gateway/unmasked_reply.h"
#include "router/plugins/header_mutation/header_mutation.h"
#include "router/routing/decision_headers.h"

namespace signalbox::gateway {
namespace {

constexpr int kLimitedStatus = 429;

/// What was decided, for a reply that came by another path all the same.
http::Headers by_path(const http::Headers& fields, std::string_view path) {
  http::Headers out;
  for (size_t i = 0; i < fields.size(); ++i) {
    const http::Field field = fields[i];
    const bool is_path = ascii::iequals(field.name, routing::kResponsePath);
    out.add(field.name, is_path ? path : field.value);
  }
  return out;
}

/// A reply that is to be read has to come as it is.
http::Headers without_encodings(const http::Headers& headers) {
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    if (!ascii::iequals(headers[i].name, "accept-encoding"))
      out.add(headers[i].name, headers[i].value);
  }
  return out;
}

/// What a model reads before anything else: it is what a server's cache knows again. A decision's
/// system prompt is known by its name.
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

/// Which forms a request had on its way, where they differ.
void add_protocols(const dialects::Dialect* surface, const config::Model& model,
                   http::Headers& fields) {
  constexpr std::string_view kOpenAi = "openai", kAnthropic = "anthropic";
  const bool foreign = model.api_format == config::Model::ApiFormat::kAnthropic;
  const bool own = surface == nullptr || surface->protocol().empty();
  if (own && !foreign) return;
  fields.add("x-vsr-client-protocol", own ? kOpenAi : surface->protocol());
  fields.add("x-vsr-upstream-protocol", foreign ? kAnthropic : kOpenAi);
}

bool asks_for_more(const http::Headers& client) {
  const auto debug = client.find("x-vsr-debug");
  return debug && ascii::iequals(*debug, "true");
}

}  // namespace

/// A request as its model's server has it.
struct Forwarding::Outgoing {
  std::string target;
  std::string body;                                    // "": the plan's
  std::unique_ptr<dialects::ReplyTranslator> replies;  // from the server's form; null: it is ours
  bool translates = false;                             // a reply is translated to the surface's
  bool chats = true;                                   // replies become chat completions
};

void add_headers(const std::vector<routing::Header>& headers, http::Headers& fields) {
  for (const routing::Header& header : headers) fields.add(header.name, header.value);
}

routing::RuntimeConditions runtime_conditions(const selection::RuntimeStats& stats,
                                              std::span<const std::string_view> failed) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto now = std::chrono::steady_clock::now();
  return {[&stats, now](std::string_view model) { return stats.figures(model, now); },
          std::uniform_real_distribution<double>(0, 1)(random), failed};
}

limits::Requester requester_of(const config::Authz::Identity& identity, const http::Headers& client,
                               std::string_view model) {
  return {std::string(config::identity_of(client.find(identity.user_id_header).value_or(""))),
          std::string(client.find(identity.user_groups_header).value_or("")), std::string(model)};
}

http::Headers decision_headers(const routing::Plan& plan, const http::Headers& client,
                               const RequestRecord& watch) {
  http::Headers out;
  out.add("x-request-id", watch.id());
  add_headers(routing::response_headers(plan, asks_for_more(client)), out);
  if (watch.degraded() != observe::Degraded::kNo) {
    out.add("x-vsr-degraded", "true");
    out.add("x-vsr-degraded-reason", observe::name_of(watch.degraded()));
  }
  if (!watch.replay_id().empty()) out.add("x-vsr-replay-id", watch.replay_id());
  return out;
}

http::Task<> Forwarding::run(routing::Plan plan) {
  for (std::optional<routing::Plan> next = std::move(plan); next;) {
    const routing::Plan current = *std::move(next);
    const bool limited = co_await is_limited(current);
    if (limited) co_return;
    next = co_await ask(current);
  }
  charge();
}

// Whether it was answered with a refusal, since its user has asked too often.
http::Task<bool> Forwarding::is_limited(const routing::Plan& plan) {
  const config::Config& config = services_.router.config();
  if (config.ratelimit.providers.empty()) co_return false;
  const http::Headers& client = exchange_.request.headers;
  requester_ = requester_of(config.authz.identity, client, plan.model->name);
  requester_.again = !failed_.empty();
  const auto refusal =
      services_.limiter.admit(config.ratelimit, requester_, std::chrono::steady_clock::now());
  if (!refusal) co_return false;
  watch_.limited();
  http::Headers fields = by_path(decision_headers(plan, client, watch_), routing::kLimitedPath);
  fields.add("Retry-After", std::to_string(refusal->retry.count()));
  co_await http::send_refusal(exchange_.reply, std::move(fields), kLimitedStatus, refusal->message,
                              routing::kLimitedPath, face_.shape);
  co_return true;
}

void Forwarding::charge() const {
  const config::RateLimit& limit = services_.router.config().ratelimit;
  if (limit.providers.empty()) return;
  if (const uint64_t tokens = watch_.tokens_taken(); tokens != 0)
    services_.limiter.charge(limit, requester_, tokens, std::chrono::steady_clock::now());
}

Result<Forwarding::Outgoing> Forwarding::outgoing(const routing::Plan& plan) const {
  const dialects::Dialect* const surface = face_.surface;
  Outgoing out;
  out.translates = surface != nullptr && !surface->passes_replies();
  out.target = surface == nullptr ? dialects::kChatPath : surface->target();
  out.chats = surface == nullptr || out.translates;
  if (plan.model->api_format == config::Model::ApiFormat::kAnthropic) {
    if (out.target != dialects::kChatPath)
      return fail(Code::kUnsupported, "the model's server answers in chats, and nothing else");
    SIGNALBOX_TRY(dialects::MessagesRequest request,
                  dialects::to_messages(plan.body, static_cast<int64_t>(std::time(nullptr))));
    out.body = std::move(request.body);
    out.replies = std::move(request.replies);
    out.target = dialects::kMessagesPath;
    return out;
  }
  if (surface != nullptr) {
    SIGNALBOX_TRY(out.body, surface->outgoing(plan.body));
  }
  if (!out.translates) out.target.append(exchange_.request.query());
  return out;
}

// From the server inwards: its own form, measures and masks, what is watched, the client's form.
http::Task<Forwarding::ReplyOrError> Forwarding::shaped(
    std::unique_ptr<upstream::UpstreamReply> got, const routing::Plan& plan, const Outgoing& out,
    CacheLookup& turn, std::chrono::steady_clock::time_point started, http::Headers& told) {
  const bool stream = asked_.chat.stream;
  ReplyOrError answer = std::move(got);
  if (out.replies) {
    auto chat = co_await TranslatedReply::wrap(std::move(*answer), *out.replies, stream);
    answer = std::move(chat);
  }
  if (answer) {
    answer = std::make_unique<MeteredReply>(std::move(*answer), services_.stats, plan.model->name,
                                            started, watch_);
    answer = turn.record(std::move(*answer));
    if (!plan.masks.empty()) answer = UnmaskedReply::wrap(std::move(*answer), plan.masks);
  }
  if (answer) {
    auto last = co_await dressed(std::move(*answer), out, told);
    answer = std::move(last);
  }
  co_return answer;
}

// What an answer of the cache goes through as well.
http::Task<Forwarding::ReplyOrError> Forwarding::dressed(
    std::unique_ptr<upstream::UpstreamReply> got, const Outgoing& out, http::Headers& told) {
  ReplyOrError answer = std::move(got);
  if (watched_) {
    const config::HttpLimits& limits = services_.router.config().http;
    const GuardContext guarding{services_.compute,      exchange_, watch_, told, limits.guard_wait,
                                limits.decision_timeout};
    auto guarded = co_await GuardedReply::wrap(std::move(*answer), *watched_, guarding);
    answer = std::move(guarded);
    if (watch_.withheld()) told = by_path(told, routing::path_name(routing::Plan::Path::kBlocked));
  }
  if (answer && out.translates) {
    auto own =
        co_await TranslatedReply::wrap(std::move(*answer), *asked_.replies, asked_.chat.stream);
    answer = std::move(own);
  }
  co_return answer;
}

http::Task<> Forwarding::refuse(const Error& error, const http::Headers& told) {
  watch_.failed(error, error.message);
  if (error.code == Code::kCancelled) {
    exchange_.reply.abandon();
    co_return;
  }
  http::Headers fields = by_path(told, routing::kErrorPath);
  co_await http::send_error(exchange_.reply, std::move(fields), error, face_.shape);
}

http::Task<> Forwarding::relay_as(upstream::UpstreamReply& answer, const Outgoing& out,
                                  const http::Headers& told) {
  BrokenStream broken;
  if (out.translates)
    broken = [this](std::string_view error) { return asked_.replies->broken(error); };
  const Result<void> relayed =
      co_await relay(answer, exchange_.reply, told, broken ? &broken : nullptr);
  if (!relayed) watch_.failed(relayed.error(), relayed.error().message);
}

// Whether it was answered before, and is answered with that.
http::Task<bool> Forwarding::repeat(CacheLookup& turn, const routing::Plan& plan,
                                    const Outgoing& out, http::Headers& told) {
  const auto began = std::chrono::steady_clock::now();
  ReplyOrError kept = co_await turn.look_up(asked_.chat, *evaluation_, exchange_.interrupt);
  watch_.cached(turn.use(), began);
  for (const auto& [name, value] : turn.headers(asks_for_more(exchange_.request.headers)))
    told.add(name, value);
  if (*kept == nullptr) co_return false;
  watch_.repeated(turn.measures());
  log::debug("chat", "{}: model \"{}\" by decision \"{}\": answered from the cache", watch_.id(),
             plan.model->name, plan.decision);
  told = by_path(told, routing::kCachePath);
  auto answer = co_await dressed(*std::move(kept), out, told);
  kept = std::move(answer);
  if (!kept) {
    co_await refuse(kept.error(), told);
    co_return true;
  }
  co_await relay_as(**kept, out, told);
  co_return true;
}

// Nothing is answered yet when it yields a plan, which is to be followed instead.
http::Task<std::optional<routing::Plan>> Forwarding::ask(const routing::Plan& plan) {
  const http::Request& request = exchange_.request;
  http::Headers told = decision_headers(plan, request.headers, watch_);
  add_protocols(face_.surface, *plan.model, told);
  const Result<Outgoing> made = outgoing(plan);
  if (!made) {
    co_await refuse(made.error(), told);
    co_return std::nullopt;
  }
  const Outgoing& out = *made;
  watched_ = services_.guards.watched_reply(plan, asked_.chat);
  // Another model's answer is not what will be answered when this one is well again.
  const bool caches = out.chats && failed_.empty();
  CacheLookup turn(services_.cache, services_.compute, services_.router.config(),
                   caches ? plan.response_cache : nullptr, plan, request, out.target,
                   services_.follow_max);
  if (turn.active()) {
    const bool answered = co_await repeat(turn, plan, out, told);
    if (answered) co_return std::nullopt;
  }
  plugins::UpstreamHeaders mutated;
  const http::Headers* client = &request.headers;
  if (plan.header_mutation != nullptr) {
    mutated = plugins::mutate_headers(*plan.header_mutation, *client);
    client = &mutated.client;
  }
  const bool changes = !plan.masks.empty() || watched_ || out.translates || out.replies;
  if (changes || turn.records()) {
    mutated.client = without_encodings(*client);
    if (out.translates) mutated.client = for_openai(mutated.client);
    if (out.replies) mutated.client = for_anthropic(mutated.client);
    client = &mutated.client;
  }
  const std::string_view body = out.body.empty() ? std::string_view(plan.body) : out.body;
  const auto prompt = prompt_of(asked_.chat, plan);
  watch_.sent(body);
  const std::string traceparent = watch_.traceparent();
  const upstream::Call call{.target = out.target,
                            .headers = *client,
                            .added = mutated.added,
                            .request_id = watch_.id(),
                            .body = body,
                            .interrupt = exchange_.interrupt,
                            .prompt = prompt,
                            .decided = &told,
                            .traceparent = traceparent,
                            .drops_tracestate = !watch_.keeps_tracestate(),
                            .needs_reply = changes};
  const InFlight in_flight(services_.stats, plan.model->name);
  const observe::Meters::AtModel at_model(services_.observer.meters(), plan.model->name);
  const auto started = std::chrono::steady_clock::now();
  upstream::CallOutcome outcome = co_await services_.backends.call(*plan.model, call);
  if (auto next = successor(outcome, plan)) co_return next;
  evaluation_.reset();  // a stream may take minutes
  if (attempts_ > 1) told.add("x-vsr-attempts", std::to_string(attempts_));
  ReplyOrError answer = std::move(outcome.answer);
  if (answer) {
    auto wrapped = co_await shaped(std::move(*answer), plan, out, turn, started, told);
    answer = std::move(wrapped);
  }
  if (!answer) {
    co_await refuse(answer.error(), told);
    co_return std::nullopt;
  }
  co_await relay_as(**answer, out, told);
  co_return std::nullopt;
}

// The plan for another model where this one's servers have refused the request and there is one.
std::optional<routing::Plan> Forwarding::successor(const upstream::CallOutcome& outcome,
                                                   const routing::Plan& plan) {
  attempts_ += outcome.attempts;
  if (!outcome.elsewhere) return std::nullopt;
  failed_.push_back(plan.model->name);
  Result<routing::Plan> next = evaluation_->plan(runtime_conditions(services_.stats, failed_));
  if (!next || next->path != routing::Plan::Path::kUpstream) return std::nullopt;
  log::warn("chat", "{}: model \"{}\" does not answer; \"{}\" is asked instead", watch_.id(),
            plan.model->name, next->model->name);
  watch_.planned(*next, evaluation_->decision(), asked_.chat.stream);
  return *std::move(next);
}

}  // namespace signalbox::gateway
