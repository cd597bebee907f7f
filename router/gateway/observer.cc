// The daemon starts without its trace collector; traces are then dropped and counted.

#include "router/gateway/observer.h"

#include <algorithm>

#include "base/log.h"
#include "router/collector/collector.h"
#include "router/gateway/answer_cache.h"
#include "router/upstream/provider.h"

namespace signalbox::gateway {
namespace {

/// Bounds for values that the file leaves unbounded.
constexpr uint64_t kCaptureBytesMax = 65'536;

observe::Vocabulary vocabulary_of(const routing::Router& router) {
  const config::Config& config = router.config();
  observe::Vocabulary out;
  for (const config::Model& model : config.providers.models)
    out.models.push_back({.name = model.name,
                          .currency = model.pricing ? model.pricing->currency : std::string(),
                          .provider = upstream::provider_of(model)});
  if (const config::Model* model = config.providers.find(config.providers.default_model);
      model != nullptr && model->pricing)
    out.default_currency = model->pricing->currency;
  for (const config::Routing* routing : config::routings_of(config)) {
    for (const config::Decision& decision : routing->decisions)
      out.decisions.push_back(decision.name);
  }
  if (caches_answers(config)) out.cache = config.response_cache.backend_type;
  for (auto& matched : router.signals())
    out.signals.push_back({std::string(matched.type), std::move(matched.names)});
  const models::Models& models = router.models();
  if (models.embedder != nullptr)
    out.engines.emplace_back(models.embedder.get(), config.embedding_model.path);
  for (const auto& [directory, model] : models.classifiers) {
    const engine::TextEmbedder* same = model.get();
    out.engines.emplace_back(same, directory);
  }
  return out;
}

double share_of(const config::Observability::Sampling& sampling) {
  if (sampling.type == "always_off") return 0;
  return sampling.type == "probabilistic" ? sampling.rate : 1;
}

observe::Resource resource_of(const config::Observability::Resource& resource) {
  static const std::string instance = observe::random_uuid();  // another one after a restart
  observe::Resource out;
  if (!resource.service_name.empty()) out.service_name = resource.service_name;
  out.service_version =
      resource.service_version.empty() ? SIGNALBOX_VERSION : resource.service_version;
  out.deployment_environment = resource.deployment_environment;
  out.service_instance = instance;
  return out;
}

bool is_fault(std::string_view error) {
  return error == "upstream_error" || error == "upstream_5xx" || error == "internal_error" ||
         error == "timeout";
}

/// True for an answer of a model or the cache, also one that broke off.
bool is_answered(const observe::Account& account) {
  if (account.repeated || account.tokens || account.estimated) return true;
  const bool was_sent = account.sent != account.began;
  return was_sent && account.status != 0 && account.status < 400;
}

void add_spending(const observe::Account& account, spending::Ledger& ledger) {
  if (!is_answered(account)) return;
  const observe::Tokens tokens =
      account.tokens ? *account.tokens : account.estimated.value_or(observe::Tokens{});
  ledger.add({.day = spending::day_of(account.at),
              .key = account.key,
              .user = account.user,
              .groups = account.groups,
              .model = account.model,
              .decision = account.decision,
              .currency = account.currency},
             {.requests = 1,
              .prompt = tokens.prompt,
              .cached = tokens.cached,
              .written = tokens.written,
              .completion = tokens.completion,
              .reasoning = tokens.reasoning,
              .cost = account.cost,
              .cost_on_largest = account.cost_on_largest});
}

/// A shadow without an answer is not counted as a pair, because there is nothing to compare.
void add_shadow_spending(const observe::Account& account, spending::Ledger& ledger) {
  const observe::Shadow& shadow = *account.shadow;
  spending::ShadowSpent spent;
  if (!shadow.has_answer) {
    spent.failed = 1;
    spent.failed_cost = shadow.cost;
  } else {
    const observe::Tokens tokens = shadow.tokens.value_or(shadow.estimated);
    spent.pairs = 1;
    spent.compared = shadow.agrees ? 1 : 0;
    spent.agreed = shadow.agrees == true ? 1 : 0;
    spent.contradicted = shadow.contradicts ? 1 : 0;
    spent.measured = shadow.similarity ? 1 : 0;
    spent.similarity = shadow.similarity.value_or(0);
    spent.tokens = shadow.tokens_of_answer.prompt + shadow.tokens_of_answer.completion;
    spent.shadow_tokens = tokens.prompt + tokens.completion;
    spent.cost = shadow.cost_of_answer;
    spent.shadow_cost = shadow.cost;
    spent.seconds = shadow.seconds_of_answer;
    spent.shadow_seconds = observe::seconds_between(shadow.began, shadow.ended);
  }
  ledger.add({.day = spending::day_of(account.at),
              .decision = shadow.decision,
              .model = shadow.answered_by,
              .shadow = shadow.model,
              .currency = shadow.currency_of_answer,
              .shadow_currency = shadow.currency},
             spent);
}

/// True if no request leaves a record that an outcome could refer to.
bool records_nothing(const config::Config& config) {
  if (config.router_replay.enabled) return false;
  for (const config::Routing* routing : config::routings_of(config)) {
    for (const config::Decision& decision : routing->decisions) {
      if (decision.router_replay && decision.router_replay->enabled) return false;
    }
  }
  return true;
}

/// Requests without a decision leave records only if every routing permits them, because any of the
/// routings may have been meant.
bool all_routings_permit_records(const config::Config& config) {
  return std::ranges::all_of(config::routings_of(config), [](const config::Routing* routing) {
    return routing->data_policy.replay;
  });
}

}  // namespace

Result<std::unique_ptr<Observer>> Observer::create(const routing::Router& router,
                                                   observe::Metrics& metrics,
                                                   observe::Replay& replay,
                                                   spending::Ledger* ledger, audit::Log* audit,
                                                   observe::MetricExporter* exporter) {
  std::unique_ptr<Observer> out(new Observer(router, metrics, replay, ledger, audit, exporter));
  const config::Observability& config = router.config().observability;
  SIGNALBOX_TRY(out->trace_collector_, collector::sender(config.tracing, out->notices_));
  SIGNALBOX_TRY(out->metric_collector_, collector::sender(config.metrics, out->notices_));
  return out;
}

Observer::Observer(const routing::Router& router, observe::Metrics& metrics,
                   observe::Replay& replay, spending::Ledger* ledger, audit::Log* audit,
                   observe::MetricExporter* exporter)
    : config_(router.config()),
      metrics_(metrics),
      replay_(replay),
      ledger_(ledger),
      audit_(audit),
      metric_exporter_(exporter),
      meters_(metrics, vocabulary_of(router)),
      default_model_(config_.providers.find(config_.providers.default_model)),
      share_(share_of(config_.observability.tracing.sampling)),
      may_keep_undecided_(all_routings_permit_records(config_)) {
  const config::Learning& learning = config_.router.learning;
  if (learning.enabled && learning.adaptation.enabled && records_nothing(config_)) {
    notices_.emplace_back(
        "global.router.learning.adaptation: outcomes refer to records of requests, and there are "
        "none; set global.services.router_replay.enabled to true, or adaptation.enabled to false");
  }
}

Observer::~Observer() = default;

void Observer::start() {
  const config::RouterReplay& replay = config_.router_replay;
  replay_.set_limits({.records = replay.max_records,
                      .age = std::chrono::seconds(replay.ttl_seconds),
                      .bytes = replay.bytes_max});
  observe::Resource who = resource_of(config_.observability.tracing.resource);
  if (metric_exporter_ != nullptr) {
    metric_exporter_->set_target(
        {metric_collector_, who, config_.observability.metrics.export_interval});
  }
  if (!trace_collector_ || share_ <= 0) return;
  exporter_ = std::make_unique<observe::Exporter>(
      trace_collector_, std::move(who),
      observe::ExportCounters{metrics_.spans, metrics_.span_retries, metrics_.spans_rejected});
}

bool Observer::samples(const observe::TraceContext& trace) const {
  return exporter_ != nullptr && observe::is_in_share(trace.trace, share_);
}

std::optional<Observer::Capture> Observer::capture(const config::Decision* decision) const {
  const auto* plugin =
      decision != nullptr && decision->router_replay ? &*decision->router_replay : nullptr;
  if (plugin == nullptr) {
    const bool is_kept =
        config_.router_replay.enabled && (decision != nullptr || may_keep_undecided_);
    return is_kept ? std::optional(Capture{}) : std::nullopt;
  }
  if (!plugin->enabled) return std::nullopt;
  const uint64_t bytes_max = plugin->max_body_bytes;
  const auto bytes = static_cast<size_t>(bytes_max == 0 ? kCaptureBytesMax
                                                        : std::min(bytes_max, kCaptureBytesMax));
  const uint32_t seconds =
      plugin->body_ttl_seconds.value_or(config_.router_replay.body_ttl_seconds);
  const bool may_have_texts =
      plugin->capture_personal_data && config_.router_replay.capture_personal_data;
  return Capture{may_have_texts && plugin->capture_request_body ? bytes : 0,
                 may_have_texts && plugin->capture_response_body ? bytes : 0,
                 std::chrono::seconds(seconds)};
}

void Observer::note_refusal(const observe::Account& account, const http::Request& request) const {
  constexpr std::string_view kRefusals[] = {
      "forbidden",         "missing_identity", "budget_exceeded",      "rate_limited",
      "pii_policy_denied", "jailbreak_block",  "unsupported_language", "response_blocked"};
  if (audit_ == nullptr || !audit_->is_open() ||
      std::ranges::find(kRefusals, account.error) == std::end(kRefusals))
    return;
  audit::Entry entry("refused");
  entry.text("reason", account.error).number("status", account.status);
  entry.text("decision", account.decision).text("request", account.id);
  if (request.key != nullptr) entry.text("key", request.key->name);
  const auto user = request.headers.find(config_.authz.identity.user_id_header);
  entry.text("user", config::identity_of(user.value_or(""))).text("from", request.peer);
  using Kind = audit::Sender::Kind;
  const audit::Sender sender = request.key == nullptr
                                   ? audit::Sender{Kind::kStranger, request.peer}
                                   : audit::Sender{Kind::kKey, request.key->name};
  audit_->add_refusal(sender, std::move(entry));
}

void Observer::publish(observe::Account&& account, bool sampled) const {
  meters_.record(account);
  if (ledger_ != nullptr && !account.model.empty()) add_spending(account, *ledger_);
  const auto level =
      is_fault(account.error) || !account.detail.empty() ? log::Level::kWarn : log::Level::kInfo;
  if (log::enabled(level)) log::event(level, "request", observe::account_json(account));
  if (!account.replay_id.empty()) replay_.add(account);
  if (!sampled) return;
  account.origin.provider = meters_.provider_of(account.model);
  for (observe::ModelCall& call : account.calls)
    call.origin.provider = meters_.provider_of(call.model);
  exporter_->add(std::move(account));
}

void Observer::shadow_left_out(const std::string& decision, const std::string& model,
                               std::string_view why) const {
  metrics_.shadows.with({decision, model, std::string(why)}).add();
}

void Observer::publish_shadow(observe::Account account, bool sampled) const {
  const observe::Shadow& shadow = *account.shadow;
  metrics_.shadow_latency.with({shadow.model})
      .observe(observe::seconds_between(shadow.began, shadow.ended));
  if (shadow.similarity)
    metrics_.shadow_similarity.with({shadow.decision, shadow.model}).observe(*shadow.similarity);
  if (shadow.tokens) {
    metrics_.shadow_tokens.with({shadow.model, "prompt"})
        .add(static_cast<double>(shadow.tokens->prompt));
    metrics_.shadow_tokens.with({shadow.model, "completion"})
        .add(static_cast<double>(shadow.tokens->completion));
  }
  if (!shadow.currency.empty())
    metrics_.shadow_cost.with({shadow.model, shadow.currency}).add(shadow.cost);
  meters_.record_shadow(account);
  if (ledger_ != nullptr) add_shadow_spending(account, *ledger_);
  if (!shadow.replay_id.empty()) replay_.add_shadow(shadow);
  // Last, so that whoever sees the count finds the rest.
  metrics_.shadows.with({shadow.decision, shadow.model, std::string(shadow.outcome)}).add();
  if (!sampled) return;
  account.shadow->origin.provider = meters_.provider_of(shadow.model);
  exporter_->add(std::move(account));
}

}  // namespace signalbox::gateway
