// The texts become a chat with one message of the user, which takes the stages of a chat up to its
// plan. The chat itself is never sent.

#include "router/endpoints/guards.h"

#include <functional>
#include <utility>

#include "base/json_writer.h"
#include "router/config/access.h"
#include "router/gateway/admit.h"
#include "router/gateway/own_replies.h"
#include "router/gateway/plan_request.h"
#include "router/gateway/read_request.h"
#include "router/gateway/understand.h"
#include "router/routing/selection/pii_policy.h"

namespace signalbox::endpoints {
namespace {

using gateway::ParsedRequest;
using gateway::RequestScope;

constexpr int kBlockedStatus = 403;
constexpr std::string_view kBlockedCode = "content_policy_violation";  // OpenAI's, for images

/// The plan of a request that no guard reads.
routing::Plan plan_for(const RequestScope& scope, const config::Model& model) {
  routing::Plan plan;
  plan.model = &model;
  plan.bypassed = true;
  scope.record.planned(plan, nullptr, false);
  return plan;
}

/// A request of another API can be masked in its own form.
void add_native(const RequestScope& scope, const Endpoint& endpoint, request::ChatRequest& chat) {
  Result<json::Document> body = json::Document::parse(scope.exchange.request.body);
  if (!body) return;
  chat.native.emplace(
      request::NativeRequest{*endpoint.chats, *std::move(body), endpoint.generates});
}

}  // namespace

http::Task<bool> refuse(RequestScope& scope, std::string_view recipe, const config::Model* model,
                        limits::Requester& requester) {
  if (config::refuses_stranger(scope.config(), requester.user, requester.groups)) {
    co_await gateway::send_nameless(scope);
    co_return true;
  }
  const bool is_own = model == nullptr && recipe.empty();
  const std::string_view name = model == nullptr ? std::string_view() : model->name;
  if (const auto why = is_own ? std::nullopt : gateway::find_forbidden(scope, recipe, name)) {
    co_await gateway::send_forbidden(scope, *why);
    co_return true;
  }
  // The router's own models cost nothing.
  const std::optional<spending::Finding> budget =
      is_own ? std::nullopt : gateway::admit_to_spend(scope, requester);
  if (budget && budget->action == spending::Finding::Action::kRefuse) {
    co_await gateway::send_over_budget(scope, *budget);
    co_return true;
  }
  auto limited = gateway::admit(scope, requester);
  if (!limited && model != nullptr)
    limited = gateway::admit_to_model(scope, model->name, requester);
  if (!limited) co_return false;
  const http::Headers headers = gateway::undecided_headers(scope);
  co_await gateway::send_limited(scope, *limited, headers);
  co_return true;
}

std::string chat_of(std::string_view model, std::string_view texts) {
  json::Writer out;
  out.begin_object().member("model", model).key("messages").begin_array();
  out.begin_object().member("role", "user").member("content", texts).end_object();
  return out.end_array().end_object().take();
}

Error unread(const config::Model& model) {
  return {Code::kInvalid,
          fmt::format("model: {} has a pii_policy: its servers get only requests "
                      "that the router reads: no files, images, token ids, queries or counts",
                      json::quote_briefly(model.name))};
}

http::Task<Result<routing::Plan>> judge(RequestScope& scope, const ParsedRequest& chat,
                                        routing::Evaluation& evaluation) {
  const size_t bytes = chat.chat.document.source().size();
  const Result<gateway::Understanding> understanding =
      co_await gateway::understand(scope, chat, evaluation);
  if (!understanding) co_return tl::unexpected<Error>(understanding.error());
  Result<routing::Plan> plan = fail(Code::kInternal, "the request was not planned");
  std::function<void()> make_plan = [&] {
    plan = gateway::plan_request(scope, chat, evaluation, *understanding);
  };
  const Result<void> ran = co_await gateway::run_by_size(scope, bytes, std::move(make_plan));
  if (!ran) co_return tl::unexpected<Error>(ran.error());
  co_return plan;
}

http::Task<> send_unplanned(const RequestScope& scope, const Error& error) {
  const bool is_late = error.code == Code::kDeadline && !scope.exchange.interrupt.raised();
  auto sent = is_late ? gateway::send_unjudged(scope, error) : gateway::send_error(scope, error);
  co_await std::move(sent);
}

http::Task<> send_blocked(const RequestScope& scope, const ParsedRequest& chat,
                          routing::Plan plan) {
  using Path = routing::Plan::Path;
  if (plan.path == Path::kBlocked || plan.path == Path::kUnable) {
    co_await gateway::send_planned(scope, chat, plan);
    co_return;
  }
  // The answer of a decision is neither an image nor a sound.
  std::string_view why =
      "a decision sends the request to another model, which is possible for chats only";
  if (!plan.masks.empty())
    why = "the request would have to be masked, which is possible for chats only";
  if (plan.path == routing::Plan::Path::kFastResponse) {
    why = plan.message;
  } else {
    scope.record.refused();
    plan.path = routing::Plan::Path::kBlocked;
    plan.model = nullptr;
  }
  http::Headers fields = gateway::decision_headers(scope, plan);
  co_await http::send_refusal(scope.exchange.reply, std::move(fields), kBlockedStatus, why,
                              kBlockedCode, scope.api.error_shape());
}

http::Task<std::optional<routing::Plan>> pass_guards(RequestScope& scope, const Endpoint& endpoint,
                                                     const RequestReading& reading,
                                                     const config::Model& model) {
  const bool restricts = selection::restricts(model);
  if (restricts && (!endpoint.is_measured() || reading.is_unreadable)) {
    co_await gateway::send_error(scope, unread(model));
    co_return std::nullopt;
  }
  std::string read;
  const bool masks = endpoint.counts && scope.context.router.masks_named_models();
  if (restricts || endpoint.generates || masks) read = reading.texts;
  if (restricts || masks) read += reading.others;
  if (read.empty()) co_return plan_for(scope, model);
  auto parsed = request::ChatRequest::parse(chat_of(model.name, read));
  if (!parsed) {
    co_await gateway::send_error(scope, parsed.error());
    co_return std::nullopt;
  }
  ParsedRequest chat{*std::move(parsed), nullptr};
  if (endpoint.chats) {
    std::function<void()> parse = [&] { add_native(scope, endpoint, chat.chat); };
    const auto ran =
        co_await gateway::run_by_size(scope, scope.exchange.request.body.size(), std::move(parse));
    if (!ran) {
      co_await gateway::send_error(scope, ran.error());
      co_return std::nullopt;
    }
  }
  routing::Evaluation evaluation = scope.context.router.evaluate(
      chat.chat, [&scope](std::string_view name) { return scope.headers().find(name); });
  Result<routing::Plan> plan = co_await judge(scope, chat, evaluation);
  if (!plan) {
    co_await send_unplanned(scope, plan.error());
    co_return std::nullopt;
  }
  const bool is_sent = plan->path == routing::Plan::Path::kUpstream && plan->model == &model;
  if (is_sent && (plan->masks.empty() || plan->native)) co_return *std::move(plan);
  co_await send_blocked(scope, chat, *std::move(plan));
  co_return std::nullopt;
}

}  // namespace signalbox::endpoints
