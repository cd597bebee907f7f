// An automatic name is refused: only a decision would choose the model and mask the request, and no
// request leaves unmasked.

#include "router/gateway/count_tokens.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "router/config/access.h"
#include "router/dialects/anthropic.h"
#include "router/gateway/admit.h"
#include "router/gateway/own_replies.h"
#include "router/gateway/relay.h"
#include "router/routing/selection/pii_policy.h"
#include "router/splice/edit.h"
#include "router/upstream/dialect_headers.h"

namespace signalbox::gateway {
namespace {

constexpr std::string_view kCountPath = "/v1/messages/count_tokens";

bool is_decided_on(const config::Config& config, std::string_view name) {
  const auto has = [name](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  return has(config.auto_model_names) ||
         std::ranges::any_of(config.entrypoints,
                             [&](const config::Entrypoint& each) { return has(each.model_names); });
}

/// The model whose tokens are counted, and the body for its server.
struct Count {
  const config::Model* model = nullptr;
  std::string body = {};
};

Result<Count> read(std::string body, const config::Config& config) {
  SIGNALBOX_TRY(const json::Document document, json::Document::parse(std::move(body)));
  const json::Value root = document.root();
  if (!root.is_object())
    return fail(Code::kInvalid, "expected a JSON object, found {}", json::type_name(root.type()));
  if (root.count("model") > 1) return fail(Code::kInvalid, "model: there are two");
  const auto name = root.find("model");
  if (!name || !name->is_string()) return fail(Code::kInvalid, "model: expected a string");
  const std::string_view wanted = name->text();
  const std::string quoted = json::quote_briefly(wanted);
  if (is_decided_on(config, wanted)) {
    return fail(Code::kInvalid,
                "model: {} stands for several models: tokens are counted for one that is named",
                quoted);
  }
  Count out{.model = config.providers.find(wanted)};
  if (out.model == nullptr) return fail(Code::kNotFound, "model: unknown model {}", quoted);
  if (out.model->api_format != config::Model::ApiFormat::kAnthropic) {
    return fail(Code::kInvalid,
                "model: the servers of {} speak another API, which counts no tokens before a "
                "request is answered",
                quoted);
  }
  if (selection::restricts(*out.model)) {
    return fail(Code::kInvalid,
                "model: {} has a pii_policy: its servers see no request that nobody has looked at",
                quoted);
  }
  out.body = splice::apply(
      document.source(), {{name->begin(), name->end(), json::quote(out.model->provider_model_id)}});
  return out;
}

class CountTokens {
 public:
  explicit CountTokens(const GatewayContext& context) : context_(context) {}

  http::Task<> operator()(http::Exchange exchange) const {
    http::Request& request = exchange.request;
    RequestRecord record(context_.observer, request.headers, exchange.reply, api_.path());
    const RequestScope scope{context_, api_, exchange, record};
    const Result<Count> count = read(std::move(request.body), scope.config());
    if (!count) {
      co_await send_error(scope, count.error());
      co_return;
    }
    const http::Headers headers = undecided_headers(scope);
    limits::Requester requester = requester_of(scope.config().authz.identity, request.headers);
    if (config::refuses_stranger(scope.config(), requester.user, requester.groups)) {
      record.refuse_nameless();
      const std::string why = config::stranger_message(scope.config());
      http::Headers fields = headers;
      co_await http::send_refusal(exchange.reply, std::move(fields), 403, why,
                                  http::kMissingIdentity, api_.error_shape());
      co_return;
    }
    if (const auto why = find_forbidden(scope, {}, count->model->name)) {
      co_await send_forbidden(scope, *why);
      co_return;
    }
    auto limited = admit(scope, requester);
    if (!limited) limited = admit_to_model(scope, count->model->name, requester);
    if (limited) {
      co_await send_limited(scope, *limited, headers);
      co_return;
    }
    co_await forward(scope, *count);
  }

 private:
  /// Sends the request to the model's server and relays the reply as it is.
  http::Task<> forward(const RequestScope& scope, const Count& count) const {
    const http::Headers headers = upstream::for_anthropic(scope.headers());
    const http::Headers none;
    const std::string target = fmt::format("{}{}", kCountPath, scope.exchange.request.query());
    scope.record.sent(count.body);
    const std::string traceparent = scope.record.traceparent();
    const upstream::Call call{.target = target,
                              .headers = headers,
                              .added = none,
                              .request_id = scope.record.id(),
                              .body = count.body,
                              .interrupt = scope.exchange.interrupt,
                              .traceparent = traceparent,
                              .drops_tracestate = !scope.record.keeps_tracestate()};
    upstream::CallOutcome outcome = co_await context_.backends.call(*count.model, call);
    if (!outcome.answer) {
      co_await send_error(scope, outcome.answer.error());
      co_return;
    }
    http::Headers fields;
    fields.add("x-request-id", scope.record.id());
    const Result<void> relayed = co_await relay(**outcome.answer, scope.exchange.reply, fields);
    if (!relayed) scope.record.failed(relayed.error(), relayed.error().message);
  }

  static const dialects::Dialect& anthropic() {
    static const dialects::AnthropicDialect dialect;
    return dialect;
  }

  const GatewayContext context_;
  const ClientApi api_{kCountPath, &anthropic()};
};

}  // namespace

http::Route count_tokens_route(const GatewayContext& context) {
  return {"POST", std::string(kCountPath), CountTokens(context)};
}

}  // namespace signalbox::gateway
