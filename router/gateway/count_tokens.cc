// A name that stands for a decision is refused, too: which model would answer, and with what put in
// or masked, is known once the request has been decided on, and nothing of it goes out unmasked.

#include "router/gateway/count_tokens.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "router/config/access.h"
#include "router/dialects/anthropic.h"
#include "router/gateway/dialect_headers.h"
#include "router/gateway/relay.h"
#include "router/routing/selection/pii_policy.h"
#include "router/splice/edit.h"

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

/// Whose tokens are counted, and the body for its server.
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

const http::ErrorShape kShape = [](int status, std::string_view body) {
  return dialects::AnthropicDialect().refusal(status, body);
};

class CountTokens {
 public:
  explicit CountTokens(const GatewayContext& services) : services_(services) {}

  http::Task<> operator()(http::Exchange exchange) const {
    http::Request& request = exchange.request;
    RequestRecord watch(services_.observer, request.headers, exchange.reply, kCountPath);
    http::Headers told;
    told.add("x-request-id", watch.id());
    const Result<Count> count = read(std::move(request.body), services_.router.config());
    if (!count) {
      co_await refuse(exchange, std::move(told), count.error(), watch);
      co_return;
    }
    const config::Config& config = services_.router.config();
    const limits::Requester asker =
        requester_of(config.authz.identity, request.headers, count->model->name);
    if (config::refuses_stranger(config, asker.user, asker.groups)) {
      watch.nameless();
      add_headers(routing::error_headers(), told);
      const std::string why = config::stranger_message(config);
      co_await http::send_refusal(exchange.reply, std::move(told), 403, why, http::kMissingIdentity,
                                  &kShape);
      co_return;
    }
    const auto limited =
        services_.limiter.admit(config.ratelimit, asker, std::chrono::steady_clock::now());
    if (limited) {
      watch.limited();
      add_headers(routing::error_headers(), told);
      told.add("Retry-After", std::to_string(limited->retry.count()));
      co_await http::send_refusal(exchange.reply, std::move(told), 429, limited->message,
                                  routing::kLimitedPath, &kShape);
      co_return;
    }
    const http::Headers headers = for_anthropic(request.headers);
    const http::Headers none;
    const std::string target = fmt::format("{}{}", kCountPath, request.query());
    watch.sent(count->body);
    const std::string traceparent = watch.traceparent();
    const upstream::Call call{.target = target,
                              .headers = headers,
                              .added = none,
                              .request_id = watch.id(),
                              .body = count->body,
                              .interrupt = exchange.interrupt,
                              .traceparent = traceparent,
                              .drops_tracestate = !watch.keeps_tracestate()};
    upstream::CallOutcome outcome = co_await services_.backends.call(*count->model, call);
    if (!outcome.answer) {
      co_await refuse(exchange, std::move(told), outcome.answer.error(), watch);
      co_return;
    }
    const Result<void> relayed = co_await relay(**outcome.answer, exchange.reply, told);
    if (!relayed) watch.failed(relayed.error(), relayed.error().message);
  }

 private:
  static http::Task<> refuse(http::Exchange exchange, http::Headers told, const Error& error,
                             RequestRecord& watch) {
    watch.failed(error);
    if (error.code == Code::kCancelled) {
      exchange.reply.abandon();
      co_return;
    }
    add_headers(routing::error_headers(), told);
    co_await http::send_error(exchange.reply, std::move(told), error, &kShape);
  }

  const GatewayContext services_;
};

}  // namespace

Route count_tokens_route(const GatewayContext& services) {
  return {"POST", std::string(kCountPath), CountTokens(services)};
}

}  // namespace signalbox::gateway
