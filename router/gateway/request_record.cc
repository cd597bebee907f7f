// Names are copied, because the published record may outlive the configuration.

#include "router/gateway/request_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "router/http/error_reply.h"
#include "router/routing/decision_headers.h"
#include "router/spending/prices.h"
#include "router/upstream/outgoing.h"

namespace signalbox::gateway {
namespace {

using observe::Degraded;
using spending::cost_of;

std::string_view reason_of(Code code) {
  switch (code) {
    case Code::kInvalid:
    case Code::kTooLarge:
      return "parse_error";
    case Code::kNotFound:
      return "model_not_found";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kOverloaded:
      return "overloaded";
    case Code::kDeadline:
      return "timeout";
    case Code::kCancelled:
      return "cancellation";
    case Code::kUpstream:
      return "upstream_error";
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kInternal:
      break;
  }
  return "internal_error";
}

std::optional<observe::Tokens> tokens_of(const replies::ReplyMeter::Times& times) {
  if (!times.completion_tokens && !times.prompt_tokens) return std::nullopt;
  return observe::Tokens{times.prompt_tokens.value_or(0), times.cached_tokens.value_or(0),
                         times.completion_tokens.value_or(0), times.written_tokens.value_or(0),
                         times.reasoning_tokens.value_or(0)};
}

observe::Origin origin_of(replies::ReplyOrigin origin) {
  return {.model = std::move(origin.model),
          .id = std::move(origin.id),
          .finish_reasons = std::move(origin.finish_reasons),
          .provider = {}};
}

void append_cut(std::string& out, std::string_view bytes, size_t size_max, bool& cut) {
  const size_t room = size_max - std::min(out.size(), size_max);
  cut = cut || bytes.size() > room;
  out.append(bytes.substr(0, room));
}

}  // namespace

RequestRecord::RequestRecord(const Observer& observer, const http::Request& request,
                             const http::Reply& reply, std::string_view path)
    : observer_(observer), request_(request), reply_(reply) {
  const http::Headers& headers = request.headers;
  account_.trace =
      observe::trace_context(headers.find("traceparent"), headers.count("traceparent"));
  sampled_ = observer.samples(account_.trace);
  account_.id = observe::request_id(headers.find("x-request-id"));
  account_.path = path;
  account_.at = std::chrono::system_clock::now();
  account_.began = account_.understood = account_.sent = std::chrono::steady_clock::now();
  observer_.meters().began();
}

RequestRecord::~RequestRecord() {
  if (account_.ended == observe::TimePoint{}) ended();
  if (answer_streams_ && account_.calls[*answer_].status == 0)
    call_ended(*answer_, 0, reply_.broken() ? "cancelled" : "upstream", std::nullopt, {});
  account_.status = status_.value_or(reply_.status());
  set_error();
  set_spending();
  observer_.note_refusal(account_, request_);
  observer_.publish(std::move(account_), sampled_);
  // Comes last: once no request counts as in flight, the records of all requests are published.
  observer_.meters().ended();
}

// Finds the error of a request that failed without an error of ours.
void RequestRecord::set_error() {
  if (!account_.error.empty()) return;
  if (account_.status == 0 || reply_.broken()) {
    account_.error = "cancellation";
  } else if (!account_.jailbreak.empty()) {
    account_.error = "jailbreak_block";
  } else if (account_.pii) {
    account_.error = "pii_policy_denied";
  } else if (account_.language_refused) {
    account_.error = "unsupported_language";
  } else if (account_.status >= 400 && account_.sent != account_.began) {
    account_.error = account_.status >= 500 ? "upstream_5xx" : "upstream_4xx";
  } else if (account_.status >= 400) {
    account_.error = account_.status >= 500 ? "internal_error" : "parse_error";
  }
}

// A reply that was cut, or whose server does not count, is charged by its bytes.
void RequestRecord::set_spending() {
  if (model_ == nullptr || !observer_.counts_spending()) return;
  if (!account_.tokens && answered_) {
    account_.estimated = estimate();
    account_.cost = cost_of(*model_, *account_.estimated);
  }
  const auto& tokens = account_.tokens     ? account_.tokens
                       : account_.repeated ? account_.repeated
                                           : account_.estimated;
  if (!model_->pricing || !tokens) return;
  account_.currency = model_->pricing->currency;
  for (const config::Model& other : observer_.models()) {
    // A model of pictures could not have answered the requests of another model.
    if (&other != model_ && other.pricing && other.pricing->per_request > 0) continue;
    if (other.pricing && other.pricing->currency == account_.currency)
      account_.cost_on_largest = std::max(account_.cost_on_largest, cost_of(other, *tokens));
  }
}

void RequestRecord::set_spender(std::string_view key, std::string_view user,
                                std::string_view groups) {
  account_.key = key;
  account_.user = user;
  account_.groups = groups;
}

void RequestRecord::named(std::string_view model) {
  const config::Model* const known = observer_.model(model);
  if (known != nullptr) account_.model = known->name;
}

void RequestRecord::understood(const routing::Evaluation& evaluation, Degraded degraded,
                               std::string_view why) {
  account_.degraded = degraded;
  account_.detail = why;
  if (degraded == Degraded::kNo && evaluation.rests_on_missing())
    account_.degraded = Degraded::kModelMissing;
  account_.unsupported_language = evaluation.unsupported_language();
  auto effort = evaluation.timings();
  for (const auto& run : effort.signals)
    account_.signals.push_back({std::string(run.type), run.began, run.ended, run.failed});
  for (const auto& pass : effort.passes) {
    account_.passes.push_back(
        {pass.model, std::string(observer_.meters().engine_name(pass.model)), pass.began,
         pass.ended, pass.error ? code_name(*pass.error) : std::string_view{}, pass.cleared});
  }
  account_.deciding = effort.deciding;
  account_.rag = plugins::name_of(evaluation.documents_outcome());
  account_.rules_began = effort.rules_began;
  account_.rules_ended = effort.rules_ended;
  account_.recipe = evaluation.recipe();
  account_.decided = !account_.recipe.empty();
}

void RequestRecord::planned(const routing::Plan& plan, const config::Decision* decision,
                            bool stream) {
  account_.understood = std::chrono::steady_clock::now();
  model_ = plan.model;
  draws_ = plan.image != nullptr;
  if (model_ != nullptr) account_.model = model_->name;
  account_.decision = plan.decision;
  account_.category = plan.category;
  account_.algorithm = plan.algorithm_that_ran();
  account_.selection_method = plan.selection_method;
  account_.learning.clear();  // of an earlier plan
  account_.learning_features.clear();
  if (plan.learning) {
    if (plan.learning->features) account_.learning_features = plan.learning->features->text();
    const auto add = [this](std::string_view method, const learning::Report::Step& step) {
      if (!step.action.empty()) account_.learning.push_back({method, step.action, step.reason});
    };
    add("adaptation", plan.learning->adaptation);
    add("protection", plan.learning->protection);
  }
  account_.confidence = plan.confidence;
  account_.reasoning = plan.reasoning;
  account_.memory = plugins::name_of(plan.memories.outcome);
  account_.compression = plugins::name_of(plan.context.outcome);
  account_.compression_saved = plan.context.saved();
  account_.response_path = routing::path_name(plan.path);
  account_.jailbreak = plan.guarded.jailbreak;
  account_.language_refused = !plan.guarded.unsupported_language.empty();
  account_.pii = plan.guarded.pii;
  account_.pii_types = plan.guarded.pii_types;
  if (plan.guarded.missing_identity) refuse_nameless();
  if (plan.guarded.forbidden) forbidden();
  account_.stream = stream;
  account_.matched.clear();  // an earlier plan may have been recorded
  for (const auto& matched : plan.matched)
    account_.matched.push_back({std::string(matched.type), matched.names});
  if (const auto capture = observer_.capture(decision)) {
    capture_ = *capture;
    account_.replay_id = "replay-" + observe::hex(observe::new_span_id());
    account_.body_age_max = capture_.age_max;
  }
}

void RequestRecord::failed(const Error& error, std::string_view detail) {
  account_.error = reason_of(error.code);
  account_.response_path = routing::kErrorPath;
  if (!detail.empty()) account_.detail = detail;
}

void RequestRecord::answered_here() {
  account_.response_path = routing::kOwnModelPath;
}

void RequestRecord::refuse_nameless() {
  account_.error = http::kMissingIdentity;
}

void RequestRecord::forbidden() {
  account_.error = "forbidden";
}

void RequestRecord::refused() {
  forbidden();
  account_.response_path = routing::path_name(routing::Plan::Path::kBlocked);
  account_.model.clear();
  model_ = nullptr;
}

void RequestRecord::over_budget() {
  account_.error = "budget_exceeded";
  account_.response_path = routing::kLimitedPath;
}

void RequestRecord::limited() {
  account_.error = routing::kLimitedPath;
  account_.response_path = routing::kLimitedPath;
}

void RequestRecord::cached(observe::CacheUse use, std::chrono::steady_clock::time_point began) {
  account_.cache = use;
  account_.cache_began = began;
  account_.cache_ended = std::chrono::steady_clock::now();
  if (use == observe::CacheUse::kHit || use == observe::CacheUse::kNear)
    account_.response_path = routing::kCachePath;
}

void RequestRecord::sent(std::string_view body) {
  const auto now = std::chrono::steady_clock::now();
  account_.upstream_span = observe::new_span_id();
  if (!account_.calls.empty()) return;  // the first call's are kept
  account_.sent = now;
  sent_bytes_ = body.size();
  append_cut(account_.request_body, body, capture_.request_bytes, account_.request_cut);
}

void RequestRecord::received(const config::Model& server, std::string_view backend, int status) {
  if (account_.detail.empty()) account_.detail = upstream::refused_key(server, backend, status);
}

size_t RequestRecord::call_began(const config::Model& model, std::string_view purpose) {
  observe::ModelCall call;
  call.model = model.name;
  call.purpose = purpose;
  call.span = account_.upstream_span;
  call.began = call.ended = std::chrono::steady_clock::now();
  account_.calls.push_back(std::move(call));
  return account_.calls.size() - 1;
}

double RequestRecord::call_ended(size_t call, int status, std::string_view error,
                                 const std::optional<observe::Tokens>& tokens,
                                 replies::ReplyOrigin origin) {
  observe::ModelCall& ended = account_.calls[call];
  ended.ended = std::chrono::steady_clock::now();
  ended.status = status;
  ended.error = error;
  ended.tokens = tokens;
  ended.origin = origin_of(std::move(origin));
  const config::Model* model = observer_.model(ended.model);
  if (tokens && model != nullptr) ended.cost = cost_of(*model, *tokens);
  add_up_calls();
  return ended.cost;
}

void RequestRecord::looped(const config::Model& model, std::optional<size_t> call, bool streams,
                           std::string_view used_up) {
  model_ = &model;
  account_.model = model.name;
  account_.response_path = routing::kLooperPath;
  account_.used_up = used_up;
  answer_ = call;
  answer_streams_ = streams;
  add_up_calls();
}

// The default model would have made one call, so only the answer counts for its cost.
void RequestRecord::add_up_calls() {
  account_.tokens.reset();
  account_.cost = 0;
  for (const observe::ModelCall& call : account_.calls) {
    if (!call.tokens) continue;
    if (!account_.tokens) account_.tokens.emplace();
    account_.tokens->prompt += call.tokens->prompt;
    account_.tokens->cached += call.tokens->cached;
    account_.tokens->completion += call.tokens->completion;
    account_.tokens->written += call.tokens->written;
    account_.tokens->reasoning += call.tokens->reasoning;
    account_.cost += call.cost;
  }
  const auto* answer = answer_ ? &account_.calls[*answer_] : nullptr;
  if (answer != nullptr && answer->tokens)
    account_.cost_on_default = cost_on_default(*answer->tokens);
}

std::string RequestRecord::traceparent(const std::array<uint8_t, 8>& span) const {
  return account_.trace.traceparent(span, sampled_);
}

observe::Shadow RequestRecord::begin_shadow(const std::string& arm,
                                            const config::Model& model) const {
  observe::Shadow out;
  out.arm = arm;
  out.model = model.name;
  out.decision = account_.decision;
  out.answered_by = account_.model;
  out.span = observe::new_span_id();
  if (model.pricing) out.currency = model.pricing->currency;
  out.tokens_of_answer = account_.tokens ? *account_.tokens : estimate();
  out.cost_of_answer = cost_of(*model_, out.tokens_of_answer);
  if (model_->pricing) out.currency_of_answer = model_->pricing->currency;
  const bool is_measured = whole_at_ != observe::TimePoint{};
  out.seconds_of_answer = observe::seconds_between(
      account_.sent, is_measured ? whole_at_ : std::chrono::steady_clock::now());
  out.replay_id = account_.replay_id;
  return out;
}

observe::Account RequestRecord::shadow_account() const {
  observe::Account out;
  out.id = account_.id;
  out.trace = account_.trace;
  out.path = account_.path;
  out.at = account_.at;
  out.began = account_.began;
  return out;
}

void RequestRecord::answers(size_t events) {
  answered_ = true;
  events_ = events;
}

observe::Tokens RequestRecord::estimate() const {
  constexpr uint64_t kBytes = 4;  // of an English token, roughly
  observe::Tokens out{.prompt = sent_bytes_ / kBytes};
  if (!draws_) out.completion = events_ != 0 ? events_ : reply_bytes_ / kBytes;
  return out;
}

uint64_t RequestRecord::tokens_taken() const {
  if (account_.tokens) return account_.tokens->prompt + account_.tokens->completion + estimated_;
  if (!account_.calls.empty()) return estimated_;
  if (!answered_) return 0;
  const observe::Tokens estimated = estimate();
  return estimated.prompt + estimated.completion;
}

void RequestRecord::passes(std::string_view bytes) {
  reply_bytes_ += bytes.size();
  append_cut(account_.response_body, bytes, capture_.response_bytes, account_.response_cut);
}

bool RequestRecord::is_doubtful() const {
  using replies::ReplyState;
  const auto is = [](std::string_view name, ReplyState state) { return name == name_of(state); };
  return is(account_.grounding, ReplyState::kFound) ||
         is(account_.response_jailbreak, ReplyState::kFound) ||
         is(account_.response_jailbreak, ReplyState::kUnchecked);
}

void RequestRecord::guarded(const replies::ReplyOutcome& outcome, bool whole) {
  account_.grounding = replies::name_of(outcome.grounding);
  account_.response_jailbreak = replies::name_of(outcome.jailbreak);
  account_.guard_s = outcome.seconds;
  withheld_ = outcome.ended && (whole || !reply_.started());
  if (!outcome.ended) return;
  // The headers of a stream were sent before its check, but its record names the refusal.
  account_.error = "response_blocked";
  account_.response_path = routing::path_name(routing::Plan::Path::kBlocked);
}

void RequestRecord::measured(const replies::ReplyMeter::Times& times) {
  whole_at_ = std::chrono::steady_clock::now();
  if (times.failed) {
    account_.error = reason_of(Code::kUpstream);
    account_.detail = "the server ended its stream with an error";
  }
  if (times.ttft_ms) account_.ttft_s = *times.ttft_ms / 1000;
  if (times.tpot_ms) account_.tpot_s = *times.tpot_ms / 1000;
  if (answer_) {
    if (!answer_streams_) return;
    call_ended(*answer_, 200, times.failed ? account_.error : "", tokens_of(times), times.origin);
    account_.calls[*answer_].ttft_s = account_.ttft_s;
    account_.calls[*answer_].tpot_s = account_.tpot_s;
    return;
  }
  account_.origin = origin_of(times.origin);
  account_.tokens = tokens_of(times);
  if (!account_.tokens || model_ == nullptr) return;
  account_.cost = cost_of(*model_, *account_.tokens);
  account_.cost_on_default = cost_on_default(*account_.tokens);
}

void RequestRecord::repeated(const replies::ReplyMeter::Times& times) {
  account_.repeated = tokens_of(times);
  if (account_.repeated) account_.cost_on_default = cost_on_default(*account_.repeated);
}

// Without a decision the default would have been the same model.
double RequestRecord::cost_on_default(const observe::Tokens& tokens) const {
  const config::Model* model = account_.decision.empty() ? model_ : observer_.default_model();
  return model == nullptr ? 0 : cost_of(*model, tokens);
}

}  // namespace signalbox::gateway
