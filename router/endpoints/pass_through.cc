// The stages are those of a chat without a decision: read, admit, check by guards, send, relay,
// record.

#include "router/endpoints/pass_through.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/json_writer.h"
#include "router/config/access.h"
#include "router/dialects/anthropic.h"
#include "router/endpoints/guards.h"
#include "router/endpoints/measured_reply.h"
#include "router/endpoints/multipart.h"
#include "router/endpoints/request_reading.h"
#include "router/endpoints/table.h"
#include "router/endpoints/task_run.h"
#include "router/gateway/admit.h"
#include "router/gateway/metered_reply.h"
#include "router/gateway/own_replies.h"
#include "router/gateway/read_request.h"
#include "router/gateway/relay.h"
#include "router/gateway/send.h"
#include "router/gateway/unmasked_reply.h"
#include "router/plugins/server_family.h"
#include "router/upstream/decoded_reply.h"
#include "router/upstream/dialect_headers.h"

namespace signalbox::endpoints {
namespace {

using gateway::GatewayContext;
using gateway::RequestScope;

constexpr std::string_view kFilesKey = "global.api.files_model";

/// The model whose server holds the files. It must be configured if clients have keys, because
/// files of all clients lie in one account there.
Result<const config::Model*> files_model(const config::Config& config) {
  const std::vector<config::Model>& models = config.providers.models;
  const std::string& name = config.apis.files_model;
  if (!name.empty()) return config.providers.find(name);
  if (config.access.requires_key()) {
    return fail(Code::kInvalid,
                "files and batches of all clients would share one account: set {} to the model "
                "whose server holds them",
                kFilesKey);
  }
  if (models.size() != 1) {
    return fail(Code::kInvalid,
                "there are {} models: set {} to the one whose server holds files and batches",
                models.size(), kFilesKey);
  }
  if (const auto why = config::why_no_files(models.front()); !why.empty())
    return fail(Code::kInvalid, "model {}: {}: set {} to another one", models.front().name, why,
                kFilesKey);
  return &models.front();
}

/// The setting by which the file states that a model's servers have the endpoint.
std::string_view setting_of(const Endpoint& endpoint) {
  if (endpoint.is_task()) return "api_format: systemone";
  if (!endpoint.chats) return "api_format: openai";
  return endpoint.is_of_anthropic() ? "api_format: anthropic" : "responses_api: true";
}

bool has_endpoint(const config::Model& model, const Endpoint& endpoint) {
  using Format = config::Model::ApiFormat;
  if (endpoint.chats) return plugins::speaks(model, *endpoint.chats);
  return model.api_format == (endpoint.is_task() ? Format::kSystemOne : Format::kOpenAi);
}

/// True if the file names the model, or the entrypoint, for requests of System One.
bool is_published(const config::Config& config, std::string_view name) {
  const std::vector<config::Listener>& all = config.listeners;
  return !all.empty() &&
         std::ranges::find(all.front().system_one, name) != all.front().system_one.end();
}

bool names_stages(const config::Config& config, const Endpoint& endpoint,
                  const RequestReading& reading) {
  return endpoint.is_task() && reading.model && is_published(config, *reading.model) &&
         stands_for_stages(config, *reading.model);
}

bool stands_for_several(const config::Config& config, std::string_view name) {
  const auto has = [name](const std::vector<std::string>& names) {
    return std::ranges::find(names, name) != names.end();
  };
  return has(config.auto_model_names) ||
         std::ranges::any_of(config.entrypoints, [&](const config::Entrypoint& each) {
           return each.api == config::Entrypoint::Api::kChat && has(each.model_names);
         });
}

Result<const config::Model*> named_model(const config::Config& config, const Endpoint& endpoint,
                                         const RequestReading& reading) {
  if (!reading.model)
    return fail(Code::kInvalid, "model: expected the name of a configured model, found none");
  const std::string quoted = json::quote_briefly(*reading.model);
  if (endpoint.is_task() && !is_published(config, *reading.model))
    return fail(Code::kNotFound, "model: {} is not one of listeners.systemone.models", quoted);
  const config::Model* model = config.providers.find(*reading.model);
  if (model == nullptr && stands_for_several(config, *reading.model)) {
    return fail(
        Code::kInvalid,
        "model: {} stands for several models, and decisions choose only for chats; name a model "
        "with {}",
        quoted, setting_of(endpoint));
  }
  if (model == nullptr) return fail(Code::kNotFound, "model: unknown model {}", quoted);
  if (!has_endpoint(*model, endpoint)) {
    return fail(Code::kInvalid,
                "model: the servers of {} have another API, without this path; name a model with "
                "{}",
                quoted, setting_of(endpoint));
  }
  return model;
}

/// A request on its way to the model's server.
struct Passage {
  const Endpoint& endpoint;
  const RequestReading& reading;
  const routing::Plan& plan;
  std::string_view body;  // for the server

  bool is_json() const { return !reading.is_form && !body.empty(); }
  bool is_masked() const { return !plan.masks.empty(); }
};

bool is_metered(const RequestScope& scope, const Endpoint& endpoint) {
  return scope.context.ledger != nullptr && endpoint.is_measured();
}

/// The client's headers as the server needs them.
http::Headers headers_for(const RequestScope& scope, const Passage& passage) {
  http::Headers out = scope.headers();
  if (passage.is_json() && !upstream::is_json(out)) out = upstream::as_json(out);
  if (is_metered(scope, passage.endpoint) || passage.is_masked())
    out = upstream::accepting_identity(out);
  if (passage.endpoint.is_of_anthropic()) out = upstream::for_anthropic(out);
  return out;
}

/// Sends the request to the model's server and relays the reply as it is.
http::Task<> forward(const RequestScope& scope, const Passage& passage) {
  const GatewayContext& context = scope.context;
  const config::Model& model = *passage.plan.model;
  const http::Request& request = scope.exchange.request;
  const http::Headers none, headers = headers_for(scope, passage);
  // Uploads are not a measure of tokens.
  const bool counts = passage.is_json() && passage.endpoint.is_measured();
  scope.record.sent(counts ? passage.body : std::string_view());
  const std::string traceparent = scope.record.traceparent();
  const bool is_get = passage.endpoint.method == "GET";
  const upstream::Call call{.target = request.target,
                            .headers = headers,
                            .added = none,
                            .request_id = scope.record.id(),
                            // A server might take the body of a GET for the next request.
                            .body = is_get ? std::string_view() : passage.body,
                            .interrupt = scope.exchange.interrupt,
                            .method = passage.endpoint.method,
                            .traceparent = traceparent,
                            .drops_tracestate = !scope.record.keeps_tracestate(),
                            .needs_reply = passage.is_masked(),
                            .repeatable = is_get || !passage.endpoint.has_files};
  http::Headers fields = gateway::decision_headers(scope, passage.plan);
  const observe::Meters::AtModel at_model(context.observer.meters(), model.name);
  const gateway::InFlight in_flight(context.stats, model.name);
  upstream::CallOutcome outcome = co_await context.backends.call(model, call);
  if (outcome.attempts > 1) fields.add("x-vsr-attempts", std::to_string(outcome.attempts));
  if (!outcome.answer) {
    co_await gateway::send_error(scope, outcome.answer.error(), fields);
    co_return;
  }
  std::unique_ptr<upstream::UpstreamReply> reply = *std::move(outcome.answer);
  scope.record.received(model, outcome.backend, reply->head().status);
  scope.record.answered_by(std::move(outcome.backend));
  if ((is_metered(scope, passage.endpoint) && context.backends.is_direct()) || passage.is_masked())
    reply = upstream::decoded(std::move(reply));
  if (passage.endpoint.is_measured())
    reply = std::make_unique<MeasuredReply>(std::move(reply), scope.record);
  if (passage.is_masked()) {
    auto restored = gateway::UnmaskedReply::wrap(std::move(reply), passage.plan.masks);
    if (!restored) {
      co_await gateway::send_error(scope, restored.error(), fields);
      co_return;
    }
    reply = *std::move(restored);
  }
  const Result<void> relayed = co_await gateway::relay(*reply, scope.exchange.reply, fields);
  if (!relayed) scope.record.failed(relayed.error(), relayed.error().message);
}

/// Reads the body, on the pool if it is large. Files and batches are not read.
http::Task<Result<RequestReading>> read(const RequestScope& scope, const Endpoint& endpoint) {
  http::Request& request = scope.exchange.request;
  Result<RequestReading> out;
  if (endpoint.has_files) {
    out->is_form = is_multipart(request.headers.find("content-type").value_or(""));
    co_return out;
  }
  out = fail(Code::kInternal, "the request was not read");
  std::function<void()> read = [&] { out = read_body(request); };
  const Result<void> ran =
      co_await gateway::run_by_size(scope, request.body.size(), std::move(read));
  if (!ran) co_return tl::unexpected<Error>(ran.error());
  co_return out;
}

http::Task<> send_no_such_path(http::Exchange exchange) {
  http::Headers fields;
  const std::string message = fmt::format("{}: there is no such path", exchange.request.path());
  co_await http::send_refusal(exchange.reply, std::move(fields), 404, message, {});
}

/// The body for the server; "" if it is the client's.
http::Task<Result<std::string>> body_for_server(const RequestScope& scope, const Endpoint& endpoint,
                                                const RequestReading& reading,
                                                const routing::Plan& plan) {
  const std::string& body = scope.exchange.request.body;
  const std::string& name = plan.model->provider_model_id;
  const bool is_masked = !plan.masks.empty();
  std::string out = is_masked ? plan.body : std::string();
  if (!is_masked && reading.model && *reading.model != name) out = with_model(body, reading, name);
  if (!endpoint.chats) co_return out;
  std::string changed;
  std::function<void()> change = [&] {
    changed = gateway::without_own_parts(*endpoint.chats, out.empty() ? body : out);
  };
  const Result<void> ran = co_await gateway::run_by_size(scope, body.size(), std::move(change));
  if (!ran) co_return tl::unexpected<Error>(ran.error());
  co_return changed.empty() ? std::move(out) : std::move(changed);
}

class PassThrough {
 public:
  PassThrough(const GatewayContext& context, const OwnModels& own, std::string_view path)
      : context_(context), state_(own.state), pool_(own.pool) {
    const auto found = own.handlers.find(path);
    if (found != own.handlers.end()) own_ = found->second;
  }

  http::Task<> operator()(http::Exchange exchange) const {
    const Endpoint* endpoint = find(exchange.request.method, exchange.request.path());
    if (endpoint == nullptr) {
      co_await send_no_such_path(exchange);
      co_return;
    }
    static const dialects::AnthropicDialect anthropic;
    const gateway::ClientApi api(endpoint->path,
                                 endpoint->is_of_anthropic() ? &anthropic : nullptr);
    gateway::RequestRecord record(context_.observer, exchange.request, exchange.reply,
                                  endpoint->path);
    RequestScope scope{context_, api, exchange, record};
    co_await handle(scope, *endpoint);
  }

 private:
  http::Task<> handle(RequestScope& scope, const Endpoint& endpoint) const {
    // --- read ---
    const auto encoding = gateway::unsupported_encoding(scope.headers());
    if (encoding && !endpoint.has_files) {
      co_await gateway::send_unsupported_encoding(scope, *encoding);
      co_return;
    }
    const Result<RequestReading> reading = co_await read(scope, endpoint);
    const config::Config& config = scope.config();
    const Result<const config::Model*> model = !reading ? tl::unexpected<Error>(reading.error())
                                               : endpoint.has_files
                                                   ? files_model(config)
                                                   : named_model(config, endpoint, *reading);

    // --- admit ---
    limits::Requester requester = gateway::requester_of(config.authz.identity, scope.headers());
    if (reading && names_stages(config, endpoint, *reading)) {
      co_await answer_task(scope, *reading, requester);
      co_return;
    }
    const bool is_ours =
        own_ && (!reading || !reading->model || config.providers.find(*reading->model) == nullptr);
    if (!model && !is_ours) {
      co_await gateway::send_error(scope, model.error());
      co_return;
    }
    const bool refused = co_await refuse(scope, {}, model ? *model : nullptr, requester);
    if (refused) co_return;
    if (!model) {
      scope.record.answered_here();
      http::Headers fields =
          gateway::with_path(gateway::undecided_headers(scope), routing::kOwnModelPath);
      co_await admin::send_answer(scope.exchange, std::move(fields), state_, pool_, own_);
      co_return;
    }

    // --- check, send, relay ---
    const std::optional<routing::Plan> plan =
        co_await pass_guards(scope, endpoint, *reading, **model);
    if (!plan) co_return;
    const Result<std::string> changed = co_await body_for_server(scope, endpoint, *reading, *plan);
    if (!changed) {
      co_await gateway::send_error(scope, changed.error());
      co_return;
    }
    const Passage passage{
        endpoint, *reading, *plan,
        changed->empty() ? std::string_view(scope.exchange.request.body) : *changed};
    co_await forward(scope, passage);
    gateway::charge(scope, requester);
  }

  const GatewayContext context_;
  const serving::ServingState& state_;
  http::ThreadPool& pool_;
  admin::ClientHandler own_ = nullptr;
};

}  // namespace

std::vector<http::Route> pass_through_routes(const GatewayContext& context, const OwnModels& own) {
  std::vector<http::Route> out;
  std::set<std::pair<std::string_view, std::string_view>> known;
  const bool has_responses = own.state.config().response_api.enabled;
  for (const Endpoint& endpoint : table()) {
    if (endpoint.chats == request::Api::kResponses && !has_responses) continue;
    const std::string_view path = endpoint.path.substr(0, endpoint.path.find("{id}"));
    if (!known.emplace(endpoint.method, path).second) continue;
    out.push_back(
        {std::string(endpoint.method), std::string(path), PassThrough(context, own, path)});
  }
  return out;
}

}  // namespace signalbox::endpoints
