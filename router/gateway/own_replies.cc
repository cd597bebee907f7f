// Every reply carries x-request-id and the headers of the decision, whatever became of the request.

#include "router/gateway/own_replies.h"

#include <ctime>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/json.h"
#include "router/config/access.h"
#include "router/dialects/chat_reply.h"
#include "router/gateway/guarded_reply.h"
#include "router/gateway/relay.h"
#include "router/gateway/translated_reply.h"
#include "router/plugins/fast_response/fast_response.h"
#include "router/replies/guarded_body.h"

namespace signalbox::gateway {
namespace {

constexpr int kUnsupportedEncodingStatus = 415;
constexpr int kBlockedStatus = 403;  // clients do not repeat the request
constexpr int kUnableStatus = 400;
constexpr int kLimitedStatus = 429;
constexpr std::string_view kOverBudget = "budget_exceeded";
constexpr std::string_view kForbidden = "model_not_allowed";
constexpr std::string_view kNoCapableModel = "no_capable_model";
constexpr int kUnjudgedStatus = 503;
// The load that kept a guard from reading the request has often passed after this time.
constexpr std::string_view kRetrySeconds = "5";

constexpr std::chrono::milliseconds kPostponed{100};

constexpr std::string_view kTrailers =
    "x-vsr-selected-model, x-vsr-looper-models-used, x-vsr-looper-models-failed, "
    "x-vsr-looper-iterations, x-vsr-looper-latency-ms, x-vsr-looper-prompt-tokens, "
    "x-vsr-looper-completion-tokens, x-vsr-looper-total-tokens, x-vsr-looper-used-up";

/// A message about a server begins with its backend's name, which is the operator's.
constexpr std::string_view kBackendPrefix = "backend \"";

/// The message for the log: what stands in quotes may be the client's text.
std::string without_quoted(std::string_view message) {
  std::string out;
  if (message.starts_with(kBackendPrefix)) {
    const size_t end = std::min(message.find('"', kBackendPrefix.size()), message.size() - 1) + 1;
    out = message.substr(0, end);
    message.remove_prefix(end);
  }
  for (;;) {
    const size_t open = message.find('"');
    out += message.substr(0, open);
    if (open == std::string_view::npos) return out;
    size_t close = open + 1;
    while (close < message.size() && message[close] != '"') close += message[close] == '\\' ? 2 : 1;
    out += "\"...\"";
    message.remove_prefix(std::min(close + 1, message.size()));
  }
}

/// The answer of a chat completion in the client's API.
Result<std::string> in_client_api(const ParsedRequest& request, std::string chat) {
  if (!request.replies) return chat;
  if (!request.chat.stream) return request.replies->whole(std::move(chat));
  std::string out;
  SIGNALBOX_TRY_VOID(request.replies->push(chat, out));
  SIGNALBOX_TRY_VOID(request.replies->finish(out));
  return out;
}

}  // namespace

void add_headers(const std::vector<routing::Header>& headers, http::Headers& fields) {
  for (const routing::Header& header : headers) fields.add(header.name, header.value);
}

http::Headers with_value(const http::Headers& headers, std::string_view name,
                         std::string_view value) {
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    const http::Field field = headers[i];
    out.add(field.name, ascii::iequals(field.name, name) ? value : field.value);
  }
  return out;
}

http::Headers with_path(const http::Headers& headers, std::string_view path) {
  return with_value(headers, routing::kResponsePath, path);
}

bool requests_debug_headers(const http::Headers& client) {
  const auto debug = client.find("x-vsr-debug");
  return debug && ascii::iequals(*debug, "true");
}

namespace {

/// Adds the headers that every reply has. The id is under the names that clients of OpenAI and of
/// Anthropic log.
void add_common(const RequestScope& scope, http::Headers& out) {
  out.add("x-request-id", scope.record.id());
  const bool counts = scope.exchange.request.path() == "/v1/messages/count_tokens";
  if (counts || scope.api.native() == request::Api::kMessages)
    out.add("request-id", scope.record.id());
  if (!scope.budget.empty()) out.add("x-vsr-budget", scope.budget);
}

}  // namespace

http::Headers decision_headers(const RequestScope& scope, const routing::Plan& plan) {
  const RequestRecord& record = scope.record;
  http::Headers out;
  add_common(scope, out);
  add_headers(routing::response_headers(plan, requests_debug_headers(scope.headers())), out);
  if (record.degraded() != observe::Degraded::kNo) {
    out.add("x-vsr-degraded", "true");
    out.add("x-vsr-degraded-reason", observe::name_of(record.degraded()));
  }
  if (!record.replay_id().empty()) out.add("x-vsr-replay-id", record.replay_id());
  return out;
}

http::Headers undecided_headers(const RequestScope& scope) {
  http::Headers out;
  add_common(scope, out);
  add_headers(routing::error_headers(), out);
  return out;
}

http::Task<> send_unsupported_encoding(const RequestScope& scope, std::string_view encoding) {
  const std::string message =
      fmt::format("Content-Encoding {} is not supported", json::quote_briefly(encoding));
  http::Headers fields = undecided_headers(scope);
  co_await http::send_refusal(scope.exchange.reply, std::move(fields), kUnsupportedEncodingStatus,
                              message, {}, scope.api.error_shape());
}

http::Task<> send_error(const RequestScope& scope, const Error& error) {
  scope.record.failed(error, without_quoted(error.message));
  if (error.code == Code::kCancelled) {
    scope.exchange.reply.abandon();
    co_return;
  }
  http::Headers fields = undecided_headers(scope);
  co_await http::send_error(scope.exchange.reply, std::move(fields), for_client(error),
                            scope.api.error_shape());
}

http::Task<> send_error(const RequestScope& scope, const Error& error,
                        const http::Headers& headers) {
  scope.record.failed(error, without_quoted(error.message));
  if (error.code == Code::kCancelled) {
    scope.exchange.reply.abandon();
    co_return;
  }
  http::Headers fields = with_path(headers, routing::kErrorPath);
  co_await http::send_error(scope.exchange.reply, std::move(fields), for_client(error),
                            scope.api.error_shape());
}

http::Task<> break_off(const RequestScope& scope, const Error& error, const BrokenStream* broken) {
  scope.record.failed(error, without_quoted(error.message));
  const bool has_gone = error.code == Code::kCancelled;
  scope.record.unanswered(has_gone ? 0 : http::error_kind(error.code).status);
  if (has_gone) {
    scope.exchange.reply.abandon();
    co_return;
  }
  const std::string body = http::error_body(for_client(error));
  co_await break_stream(scope.exchange.reply, {}, body, broken);
}

// Comments are lines that begin with a colon, which every reader of events skips.
EarlyStream::EarlyStream(const RequestScope& scope, const http::Headers& decided,
                         const routing::Plan& plan, const replies::WatchedReply* watched)
    : reply_(scope.exchange.reply),
      times_(scope.config().looper.stream),
      due_(Clock::now() + times_.open_after) {
  for (size_t i = 0; i < decided.size(); ++i) {
    if (!ascii::iequals(decided[i].name, routing::kSelectedModel)) fields_.add(decided, i);
  }
  fields_.add("x-vsr-looper-algorithm", plan.algorithm_that_ran());
  fields_.add("Content-Type", "text/event-stream");
  fields_.add("Cache-Control", "no-cache");
  const std::string warnings =
      watched == nullptr ? std::string() : replies::early_warnings(watched->rules);
  if (!warnings.empty()) fields_.add(kWarnings, warnings);
  if (!accepts_trailers(scope.headers())) return;
  fields_.add("Trailer", kTrailers);
  if (watched != nullptr) fields_.add("Trailer", fmt::format("{}, {}", kWarnings, kUnchecked));
}

http::Task<bool> EarlyStream::write(std::string_view progress) {
  bool written = false;
  if (reply_.started()) {
    const std::string comment = fmt::format(": {}\n\n", progress);
    written = co_await reply_.write(comment, false);
  } else {
    reply_.start(200, fields_, std::nullopt);
    written = co_await reply_.flush();
  }
  due_ = Clock::now() + times_.keep_alive;
  co_return written;
}

void EarlyStream::postpone() {
  due_ = Clock::now() + kPostponed;
}

void trail_headers(const RequestScope& scope, const http::Headers& fields) {
  if (!accepts_trailers(scope.headers())) return;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!ascii::iequals(fields[i].name, "x-vsr-looper-algorithm"))
      scope.exchange.reply.add_trailer(fields[i].name, fields[i].value);
  }
}

http::Task<> send_unjudged(const RequestScope& scope, const Error& error) {
  scope.record.failed(error, without_quoted(error.message));
  http::Headers fields = undecided_headers(scope);
  fields.add("Retry-After", kRetrySeconds);
  co_await http::send_refusal(scope.exchange.reply, std::move(fields), kUnjudgedStatus,
                              error.message, "unavailable", scope.api.error_shape());
}

http::Task<> send_limited(const RequestScope& scope, const limits::RateRefusal& refusal,
                          const http::Headers& headers) {
  scope.record.limited();
  http::Headers fields = with_path(headers, routing::kLimitedPath);
  fields.add("Retry-After", std::to_string(refusal.retry.count()));
  co_await http::send_refusal(scope.exchange.reply, std::move(fields), kLimitedStatus,
                              refusal.message, routing::kLimitedPath, scope.api.error_shape());
}

http::Task<> send_over_budget(const RequestScope& scope, const spending::Finding& finding) {
  scope.record.over_budget();
  http::Headers fields = with_path(undecided_headers(scope), routing::kLimitedPath);
  fields.add("Retry-After", std::to_string(finding.renewal.count()));
  const std::string message =
      fmt::format("the budget \"{}\" of {:.2f} {} is spent; it is renewed at {}", finding.budget,
                  finding.amount, finding.currency, finding.renewed_at);
  co_await http::send_refusal(scope.exchange.reply, std::move(fields), kLimitedStatus, message,
                              kOverBudget, scope.api.error_shape());
}

http::Task<> send_nameless(const RequestScope& scope) {
  scope.record.refuse_nameless();
  http::Headers fields = undecided_headers(scope);
  const std::string why = config::stranger_message(scope.config());
  co_await http::send_refusal(scope.exchange.reply, std::move(fields), kBlockedStatus, why,
                              http::kMissingIdentity, scope.api.error_shape());
}

http::Task<> send_forbidden(const RequestScope& scope, std::string_view message) {
  scope.record.forbidden();
  http::Headers fields = undecided_headers(scope);
  co_await http::send_refusal(scope.exchange.reply, std::move(fields), kBlockedStatus, message,
                              kForbidden, scope.api.error_shape());
}

http::Task<> send_planned(const RequestScope& scope, const ParsedRequest& request,
                          const routing::Plan& plan) {
  http::Reply& reply = scope.exchange.reply;
  http::Headers fields = decision_headers(scope, plan);
  if (plan.path == routing::Plan::Path::kUnable) {
    scope.record.failed({Code::kInvalid, plan.message}, plan.message);
    co_await http::send_refusal(reply, std::move(fields), kUnableStatus, plan.message,
                                plan.too_long ? dialects::kTooLongCode : kNoCapableModel,
                                scope.api.error_shape());
    co_return;
  }
  if (plan.path == routing::Plan::Path::kBlocked) {
    const std::string_view code = plan.guarded.missing_identity ? http::kMissingIdentity
                                  : plan.guarded.forbidden      ? kForbidden
                                                                : "pii_policy_violation";
    co_await http::send_refusal(reply, std::move(fields), kBlockedStatus, plan.message, code,
                                scope.api.error_shape());
    co_return;
  }
  const std::string id = fmt::format("chatcmpl-{}", scope.record.id());
  const Result<std::string> body =
      in_client_api(request, plugins::fast_response(plan.message, request.chat, id,
                                                    static_cast<int64_t>(std::time(nullptr))));
  if (!body) {
    co_await http::send_error(reply, std::move(fields), body.error(), scope.api.error_shape());
    co_return;
  }
  if (request.replies && request.replies->has_unpublished()) co_await publish(*request.replies);
  const bool stream = request.chat.stream;
  fields.add("Content-Type", stream ? "text/event-stream" : "application/json");
  if (stream) fields.add("Cache-Control", "no-cache");
  co_await reply.send(200, fields, *body);
}

void add_looper_headers(const looper::Run& run, const routing::Plan& plan,
                        std::chrono::milliseconds elapsed, const config::Model* model,
                        http::Headers& fields) {
  std::vector<std::string> used, failed;
  uint64_t prompt = 0, completion = 0;
  const auto add_once = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const looper::Turn& turn : run.turns()) {
    if (turn.reply() == nullptr) {
      const bool is_live = turn.state == looper::Turn::State::kOpen;
      const bool is_dropped = !is_live && turn.outcome.error().code == Code::kCancelled;
      if (!is_dropped) add_once(is_live ? used : failed, turn.call.model);
      continue;
    }
    add_once(used, turn.call.model);
    prompt += turn.outcome->prompt_tokens;
    completion += turn.outcome->completion_tokens;
  }
  if (model != nullptr)
    fields = with_value(fields, routing::kSelectedModel, routing::header_value({model->name}));
  fields.add("x-vsr-looper-algorithm", plan.algorithm_that_ran());
  if (!used.empty()) fields.add("x-vsr-looper-models-used", routing::header_value(used));
  if (!failed.empty()) fields.add("x-vsr-looper-models-failed", routing::header_value(failed));
  fields.add("x-vsr-looper-iterations", std::to_string(run.calls()));
  fields.add("x-vsr-looper-latency-ms", std::to_string(elapsed.count()));
  fields.add("x-vsr-looper-prompt-tokens", std::to_string(prompt));
  fields.add("x-vsr-looper-completion-tokens", std::to_string(completion));
  fields.add("x-vsr-looper-total-tokens", std::to_string(prompt + completion));
  if (!run.used_up().empty()) fields.add("x-vsr-looper-used-up", run.used_up());
}

}  // namespace signalbox::gateway
