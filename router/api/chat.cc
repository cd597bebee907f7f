// One request as one coroutine. Log lines carry its id, its model and what went wrong, never what
// was said.

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
#include "router/api/unmasked_answer.h"
#include "router/plan_headers.h"
#include "router/plugins/fast_response.h"
#include "router/plugins/header_mutation.h"

namespace signalbox::api {
namespace {

constexpr std::string_view kPath = "/v1/chat/completions";
constexpr size_t kRequestIdBytesMax = 128;
constexpr int kBlockedStatus = 403;  // clients do not try it again

/// The client's own id when it is fit for a log line, a new one otherwise.
std::string request_id_of(const http::Headers& headers) {
  const auto given = headers.find("x-request-id");
  const auto unfit = [](char c) { return c <= ' ' || c > '~'; };
  if (given && !given->empty() && given->size() <= kRequestIdBytesMax &&
      std::none_of(given->begin(), given->end(), unfit)) {
    return std::string(*given);
  }
  thread_local std::mt19937_64 random{(uint64_t{std::random_device{}()} << 32) |
                                      std::random_device{}()};
  return fmt::format("req-{:016x}{:016x}", random(), random());
}

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

class Chat {
 public:
  Chat(const router::Router& router, const upstream::Backends& backends, Compute& compute,
       router::selection::RuntimeStats& stats)
      : router_(router), backends_(backends), compute_(compute), stats_(stats) {}

  http::Task<> operator()(http::Exchange exchange) const;

 private:
  http::Task<Result<router::Plan>> plan(http::Exchange exchange, router::Evaluation& evaluation,
                                        std::string_view id, bool& degraded) const;
  router::Circumstances circumstances(std::span<const std::string_view> failed = {}) const;
  http::Task<> answer(http::Exchange exchange, const router::ChatRequest& request,
                      const router::Plan& plan, http::Headers fields, std::string_view id) const;
  http::Task<std::optional<router::Plan>> forward(http::Exchange exchange,
                                                  const router::ChatRequest& request,
                                                  const router::Plan& plan, http::Headers fields,
                                                  std::string_view id, Retry& retry) const;
  std::optional<router::Plan> successor(const upstream::Outcome& outcome, const router::Plan& plan,
                                        std::string_view id, Retry& retry) const;

  const router::Router& router_;
  const upstream::Backends& backends_;
  Compute& compute_;
  router::selection::RuntimeStats& stats_;
};

http::Task<> Chat::operator()(http::Exchange exchange) const {
  http::Request& request = exchange.request;
  const std::string id = request_id_of(request.headers);
  http::Headers fields;
  fields.add("x-request-id", id);

  if (const auto encoding = request.headers.find("content-encoding");
      encoding && *encoding != "identity") {
    add_headers(router::error_headers(), fields);
    fields.add("Content-Type", "application/json");
    const std::string body = error_body(
        415, fmt::format("Content-Encoding {} is not supported", json::quote_briefly(*encoding)));
    co_await exchange.reply.send(415, fields, body);
    co_return;
  }
  const auto chat = router::ChatRequest::parse(std::move(request.body));
  if (!chat) {
    add_headers(router::error_headers(), fields);
    co_await send_error(exchange.reply, std::move(fields), chat.error());
    co_return;
  }
  bool degraded = false;
  const http::Headers& headers = request.headers;
  Retry retry{
      router_.evaluate(*chat, [&headers](std::string_view name) { return headers.find(name); })};
  Result<router::Plan> planned = co_await plan(exchange, *retry.evaluation, id, degraded);
  if (!planned) {
    log::info("chat", "{}: model {}: refused: {}", id, json::quote_briefly(chat->model),
              code_name(planned.error().code));
    if (planned.error().code == Code::kCancelled) {
      exchange.reply.abandon();
      co_return;
    }
    add_headers(router::error_headers(), fields);
    co_await send_error(exchange.reply, std::move(fields), planned.error());
    co_return;
  }
  const auto debug = request.headers.find("x-vsr-debug");
  const bool explains = debug && http::iequals(*debug, "true");
  const auto told_of = [&](const router::Plan& of) {
    http::Headers out = fields;
    add_headers(router::response_headers(of, explains), out);
    if (degraded) out.add("x-vsr-degraded", "true");
    return out;
  };
  if (planned->path != router::Plan::Path::kUpstream) {
    co_await answer(exchange, *chat, *planned, told_of(*planned), id);
    co_return;
  }
  for (std::optional<router::Plan> next = *std::move(planned); next;) {
    const router::Plan current = *std::move(next);
    http::Headers told = told_of(current);
    next = co_await forward(exchange, *chat, current, std::move(told), id, retry);
  }
}

http::Task<> Chat::answer(http::Exchange exchange, const router::ChatRequest& request,
                          const router::Plan& plan, http::Headers fields,
                          std::string_view id) const {
  if (plan.path == router::Plan::Path::kBlocked) {
    log::info("chat", "{}: decision \"{}\": refused by a policy on personal data", id,
              plan.decision);
    fields.add("Content-Type", "application/json");
    const std::string body = error_body(kBlockedStatus, plan.message, "pii_policy_violation");
    co_await exchange.reply.send(kBlockedStatus, fields, body);
    co_return;
  }
  log::debug("chat", "{}: answered by decision \"{}\" without a model", id, plan.decision);
  fields.add("Content-Type", request.stream ? "text/event-stream" : "application/json");
  if (request.stream) fields.add("Cache-Control", "no-cache");
  const std::string body =
      router::fast_response(plan.message, request, fmt::format("chatcmpl-{}", id),
                            static_cast<int64_t>(std::time(nullptr)));
  co_await exchange.reply.send(200, fields, body);
}

http::Task<Result<router::Plan>> Chat::plan(http::Exchange exchange, router::Evaluation& evaluation,
                                            std::string_view id, bool& degraded) const {
  if (!evaluation.run_cheap()) {
    Result<void> outcome;
    std::stop_source given_up;
    std::function<void()> work = [&] {
      outcome = evaluation.run_needed({.stop = given_up.get_token()});
    };
    const bool ran = co_await run_within(compute_, exchange.interrupt, given_up, std::move(work));
    if (exchange.interrupt.raised()) co_return tl::unexpected<Error>(exchange.interrupt.error());
    if (!ran) co_return fail(Code::kOverloaded, "too many requests are waiting to be understood");
    if (!outcome && outcome.error().code == Code::kOverloaded)
      co_return tl::unexpected<Error>(std::move(outcome).error());
    if (!outcome) {
      degraded = true;
      log::error("chat", "{}: decided on what is known without it: {}", id,
                 outcome.error().message);
    }
  }
  co_return evaluation.plan(circumstances());
}

router::Circumstances Chat::circumstances(std::span<const std::string_view> failed) const {
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto now = std::chrono::steady_clock::now();
  return {[this, now](std::string_view model) { return stats_.figures(model, now); },
          std::uniform_real_distribution<double>(0, 1)(random), failed};
}

// Nothing is answered yet when it yields a plan, which is to be followed instead.
http::Task<std::optional<router::Plan>> Chat::forward(http::Exchange exchange,
                                                      const router::ChatRequest& request,
                                                      const router::Plan& plan,
                                                      http::Headers fields, std::string_view id,
                                                      Retry& retry) const {
  std::string target(kPath);
  target.append(exchange.request.query());
  router::UpstreamHeaders mutated;
  const bool mutates = plan.header_mutation != nullptr;
  const bool masks = !plan.masks.empty();
  if (mutates) mutated = router::mutate_headers(*plan.header_mutation, exchange.request.headers);
  if (masks)
    mutated.client = without_encodings(mutates ? mutated.client : exchange.request.headers);
  const auto prompt = prompt_of(request, plan);
  const upstream::Call call{
      target,        mutates || masks ? mutated.client : exchange.request.headers,
      mutated.added, id,
      plan.body,     exchange.interrupt,
      prompt,        &fields};
  const InFlight in_flight(stats_, plan.model->name);
  const auto started = std::chrono::steady_clock::now();
  upstream::Outcome outcome = co_await backends_.call(*plan.model, call);
  if (std::optional<router::Plan> next = successor(outcome, plan, id, retry)) co_return next;
  retry.evaluation.reset();  // a stream may take minutes
  if (retry.attempts > 1) fields.add("x-vsr-attempts", std::to_string(retry.attempts));
  Result<std::unique_ptr<upstream::Answer>> answer = std::move(outcome.answer);
  Error error;
  if (answer) {
    answer = std::make_unique<MeteredAnswer>(std::move(*answer), stats_, plan.model->name, started);
    if (masks) answer = UnmaskedAnswer::wrap(std::move(*answer), plan.masks);
  }
  if (answer) {
    Result<void> relayed = co_await relay(**answer, exchange.reply, fields);
    log::debug("chat", "{}: model \"{}\" by decision \"{}\": {}", id, plan.model->name,
               plan.decision, exchange.reply.status());
    if (relayed) co_return std::nullopt;
    error = std::move(relayed).error();
  } else {
    error = std::move(answer).error();
    if (error.code != Code::kCancelled) {
      http::Headers told = of_error(fields);
      co_await send_error(exchange.reply, std::move(told), error);
    } else {
      exchange.reply.abandon();
    }
  }
  if (error.code == Code::kCancelled) {
    log::info("chat", "{}: model \"{}\": {}", id, plan.model->name, error.message);
  } else {
    log::warn("chat", "{}: model \"{}\": {}", id, plan.model->name, error.message);
  }
  co_return std::nullopt;
}

// The plan for another model where this one's servers have refused the request and there is one.
std::optional<router::Plan> Chat::successor(const upstream::Outcome& outcome,
                                            const router::Plan& plan, std::string_view id,
                                            Retry& retry) const {
  retry.attempts += outcome.attempts;
  if (!outcome.elsewhere) return std::nullopt;
  retry.failed.push_back(plan.model->name);
  Result<router::Plan> next = retry.evaluation->plan(circumstances(retry.failed));
  if (!next || next->path != router::Plan::Path::kUpstream) return std::nullopt;
  log::warn("chat", "{}: model \"{}\" does not answer; \"{}\" is asked instead", id,
            plan.model->name, next->model->name);
  return *std::move(next);
}

}  // namespace

Route chat_route(const router::Router& router, const upstream::Backends& backends, Compute& compute,
                 router::selection::RuntimeStats& stats) {
  return {"POST", std::string(kPath), Chat(router, backends, compute, stats)};
}

}  // namespace signalbox::api
