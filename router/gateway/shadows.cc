// A request is drawn before it is sent, because its reply must be copied from the first byte on. It
// is planned for the other models after the last byte, so that no client waits for that.

#include "router/gateway/shadows.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/ascii.h"
#include "router/gateway/native_call.h"
#include "router/gateway/relay.h"
#include "router/looper/call_body.h"
#include "router/plugins/server_family.h"

namespace signalbox::gateway {
namespace {

constexpr std::string_view kOverLimit = "over_limit", kTooLarge = "too_large",
                           kOtherApi = "other_api", kNotAllowed = "not_allowed",
                           kSameModel = "same_model";

// Neither the client nor a decision chose a shadow's server. It gets no credentials and no fields
// that may be for another server only.
http::Headers for_shadow(const http::Headers& headers) {
  constexpr std::string_view kPassed[] = {"accept",     "content-type",      "user-agent",
                                          "tracestate", "anthropic-version", "anthropic-beta"};
  http::Headers out;
  for (size_t i = 0; i < headers.size(); ++i) {
    const auto is_it = [&](std::string_view name) { return ascii::iequals(name, headers[i].name); };
    if (std::ranges::any_of(kPassed, is_it)) out.add(headers, i);
  }
  return out;
}

bool is_drawn(double share) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return share >= 1 || std::uniform_real_distribution<double>(0, 1)(random) < share;
}

Result<std::string> write_chat_call(std::string body, const config::Model& model) {
  looper::Call whole;
  whole.model = model.name;
  whole.is_stored = false;
  return looper::write_call(std::move(body), whole, false, plugins::token_limit_of(model));
}

}  // namespace

RequestShadows::~RequestShadows() {
  if (!dispatch_.calls.empty()) context_.shadows->all.start(std::move(dispatch_));
}

void RequestShadows::leave_out(const routing::Plan& plan, std::string_view why) const {
  for (const auto& arm : plan.shadow->arms)
    context_.observer.shadow_left_out(plan.decision, arm.model, why);
}

bool RequestShadows::begin(const RequestScope& scope, const routing::Plan& plan,
                           const ServerRequest& server) {
  if (context_.shadows == nullptr || plan.shadow == nullptr) return false;
  if (!is_drawn_) is_drawn_ = is_drawn(plan.shadow->sample_rate);
  if (!*is_drawn_) return false;
  const config::ShadowDispatchPlugin& plugin = *plan.shadow;
  std::string_view why;
  api_ = plan.native ? scope.api.native() : std::nullopt;
  if (!server.is_chat && !plan.native) {
    why = kOtherApi;
  } else if (plan.body.size() > plugin.limits.max_request_bytes) {
    why = kTooLarge;
  } else {
    // A model that did not answer has left its place.
    if (place_ == nullptr) place_ = context_.shadows->all.admit(plugin);
    if (place_ == nullptr) why = kOverLimit;
  }
  if (!why.empty()) {
    place_.reset();
    is_drawn_ = false;
    leave_out(plan, why);
  }
  bytes_max_ = shadow::reply_bytes_max(plugin);
  return place_ != nullptr;
}

std::unique_ptr<upstream::UpstreamReply> RequestShadows::copy(
    std::unique_ptr<upstream::UpstreamReply> reply) {
  const http::Response& head = reply->head();
  if (place_ == nullptr || head.status != 200 || head.headers.find("content-encoding"))
    return reply;
  copy_ = std::make_shared<upstream::ReplyCopy>();
  copy_->bytes_max = bytes_max_;
  copy_->is_stream = is_event_stream(head.headers);
  return std::make_unique<upstream::CopiedReply>(std::move(reply), copy_);
}

http::Task<> RequestShadows::plan(const RequestScope& scope, const ParsedRequest& request,
                                  const routing::Evaluation& evaluation,
                                  const routing::Plan& plan) {
  if (place_ == nullptr || copy_ == nullptr || !copy_->is_whole || scope.record.has_failed())
    co_return;
  if (copy_->is_cut) {
    leave_out(plan, kTooLarge);
    co_return;
  }
  std::function<void()> work = [&] { plan_calls(scope, request, evaluation, plan); };
  const auto ran = co_await run_by_size(scope, plan.body.size(), std::move(work));
  if (!ran) leave_out(plan, kOverLimit);
}

Result<shadow::Call> RequestShadows::plan_call(const RequestScope& scope,
                                               const ParsedRequest& request,
                                               const routing::Evaluation& evaluation,
                                               const config::ShadowDispatchPlugin::Arm& arm,
                                               bool may_be_native) const {
  routing::RuntimeConditions conditions;
  conditions.voice = arm.model;
  conditions.keeps_api = may_be_native;
  if (scope.key() != nullptr) conditions.allowed = scope.key()->models;
  SIGNALBOX_TRY(routing::Plan plan, evaluation.plan(conditions));
  if (plan.path != routing::Plan::Path::kUpstream) return fail(Code::kInvalid, "{}", plan.message);
  const std::optional<request::Api> api = plan.native ? scope.api.native() : std::nullopt;
  SIGNALBOX_TRY(plan.body, api ? write_native_call(std::move(plan.body), *api, false, false)
                               : write_chat_call(std::move(plan.body), *plan.model));
  SIGNALBOX_TRY(ServerRequest server, make_server_request(scope, request, plan));
  if (!server.is_chat && !api) return fail(Code::kUnsupported, "the answer would not be a chat");
  shadow::Call out;
  plugins::UpstreamHeaders headers = headers_for_server(scope, plan, server);
  out.arm = &arm;
  out.model = plan.model;
  out.target = std::move(server.target);
  out.body = server.body.empty() ? std::move(plan.body) : std::move(server.body);
  out.request_id = scope.record.id();
  out.headers = for_shadow(headers.client);
  out.added = std::move(headers.added);
  out.drops_tracestate = !scope.record.keeps_tracestate();
  out.from_server = std::move(server.from_server);
  out.api = api;
  return out;
}

void RequestShadows::plan_calls(const RequestScope& scope, const ParsedRequest& request,
                                const routing::Evaluation& evaluation, const routing::Plan& plan) {
  const config::ShadowDispatchPlugin& plugin = *plan.shadow;
  const auto& native = request.chat.native;
  const bool is_bound = native && request::is_bound_to_server(native->document.root());
  if (plan.native && is_bound) return leave_out(plan, kOtherApi);
  for (const auto& arm : plugin.arms) {
    const auto leave = [&](std::string_view why) {
      context_.observer.shadow_left_out(plan.decision, arm.model, why);
    };
    if (arm.model == plan.model->name) {
      leave(kSameModel);
      continue;
    }
    Result<shadow::Call> call = plan_call(scope, request, evaluation, arm, !is_bound);
    if (!call) {
      leave(kNotAllowed);
      continue;
    }
    call->figures = scope.record.begin_shadow(arm.name, *call->model);
    call->traceparent = scope.record.traceparent(call->figures.span);
    call->recorded_bytes = scope.record.recorded_reply_bytes();
    dispatch_.calls.push_back(*std::move(call));
  }
  if (dispatch_.calls.empty()) return;
  dispatch_.held = context_.shadows->hold();
  dispatch_.place = std::move(place_);
  dispatch_.plugin = &plugin;
  dispatch_.servers = &context_.backends;
  dispatch_.comparer = context_.shadows->comparer.get();
  dispatch_.reply = {std::move(copy_->bytes), copy_->is_stream, api_};
  dispatch_.leave_out = [&observer = context_.observer](const observe::Shadow& of,
                                                        std::string_view why) {
    observer.shadow_left_out(of.decision, of.model, why);
  };
  dispatch_.publish = [&observer = context_.observer, account = scope.record.shadow_account(),
                       sampled = scope.record.is_sampled()](observe::Shadow figures) {
    observe::Account out = account;
    out.shadow = std::move(figures);
    observer.publish_shadow(std::move(out), sampled);
  };
}

}  // namespace signalbox::gateway
