// For a handful of names a map of strings is faster than a hash table.

#include "router/observe/meters.h"

#include <algorithm>

namespace signalbox::observe {
namespace {

// Reply statuses with a counter of their own; the others are counted by hundred.
constexpr auto kStatuses = std::to_array(
    {200, 400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 499, 500, 501, 502, 503, 504});
constexpr std::string_view kUnknown = "unknown";
constexpr std::string_view kNone = "none";
constexpr std::string_view kCachePlugin = "response_cache";

size_t slot_of(int status) {
  const auto found = std::find(kStatuses.begin(), kStatuses.end(), status);
  if (found != kStatuses.end()) return static_cast<size_t>(found - kStatuses.begin());
  const int hundred = status / 100;
  return kStatuses.size() + (hundred == 2 ? 0 : hundred == 4 ? 1 : 2);
}

std::string status_label(size_t slot) {
  if (slot < kStatuses.size()) return std::to_string(kStatuses[slot]);
  return slot == kStatuses.size() ? "2xx" : slot == kStatuses.size() + 1 ? "4xx" : "other";
}

}  // namespace

Meters::Meters(Metrics& metrics, const Vocabulary& vocabulary)
    : metrics_(metrics),
      default_currency_(vocabulary.default_currency),
      in_flight_(metrics.requests_in_flight.only()),
      decided_(metrics.decisions.only()),
      routing_latency_(metrics.routing_latency.only()),
      decision_latency_(metrics.decision_latency.only()) {
  for (const Vocabulary::Model& model : vocabulary.models) {
    ModelSeries& series = add_model(model.name, model.provider, vocabulary.decisions);
    series.currency = model.currency;
    if (!model.currency.empty()) series.cost = &metrics.cost.with({model.name, model.currency});
  }
  add_model(std::string(kUnknown), "", vocabulary.decisions);
  for (const std::string& name : vocabulary.decisions) {
    DecisionSeries& series = decisions_[name];
    series.matches = &metrics.decision_matches.with({name});
    series.confidence = &metrics.decision_confidence.with({name});
    if (vocabulary.cache.empty()) continue;
    series.cache_hits = &metrics.cache_hits.with({name, std::string(kCachePlugin)});
    series.cache_misses = &metrics.cache_misses.with({name, std::string(kCachePlugin)});
  }
  if (!vocabulary.cache.empty()) {
    const std::string lookup = "lookup";
    cache_latency_ = &metrics.cache_latency.with({vocabulary.cache, lookup});
    for (const CacheUse use : {CacheUse::kHit, CacheUse::kNear, CacheUse::kMiss, CacheUse::kFailed})
      cache_operations_[static_cast<size_t>(use)] =
          &metrics.cache_operations.with({vocabulary.cache, lookup, std::string(name_of(use))});
  }
  for (const Matches& group : vocabulary.signals) {
    const std::string& type = group.type;
    SignalSeries& series = signals_[type];
    series.runs = &metrics.signals.with({type});
    series.errors = &metrics.signal_errors.with({type});
    series.latency = &metrics.signal_latency.with({type});
    for (const std::string& name : group.names)
      series.matches[name] = &metrics.signal_matches.with({type, name});
  }
  for (const auto& [model, name] : vocabulary.engines)
    engines_[model] = {name, &metrics.passes.with({name})};
}

Meters::ModelSeries& Meters::add_model(const std::string& name, const std::string& provider,
                                       const std::vector<std::string>& decisions) {
  ModelSeries& series = models_[name];
  series.name = name;
  series.operations = std::make_unique<Operations>(metrics_, name, provider);
  series.in_flight = &metrics_.in_flight.with({name});
  series.completion_latency = &metrics_.completion_latency.with({name});
  series.ttft = &metrics_.ttft.with({name});
  series.tpot = &metrics_.tpot.with({name});
  series.prompt_tokens = &metrics_.prompt_tokens.with({name});
  series.completion_tokens = &metrics_.completion_tokens.with({name});
  series.tokens = &metrics_.tokens.with({name});
  for (const std::string& decision : decisions) series.pairs[decision] = std::make_unique<Pair>();
  series.pairs[std::string(kNone)] = std::make_unique<Pair>();
  return series;
}

const Meters::ModelSeries& Meters::of_model(std::string_view name) const {
  const auto found = models_.find(name);
  return found != models_.end() ? found->second : models_.find(kUnknown)->second;
}

Meters::AtModel::AtModel(const Meters& meters, std::string_view model)
    : gauge_(*meters.of_model(model).in_flight) {
  gauge_.add(1);
}

std::string_view Meters::engine_name(const void* model) const {
  const auto found = engines_.find(model);
  return found == engines_.end() ? std::string_view{} : found->second.name;
}

Meters::Pair& Meters::pair_of(const Account& account, const ModelSeries& model,
                              std::string_view& decision) const {
  auto found = model.pairs.find(account.decision);
  if (found == model.pairs.end()) found = model.pairs.find(kNone);
  decision = found->first;
  return *found->second;
}

Counter& Meters::requests_of(const Account& account, const ModelSeries& model) const {
  std::string_view decision;
  Pair& pair = pair_of(account, model, decision);
  const size_t status = slot_of(account.status);
  std::atomic<Counter*>& slot = pair.requests[status];
  if (Counter* cached = slot.load(std::memory_order_acquire)) return *cached;
  Counter& made = metrics_.requests.with({model.name, std::string(decision), status_label(status)});
  slot.store(&made, std::memory_order_release);
  return made;
}

// A request whose model the client chose, or that fell back to the default model, would have cost
// the same.
Meters::Spent Meters::look_up(const ModelSeries& model, const std::string& decision) const {
  const auto tokens = [&](const char* kind) {
    return &metrics_.spent_tokens.with({model.name, decision, kind});
  };
  Spent out{&metrics_.metered_replies.with({model.name, decision}), tokens("prompt"),
            tokens("cached"), tokens("completion"), tokens("repeated")};
  if (!model.currency.empty())
    out.cost = &metrics_.spent.with({model.name, decision, model.currency});
  const std::string& currency = decision == kNone ? model.currency : default_currency_;
  if (!currency.empty())
    out.on_default = &metrics_.spent_on_default.with({model.name, decision, currency});
  return out;
}

const Meters::Spent& Meters::spent_of(const Account& account, const ModelSeries& model) const {
  std::string_view decision;
  Pair& pair = pair_of(account, model, decision);
  std::call_once(pair.looked_up, [&] { pair.spent = look_up(model, std::string(decision)); });
  return pair.spent;
}

void Meters::spend(const Spent& spent, const Tokens& tokens, double cost) {
  const auto count = [](uint64_t value) { return static_cast<double>(value); };
  const uint64_t cached = std::min(tokens.cached, tokens.prompt);
  spent.prompt->add(count(tokens.prompt - cached));
  spent.cached->add(count(cached));
  spent.completion->add(count(tokens.completion));
  if (spent.cost != nullptr) spent.cost->add(cost);
}

// Counts the tokens of several calls for the models that were called, but counts one reply.
void Meters::record_spending(const Account& account, const ModelSeries& model) const {
  if (!account.tokens && !account.repeated) return;
  const Spent& spent = spent_of(account, model);
  spent.replies->add();
  if (account.repeated) {
    spent.repeated->add(
        static_cast<double>(account.repeated->prompt + account.repeated->completion));
  }
  if (account.tokens && account.calls.empty()) spend(spent, *account.tokens, account.cost);
  for (const ModelCall& call : account.calls) {
    if (call.tokens) spend(spent_of(account, of_model(call.model)), *call.tokens, call.cost);
  }
  if (spent.on_default != nullptr) spent.on_default->add(account.cost_on_default);
}

void Meters::record(const Account& account) const {
  const ModelSeries& model = of_model(account.model);
  requests_of(account, model).add();
  if (!account.error.empty()) {
    metrics_.errors.with({model.name, std::string(account.error)}).add();
  }
  for (const LearningStep& step : account.learning) {
    metrics_.learning
        .with({std::string(step.method), std::string(step.action), std::string(step.reason)})
        .add();
  }
  if (account.degraded != Degraded::kNo)
    metrics_.degraded.with({std::string(name_of(account.degraded))}).add();
  for (const std::string& type : account.pii_types)
    metrics_.pii_violations.with({model.name, type}).add();
  if (account.pii && account.pii_types.empty())
    metrics_.pii_violations.with({model.name, std::string(kUnknown)}).add();
  if (!account.jailbreak.empty()) metrics_.jailbreaks.with({account.jailbreak}).add();
  if (!account.unsupported_language.empty())
    metrics_.unsupported_languages.with({std::string(account.unsupported_language)}).add();
  if (account.understood > account.began) record_understanding(account);
  if (!account.rag.empty()) metrics_.rag.with({std::string(account.rag)}).add();
  if (!account.memory.empty()) metrics_.memory.with({std::string(account.memory)}).add();
  if (account.remembered) metrics_.memories_stored.only().add();
  if (!account.compression.empty()) {
    metrics_.compressions.with({std::string(account.compression)}).add();
    metrics_.compression_saved.only().add(static_cast<double>(account.compression_saved));
  }
  if (account.cache != CacheUse::kNone) record_cache(account);
  if (account.sent > account.began) record_reply(account, model);
  record_spending(account, model);
  record_guards(account);
}

// Few replies are checked, so these series are not looked up in advance.
void Meters::record_guards(const Account& account) const {
  const auto count = [&](const char* check, std::string_view outcome) {
    if (!outcome.empty()) metrics_.guarded.with({check, std::string(outcome)}).add();
  };
  count("hallucination", account.grounding);
  count("response_jailbreak", account.response_jailbreak);
  if (account.grounding == "unverified") metrics_.unverified.only().add();
  if (account.guard_s > 0) metrics_.guard_latency.only().observe(account.guard_s);
}

void Meters::record_cache(const Account& account) const {
  if (cache_latency_ == nullptr) return;
  cache_latency_->observe(seconds_between(account.cache_began, account.cache_ended));
  cache_operations_[static_cast<size_t>(account.cache)]->add();
  const auto found = decisions_.find(account.decision);
  if (found == decisions_.end()) return;
  const bool hit = account.cache == CacheUse::kHit || account.cache == CacheUse::kNear;
  (hit ? found->second.cache_hits : found->second.cache_misses)->add();
}

void Meters::record_understanding(const Account& account) const {
  routing_latency_.observe(seconds_between(account.began, account.understood));
  for (const SignalRun& run : account.signals) {
    const auto found = signals_.find(run.type);
    if (found == signals_.end()) continue;
    found->second.runs->add();
    found->second.latency->observe(seconds_between(run.began, run.ended));
    if (run.failed) found->second.errors->add();
  }
  for (const Matches& matches : account.matched) {
    const auto found = signals_.find(matches.type);
    if (found == signals_.end()) continue;
    for (const std::string& name : matches.names) {
      const auto series = found->second.matches.find(name);
      if (series != found->second.matches.end()) series->second->add();
    }
  }
  for (const ModelPass& pass : account.passes) {
    const auto found = engines_.find(pass.model);
    if (found == engines_.end()) continue;
    found->second.latency->observe(seconds_between(pass.began, pass.ended));
    if (pass.cleared) metrics_.windows_cleared.with({found->second.name}).add();
    if (!pass.error.empty())
      metrics_.pass_errors.with({found->second.name, std::string(pass.error)}).add();
  }
  if (!account.decided) return;
  decided_.add();
  decision_latency_.observe(std::chrono::duration<double>(account.deciding).count());
  const auto found = decisions_.find(account.decision);
  if (found == decisions_.end()) return;
  found->second.matches->add();
  found->second.confidence->observe(account.confidence);
}

void Meters::record_reply(const Account& account, const ModelSeries& model) const {
  if (!account.calls.empty()) return record_calls(account);
  model.completion_latency->observe(seconds_between(account.sent, account.ended));
  if (account.ttft_s) model.ttft->observe(*account.ttft_s);
  if (account.tpot_s) model.tpot->observe(*account.tpot_s);
  if (account.tokens) add_tokens(model, *account.tokens, account.cost);
  model.operations->record({.name = operation_of(account.path),
                            .response_model = account.origin.model,
                            .error = account.error,
                            .seconds = seconds_between(account.sent, account.ended),
                            .tokens = account.tokens,
                            .ttft_s = account.ttft_s,
                            .tpot_s = account.tpot_s});
}

void Meters::record_shadow(const Account& account) const {
  const Shadow& shadow = *account.shadow;
  of_model(shadow.model)
      .operations->record({.name = operation_of(account.path),
                           .response_model = shadow.origin.model,
                           .error = shadow.error,
                           .seconds = seconds_between(shadow.began, shadow.ended),
                           .tokens = shadow.tokens});
}

void Meters::add_tokens(const ModelSeries& model, const Tokens& tokens, double cost) {
  const auto prompt = static_cast<double>(tokens.prompt);
  const auto completion = static_cast<double>(tokens.completion);
  model.prompt_tokens->add(prompt);
  model.completion_tokens->add(completion);
  model.tokens->add(prompt + completion);
  if (model.cost != nullptr) model.cost->add(cost);
}

void Meters::record_calls(const Account& account) const {
  const std::string used_up(account.used_up.empty() ? kNone : account.used_up);
  metrics_.loops.with({account.decision, account.algorithm, used_up}).add();
  for (const ModelCall& call : account.calls) {
    const ModelSeries& model = of_model(call.model);
    model.completion_latency->observe(seconds_between(call.began, call.ended));
    if (call.tokens) add_tokens(model, *call.tokens, call.cost);
    model.operations->record({.name = operation_of(account.path),
                              .response_model = call.origin.model,
                              .error = call.error,
                              .seconds = seconds_between(call.began, call.ended),
                              .tokens = call.tokens,
                              .ttft_s = call.ttft_s,
                              .tpot_s = call.tpot_s});
    const std::string outcome(call.error.empty() ? "ok" : call.error);
    metrics_.loop_calls.with({model.name, std::string(call.purpose), outcome}).add();
  }
}

}  // namespace signalbox::observe
