// Runs two servers. The management listener has a loop of its own, so that /health answers while
// models load and while the loops of the data plane are busy. A ServingState holds everything that
// a configuration makes, and a reload replaces it; the members here live as long as the process.

#include "router/daemon/serve.h"

#include <atomic>
#include <future>
#include <map>
#include <thread>
#include <tuple>

#include "router/access/gate.h"
#include "router/access/hosts.h"
#include "router/admin/cache_admin.h"
#include "router/admin/classify.h"
#include "router/admin/config.h"
#include "router/admin/context_routes.h"
#include "router/admin/costs.h"
#include "router/admin/dashboard_routes.h"
#include "router/admin/embeddings.h"
#include "router/admin/eval.h"
#include "router/admin/explain.h"
#include "router/admin/health.h"
#include "router/admin/info.h"
#include "router/admin/keys.h"
#include "router/admin/metrics.h"
#include "router/admin/openapi.h"
#include "router/admin/replay.h"
#include "router/admin/rerank.h"
#include "router/daemon/check.h"
#include "router/daemon/dashboard_address.h"
#include "router/daemon/documents.h"
#include "router/daemon/listeners.h"
#include "router/daemon/stores.h"
#include "router/dialects/anthropic.h"
#include "router/dialects/completions.h"
#include "router/dialects/responses.h"
#include "router/endpoints/routes.h"
#include "router/endpoints/table.h"
#include "router/extproc/server.h"
#include "router/gateway/pipeline.h"
#include "router/http/error_reply.h"
#include "router/http/routes.h"
#include "router/http/server.h"
#include "router/http/thread_pool.h"
#include "router/kubernetes/controller.h"
#include "router/memory_api/memory_routes.h"
#include "router/own_routes/missing_paths.h"
#include "router/own_routes/models.h"
#include "router/own_routes/responses.h"
#include "router/serving/reloader.h"
#include "router/shared_counts/shared_counts.h"
#include "router/shared_learning/redis_learning.h"
#include "router/shared_responses/shared_responses.h"
#include "router/spending/prices.h"
#include "router/vector_store_api/vector_store_routes.h"

namespace signalbox::daemon {
namespace {

constexpr std::string_view kExtProc = "ext_proc";
/// One thread may build a configuration while the other answers.
constexpr uint32_t kAdminThreads = 2;
constexpr uint32_t kAdminQueueMax = 64;
constexpr uint32_t kStorageThreads = 8;
constexpr uint32_t kDetectionThreads = 16;

http::ErrorBody error_body() {
  return [](int status, std::string_view message) { return http::error_body(status, message); };
}

memories::MemoryLimits limits_of(const config::Config& config) {
  const config::MemoryStore& store = config.memory;
  return {.of_user = store.quality_scoring.max_memories_per_user,
          .total = store.max_memories,
          .bytes = store.bytes_max,
          .strength_days = static_cast<double>(store.quality_scoring.initial_strength_days),
          .retention_min = store.quality_scoring.prune_threshold,
          .keeps_words = config::finds_memories_by_words(config)};
}

config::HttpLimits one_thread(config::HttpLimits limits) {
  limits.threads = 1;
  return limits;
}

}  // namespace

/// The members are in the order of their construction. They are destroyed in reverse order, after
/// the loops have stopped.
struct Daemon::Impl {
  Result<void> start(config::Config config, models::OpenModels open, Origin origin);
  Result<void> listen(http::Server& server, const config::Listener& listener,
                      std::string_view section, http::Handler handler);
  Result<std::unique_ptr<serving::ServingState>> make_state(config::Config config,
                                                            std::string text) const;
  Result<void> add_shadows(serving::ServingState& state) const;
  gateway::GatewayContext context_of(
      const serving::ServingState& state, const upstream::ModelCaller& caller,
      std::chrono::milliseconds follow_max = gateway::kFollowMax) const;
  std::vector<http::Route> model_calls(const serving::ServingState& state,
                                       const gateway::GatewayContext& context) const;
  extproc::SessionHost make_session_host(const http::Request& request,
                                         const upstream::ModelCaller& caller) const;
  Result<void> listen_for_envoy(const config::Config& config);
  http::Handler management_handler(const config::ManagementApi& initial);
  Result<void> listen_for_operators(const config::Config& config);
  Result<void> share_counts(const config::Config& config);
  spending::Ledger* ledger_of(const config::Config& config) const {
    return config.spending ? ledger.get() : nullptr;
  }
  Result<void> follow_kubernetes(const config::Config& config);

  models::OpenModels open;
  std::atomic<admin::Stage> stage{admin::Stage::kStarting};
  mutable selection::RuntimeStats stats;
  mutable upstream::Fleet fleet;
  mutable observe::Metrics metrics;
  observe::History history{metrics};
  std::unique_ptr<observe::Replay> replay;                           // records of requests
  shared_replay::SharedReplay* shared_replay = nullptr;              // null: routers share none
  mutable learning::Memory memory;                                   // conversations and outcomes
  std::unique_ptr<shared_learning::SharedLearning> shared_learning;  // null: routers share none
  std::unique_ptr<memories::Memories> memories;                // of users, for the plugin memory
  shared_memories::SharedMemories* shared_memories = nullptr;  // null: routers share none
  // Files and vector stores; null: the first configuration did not enable them.
  std::unique_ptr<vector_stores::VectorStores> documents;
  mutable gateway::AnswerCache cache;        // cached replies
  mutable gateway::Contexts contexts;        // contexts that requests refer to
  mutable shadow::Shadows shadows;           // further calls for requests that were answered
  mutable limits::RateLimiter limiter;       // the users' rate limits
  std::unique_ptr<spending::Ledger> ledger;  // null: the first configuration did not enable it
  std::unique_ptr<shared_counts::SharedCounts> counts;  // null: each router counts for itself
  mutable limits::RateLimiter failures;                 // requests with wrong keys, by address
  mutable audit::Log audit;
  mutable access::KeyHistory key_history{audit};
  access::GateShared gates{metrics, failures, audit};
  mutable tokens::KeySources token_keys;
  mutable dialects::ResponseStore responses{{}};  // stored responses that clients continue from
  std::unique_ptr<shared_responses::Sharing> shared_responses;  // null: routers share none
  std::unique_ptr<flow_states::FlowStates> flow_states;         // of workflows that wait for tools
  const dialects::AnthropicDialect messages_dialect{};
  const dialects::CompletionsDialect completions_dialect{};
  const dialects::ResponsesDialect responses_dialect{responses};
  serving::CurrentState current;
  const admin::Scrape scrape{metrics,
                             [this]() -> observe::Replay& { return *replay; },
                             cache,
                             contexts,
                             fleet,
                             current,
                             [this] { return active_reloader.load(); },
                             [this] { return serving.load(); },
                             [this] { return active_counts.load(); },
                             [this] { return active_ledger.load(); },
                             [this] { return shared_learning.get(); },
                             responses,
                             [this]() -> const memories::Memories& { return *memories; },
                             [this] { return active_documents.load(); },
                             [this]() -> const http::ThreadPool& { return *compute; }};
  mutable observe::MetricExporter metric_exporter{
      [this] { return scrape.collect(); },
      {metrics.metric_exports, metrics.metric_export_retries, metrics.metric_points_rejected}};
  std::unique_ptr<http::Server> management;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<extproc::Server> envoy;  // null: not configured
  // The queues of these pools may hold coroutines of the servers' loops.
  // For the management listener, because building a configuration takes seconds
  std::unique_ptr<http::ThreadPool> admin;
  // For the classification API, so that chat requests do not wait for it
  std::unique_ptr<http::ThreadPool> classification;
  // For contexts, so that evaluations do not wait for their servers
  std::unique_ptr<http::ThreadPool> storage;
  // For servers that check replies, so that no evaluation waits for a slow one
  std::unique_ptr<http::ThreadPool> detection;
  std::unique_ptr<http::ThreadPool> compute;    // evaluates requests
  std::unique_ptr<http::ThreadPool> reading;    // for large bodies, so that no loop waits for them
  std::unique_ptr<serving::Reloader> reloader;  // null: no file
  std::unique_ptr<kubernetes::Controller> controller;  // null: the file contains the routes
  std::atomic<serving::Reloader*> active_reloader{nullptr};
  std::atomic<const http::Server*> serving{nullptr};
  std::atomic<const shared_counts::SharedCounts*> active_counts{nullptr};
  std::atomic<spending::Ledger*> active_ledger{nullptr};
  std::atomic<vector_stores::VectorStores*> active_documents{nullptr};
  std::filesystem::path file;  // "": none
  std::map<std::string, uint16_t, std::less<>> ports;
  std::vector<std::string> listening;
  std::vector<std::string> notices;
};

// `section` of the configuration has the listener's keys.
Result<void> Daemon::Impl::listen(http::Server& to, const config::Listener& listener,
                                  std::string_view section, http::Handler handler) {
  Result<uint16_t> bound = to.listen(listener, std::move(handler));
  if (!bound) return fail_in(section, std::move(bound).error());
  const uint16_t port = *bound;
  ports[listener.name] = port;
  listening.push_back(fmt::format("{} {}:{}", listener.name, listener.address, port));
  return {};
}

Result<std::unique_ptr<serving::ServingState>> Daemon::Impl::make_state(config::Config config,
                                                                        std::string text) const {
  SIGNALBOX_TRY(models::Models models, open(config));
  std::vector<std::string> notices_of_prices = spending::add_prices(config);
  SIGNALBOX_TRY(auto router, routing::Router::create(std::move(config), std::move(models),
                                                     {memories.get(), documents.get()}));
  SIGNALBOX_TRY(auto clients, access::Clients::create(router->config(), token_keys, key_history));
  auto state = std::make_unique<serving::ServingState>(std::move(router), std::move(text), fleet,
                                                       std::move(clients), file, audit);
  SIGNALBOX_TRY(state->guards,
                replies::ReplyGuards::create(state->config(), state->router->models()));
  state->notices = std::move(notices_of_prices);
  for (std::string& notice : notices_of(state->config()))
    state->notices.push_back(std::move(notice));
  SIGNALBOX_TRY_VOID(add_shadows(*state));
  SIGNALBOX_TRY(state->observer,
                gateway::Observer::create(*state->router, metrics, *replay,
                                          ledger_of(state->config()), &audit, &metric_exporter));
  for (const auto* notices_of :
       {&state->backends.notices(), &state->access.notices(), &state->router->notices(),
        &state->guards->notices(), &state->observer->notices()}) {
    state->notices.insert(state->notices.end(), notices_of->begin(), notices_of->end());
  }
  if (auto notice = cache.configure(state->config().response_cache))
    state->notices.push_back(*std::move(notice));
  contexts.configure(state->config().contexts);
  memories->set_limits(limits_of(state->config()));
  if (counts) counts->configure(state->config());
  if (const auto& spending = state->config().spending; ledger && spending && ledger->is_common())
    ledger->compare(spending->budgets);
  memory.conversations.set_lifetime(
      std::chrono::seconds(state->config().router.learning.state_store.ttl_seconds));
  std::vector<http::Route> routes = own_routes::model_routes(state->config());
  const auto add = [&routes](std::vector<http::Route> more) {
    for (http::Route& route : more) routes.push_back(std::move(route));
  };
  const gateway::GatewayContext context = context_of(*state, state->backends);
  add(model_calls(*state, context));
  const std::vector<http::Route> passing = endpoints::routes(context, *state, *classification);
  // In front of the routes of the same paths.
  if (documents != nullptr) {
    configure_documents(*documents, *state);
    add(vector_store_api::client_routes(*documents, state->config(), {*storage, *classification},
                                        passing));
  }
  add(passing);
  const config::ResponseApi& response_api = state->config().response_api;
  if (response_api.enabled) {
    responses.set_limits(own_routes::limits_of(response_api));
    add(own_routes::response_routes(responses, state->config(), *storage));
  }
  add(memory_api::client_routes(*memories, state->config(), *storage));
  if (contexts.store() != nullptr)
    add(admin::context_routes(*contexts.store(), state->config(), *storage));
  const std::vector<http::Route> health = admin::client_health_routes(current, stage);
  add(health);
  routes.push_back(admin::openapi_route(routes));
  // A balancer that checks the health has no key.
  state->handler = access::refuse_pages(
      access::Origins(state->config().http.allowed_origins), error_body(), audit,
      http::in_front(health, access::gate(*state->clients, gates, false,
                                          http::make_routes(std::move(routes),
                                                            own_routes::missing_path_body))));
  return state;
}

gateway::GatewayContext Daemon::Impl::context_of(const serving::ServingState& state,
                                                 const upstream::ModelCaller& caller,
                                                 std::chrono::milliseconds follow_max) const {
  return {.router = *state.router,
          .backends = caller,
          .compute = *compute,
          .reading = *reading,
          .storage = *storage,
          .detection = *detection,
          .stats = stats,
          .observer = *state.observer,
          .cache = cache,
          .contexts = contexts,
          .limiter = limiter,
          .guards = *state.guards,
          .follow_max = follow_max,
          .ledger = ledger_of(state.config()),
          .learning = learning::is_used(state.config()) ? &memory : nullptr,
          .shadows = caller.is_direct() ? state.shadows.get() : nullptr,
          .memories = memories.get(),
          .flow_states = flow_states.get()};
}

Result<void> Daemon::Impl::add_shadows(serving::ServingState& state) const {
  if (config::shadows_of(state.config()).empty()) return {};
  SIGNALBOX_TRY(auto comparer, shadow::Comparer::create(state.config(), state.router->models()));
  const std::vector<std::string>& more = comparer->notices();
  state.notices.insert(state.notices.end(), more.begin(), more.end());
  state.shadows = std::make_unique<gateway::ShadowUse>(
      gateway::ShadowUse{shadows, std::move(comparer),
                         [&state]() -> std::shared_ptr<const void> { return state.self.lock(); }});
  return {};
}

// The routes of chats, in all APIs.
std::vector<http::Route> Daemon::Impl::model_calls(const serving::ServingState& state,
                                                   const gateway::GatewayContext& context) const {
  std::vector<http::Route> out{gateway::chat_route(context)};
  const auto add = [&](const char* path, const dialects::Dialect& dialect) {
    out.push_back(gateway::dialect_route(path, dialect, context));
  };
  add("/v1/messages", messages_dialect);
  add("/v1/completions", completions_dialect);
  if (state.config().response_api.enabled) add("/v1/responses", responses_dialect);
  return out;
}

// Returns the host for a request from Envoy. It differs from other requests in two ways: Envoy
// calls the servers, unless the answer takes several calls or an image server, and it waits for us
// no longer than its message_timeout.
extproc::SessionHost Daemon::Impl::make_session_host(const http::Request& request,
                                                     const upstream::ModelCaller& caller) const {
  std::shared_ptr<const serving::ServingState> state = current.get();
  extproc::SessionHost out{state->handler, &state->destinations, &state->backends,
                           state->config().router.clear_route_cache};
  const auto follow_max = std::min<std::chrono::milliseconds>(
      gateway::kFollowMax, state->config().http.decision_timeout);
  const gateway::GatewayContext context = context_of(*state, caller, follow_max);
  const bool passes = endpoints::find(request.method, request.path()) != nullptr;
  for (http::Route& route : passes ? endpoints::routes(context, *state, *classification)
                                   : model_calls(*state, context)) {
    if (http::matches(route, request.path()) && route.method == request.method)
      out.handler = access::gate(*state->clients, gates, true, std::move(route.handler));
  }
  out.held = std::move(state);
  return out;
}

http::Handler Daemon::Impl::management_handler(const config::ManagementApi& initial) {
  std::vector<http::Route> routes = admin::health_routes(current, stage);
  const auto add = [&](std::vector<http::Route> more) {
    for (http::Route& route : more) routes.push_back(std::move(route));
  };
  add(admin::config_routes(current, *admin, [this] { return active_reloader.load(); }));
  add(admin::info_routes(current, stage, *admin, metrics));
  add(admin::replay_routes(*replay, current, *admin));
  add(admin::outcome_routes(memory.outcomes, *replay, metrics, current, *admin));
  routes.push_back(admin::costs_route(metrics, current, *admin));
  routes.push_back(admin::spending_route([this] { return active_ledger.load(); }, current, *admin));
  routes.push_back(admin::budgets_route([this] { return active_ledger.load(); }, current, *admin));
  routes.push_back(admin::metrics_route(scrape, current, *admin));
  add(admin::cache_routes(current, *admin, cache));
  add(admin::key_routes(current, *admin));
  add(memory_api::operator_routes(*memories, current, *admin));
  add(admin::user_data_routes(contexts, responses, current, *admin));
  add(vector_store_api::operator_routes([this] { return active_documents.load(); }, current,
                                        *admin));
  add(admin::classify_routes(current, *classification));
  add(admin::embedding_routes(current, *classification));
  add(admin::rerank_routes(current, *classification));
  routes.push_back(admin::eval_route(current, *classification));
  routes.push_back(admin::explain_route(current, *classification, memory));
  add(admin::dashboard_routes(history, fleet, current, *admin));
  routes.push_back(admin::openapi_route(routes));
  add(admin::dashboard_files());
  const auto admits = [this, initial_hosts = access::Hosts(initial)](const http::Request& request) {
    const auto host = request.headers.find("host");
    const auto state = current.get();
    const bool is_known = state ? state->hosts.admit(host) : initial_hosts.admit(host);
    if (!is_known)
      audit.add_refusal({audit::Sender::Kind::kManagement, request.peer},
                        std::move(audit::Entry("refused")
                                      .text("reason", "foreign_host")
                                      .number("status", 403)
                                      .text("from", request.peer)));
    return is_known;
  };
  return access::only_for(admits,
                          http::make_routes(std::move(routes), access::management_error_body));
}

// Opens the management API and the separate port for metrics.
Result<void> Daemon::Impl::listen_for_operators(const config::Config& config) {
  SIGNALBOX_TRY(const std::vector<OwnListener> listeners, operators_listeners(config));
  if (listeners.empty()) return {};
  management =
      std::make_unique<http::Server>(one_thread(config.http), access::management_error_body);
  for (const OwnListener& each : listeners) {
    http::Handler handler = each.listener.name == kMetrics ? admin::metrics_handler(scrape, *admin)
                                                           : management_handler(config.management);
    SIGNALBOX_TRY_VOID(listen(*management, each.listener, each.section, std::move(handler)));
  }
  management->start();
  if (config.management.enabled) history.start();
  return {};
}

Result<void> Daemon::Impl::share_counts(const config::Config& config) {
  if (!config.shared_counts.is_used()) return {};
  // Routers with common sums need no totals over Redis.
  spending::Ledger* const own = ledger && !ledger->is_common() ? ledger.get() : nullptr;
  SIGNALBOX_TRY(counts, shared_counts::SharedCounts::open(config, limiter, own));
  active_counts = counts.get();
  return {};
}

Result<void> Daemon::Impl::listen_for_envoy(const config::Config& config) {
  if (!config.ext_proc.enabled) return {};
  SIGNALBOX_TRY(envoy, extproc::Server::start(config.ext_proc, config.http, error_body(),
                                              [this](const http::Request& request,
                                                     const upstream::ModelCaller& caller) {
                                                return make_session_host(request, caller);
                                              }));
  ports[std::string(kExtProc)] = envoy->port();
  listening.push_back(
      fmt::format("{} {}:{} ({})", kExtProc, config.ext_proc.address, envoy->port(),
                  config.ext_proc.tls_cert_path.empty() ? "gRPC" : "gRPC over TLS"));
  return {};
}

Result<void> Daemon::Impl::follow_kubernetes(const config::Config& config) {
  if (!config::follows_kubernetes(config)) return {};
  if (!reloader)
    return fail(Code::kInvalid,
                "global.router.config_source: kubernetes requires a configuration file");
  SIGNALBOX_TRY(controller, kubernetes::Controller::start(
                                config.kubernetes, [this](kubernetes::Controller::Overlay overlay) {
                                  return reloader->lay_over(std::move(overlay));
                                }));
  if (!controller->wait(config.kubernetes.wait_at_start))
    notices.emplace_back(
        "kubernetes: no resource was read in time; the routes in the file are active");
  return {};
}

Result<void> Daemon::Impl::start(config::Config config, models::OpenModels open_models,
                                 Origin origin) {
  open = std::move(open_models);
  file = origin.file;
  const config::HttpLimits& limits = config.http;
  compute = std::make_unique<http::ThreadPool>(config::evaluating_threads(limits),
                                               limits.model_queue_max);
  reading = std::make_unique<http::ThreadPool>(0, limits.model_queue_max,
                                               http::ThreadPool::Priority::kBackground);
  classification = std::make_unique<http::ThreadPool>(config::evaluating_threads(limits),
                                                      limits.model_queue_max);
  storage = std::make_unique<http::ThreadPool>(kStorageThreads, limits.model_queue_max);
  detection = std::make_unique<http::ThreadPool>(kDetectionThreads, limits.model_queue_max);
  admin = std::make_unique<http::ThreadPool>(kAdminThreads, kAdminQueueMax);
  SIGNALBOX_TRY_VOID(audit.open(config.audit, config.source));
  SIGNALBOX_TRY(std::tie(memories, shared_memories), open_memories(config.memory));
  SIGNALBOX_TRY(std::tie(replay, shared_replay), open_replay(config.router_replay));
  if (const auto& store = config.router.learning.state_store; store.is_shared()) {
    SIGNALBOX_TRY(shared_learning, shared_learning::open(store, memory));
  }
  SIGNALBOX_TRY_VOID(listen_for_operators(config));
  SIGNALBOX_TRY_VOID(contexts.open(config));
  SIGNALBOX_TRY(ledger, open_ledger(config));
  active_ledger = ledger.get();
  SIGNALBOX_TRY_VOID(share_counts(config));
  SIGNALBOX_TRY(documents, open_documents(config));
  active_documents = documents.get();
  SIGNALBOX_TRY(flow_states, flow_states::open(config.looper.flow.state));
  SIGNALBOX_TRY(shared_responses, shared_responses::open(config.response_api, responses));
  responses.share(shared_responses.get());
  server = std::make_unique<http::Server>(config.http, error_body());
  const std::vector<config::Listener> listeners = config.listeners;
  SIGNALBOX_TRY(auto state, make_state(std::move(config), std::move(origin.text)));
  notices = state->notices;
  state->notices.insert(state->notices.begin(), origin.notices.begin(), origin.notices.end());
  if (auto unreadable = cache.load()) notices.push_back(*std::move(unreadable));
  audit.add_start(state->hash, state->clients->keys_hash());
  current.set(std::move(state));
  for (size_t i = 0; i < listeners.size(); ++i) {
    SIGNALBOX_TRY_VOID(listen(*server, listeners[i], section_of_listener(i), current.handler()));
  }
  server->start();
  serving = server.get();
  SIGNALBOX_TRY_VOID(listen_for_envoy(current.get()->config()));
  if (!origin.file.empty()) {
    reloader = std::make_unique<serving::Reloader>(
        current, std::move(origin.file), [this](config::Config next, std::string text) {
          return make_state(std::move(next), std::move(text));
        });
    active_reloader = reloader.get();
  }
  SIGNALBOX_TRY_VOID(follow_kubernetes(current.get()->config()));
  stage = admin::Stage::kServing;
  return {};
}

Daemon::Daemon(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Daemon::~Daemon() {
  impl_->metric_exporter.stop();
  impl_->fleet.stop();  // because it wakes requests that wait on the server's loops
  if (impl_->management) impl_->management->stop();
  if (impl_->server) impl_->server->stop();
  if (impl_->envoy) impl_->envoy->stop();
  impl_->token_keys.stop();
  impl_->shadows.stop();
  impl_->cache.flights().close();
  impl_->cache.save();
  impl_->controller.reset();
  impl_->admin.reset();     // its tasks use the reloader
  impl_->reloader.reset();  // it may be building a state, which uses the pools below
  impl_->classification.reset();
  impl_->storage.reset();
  impl_->shared_learning.reset();
  impl_->responses.share(nullptr);
  impl_->shared_responses.reset();  // it may wake replies on the server's loops
}

Result<std::unique_ptr<Daemon>> Daemon::start(config::Config config, models::OpenModels open,
                                              Origin origin) {
  auto daemon = std::unique_ptr<Daemon>(new Daemon(std::make_unique<Impl>()));
  SIGNALBOX_TRY_VOID(daemon->impl_->start(std::move(config), std::move(open), std::move(origin)));
  return daemon;
}

const std::vector<std::string>& Daemon::listening() const {
  return impl_->listening;
}
const std::vector<std::string>& Daemon::notices() const {
  return impl_->notices;
}

std::string Daemon::dashboard() const {
  const auto state = impl_->current.get();
  return dashboard_address(state->config().management, port(kManagement),
                           state->access.local_token());
}

uint16_t Daemon::port(std::string_view listener) const {
  const auto found = impl_->ports.find(listener);
  return found == impl_->ports.end() ? 0 : found->second;
}

void Daemon::reload() {
  if (impl_->reloader) impl_->reloader->reload();
}

bool Daemon::drain() {
  impl_->stage = admin::Stage::kDraining;
  const std::chrono::milliseconds limit = impl_->current.get()->config().http.drain_timeout;
  std::future<bool> envoy;  // drains at the same time
  if (impl_->envoy)
    envoy = std::async(std::launch::async, [this, limit] { return impl_->envoy->drain(limit); });
  const auto until = std::chrono::steady_clock::now() + limit;
  const bool drained = impl_->server->drain(limit);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
  impl_->shadows.drain(std::max(left, std::chrono::milliseconds(0)));
  const bool envoy_drained = !envoy.valid() || envoy.get();
  // Last, because each reply may add a memory and a response.
  if (impl_->shared_memories != nullptr) impl_->shared_memories->drain(until);
  if (impl_->shared_responses) impl_->shared_responses->drain(until);
  if (impl_->shared_learning) impl_->shared_learning->drain(until);
  // Records wait longest for a server that is away, so they must not take the others' time.
  if (impl_->shared_replay != nullptr) impl_->shared_replay->drain(until);
  impl_->metric_exporter.stop();  // sends the figures of all of that
  return drained && envoy_drained;
}

}  // namespace signalbox::daemon
