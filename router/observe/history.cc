// Series only grow, so the difference of two readings is the increase between them.

#include "router/observe/history.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

#include "base/json_writer.h"

namespace signalbox::observe {
namespace {

using Clock = std::chrono::system_clock;

int64_t seconds_of(Clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

double total(const FamilyBase& family) {
  double sum = 0;
  for (const Series& series : family.series()) sum += series.value;
  return sum;
}

std::map<std::string, double> by_label(const FamilyBase& family, size_t label) {
  std::map<std::string, double> out;
  for (const Series& series : family.series()) out[series.labels[label]] += series.value;
  return out;
}

/// Adds the amounts of `series` without a partner of the same model, decision and currency.
void add_unpaired(std::map<std::string, double>& out, const std::vector<Series>& series,
                  const std::vector<Series>& partners) {
  std::set<std::vector<std::string>> known;
  for (const Series& each : partners) known.insert(each.labels);
  for (const Series& each : series) {
    if (known.find(each.labels) == known.end()) out[each.labels[2]] += each.value;
  }
}

/// Adds up all series of a histogram.
std::vector<uint64_t> counts_of(const FamilyBase& family) {
  std::vector<uint64_t> out;
  for (const Series& series : family.series()) {
    out.resize(std::max(out.size(), series.counts.size()));
    for (size_t i = 0; i < series.counts.size(); ++i) out[i] += series.counts[i];
  }
  return out;
}

bool is_one_of(std::string_view reason, std::initializer_list<std::string_view> reasons) {
  return std::ranges::find(reasons, reason) != reasons.end();
}

/// Returns true for an error that a rule of the configuration caused on purpose.
bool is_refusal(std::string_view reason) {
  return is_one_of(
      reason, {"pii_policy_denied", "jailbreak_block", "unsupported_language", "response_blocked",
               "missing_identity", "forbidden", "budget_exceeded", "rate_limited"});
}

/// True for an error that the client caused. Neither the router nor a server has failed.
bool is_mistake(std::string_view reason) {
  return is_one_of(
      reason, {"parse_error", "model_not_found", "unsupported", "upstream_4xx", "cancellation"});
}

/// Returns true if the check of keys and tokens could not be made; all other denials are refusals.
bool is_outage(std::string_view reason) {
  return is_one_of(reason, {"keys_unavailable", "audit_unavailable"});
}

bool is_malformed(std::string_view reason) {
  return is_one_of(reason, {"duplicate_header", "token_too_large"});
}

void write(json::Writer& out, std::string_view key, double now, double before) {
  if (now > before) out.member(key, now - before);
}

void write(json::Writer& out, std::string_view key, const std::map<std::string, double>& now,
           const std::map<std::string, double>& before) {
  bool open = false;
  for (const auto& [name, value] : now) {
    const auto was = before.find(name);
    const double more = was == before.end() ? value : value - was->second;
    if (more <= 0) continue;
    if (!open) out.key(key).begin_object();
    open = true;
    out.member(name, more);
  }
  if (open) out.end_object();
}

void write(json::Writer& out, std::string_view key, const std::vector<uint64_t>& now,
           const std::vector<uint64_t>& before) {
  if (now == before) return;
  out.key(key).begin_array();
  for (size_t i = 0; i < now.size(); ++i)
    out.integer(static_cast<int64_t>(now[i] - (i < before.size() ? before[i] : 0)));
  out.end_array();
}

void write_bounds(json::Writer& out, std::string_view key, const FamilyBase& family) {
  out.key(key).begin_array();
  const std::vector<Series> all = family.series();
  if (!all.empty()) {
    for (const double bound : all.front().bounds) out.number(bound);
  }
  out.end_array();
}

}  // namespace

History::History(const Metrics& metrics)
    : metrics_(metrics), began_(seconds_of(Clock::now())), before_(read_totals()) {}

History::~History() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void History::start() {
  thread_ = std::thread([this] { run(); });
}

void History::run() {
  auto next = std::chrono::steady_clock::now();
  while (true) {
    next += kStep;
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_until(lock, next, [this] { return stopping_; })) return;
    }
    step(Clock::now());
  }
}

History::Totals History::read_totals() const {
  Totals out;
  out.models = by_label(metrics_.requests, 0);
  out.decisions = by_label(metrics_.requests, 1);
  for (const auto& [model, count] : out.models) out.requests += count;
  out.errors = by_label(metrics_.errors, 1);
  for (const auto& [reason, count] : out.errors)
    (is_refusal(reason) ? out.blocked : is_mistake(reason) ? out.mistakes : out.failed) += count;
  out.denied = by_label(metrics_.denied, 0);
  for (const auto& [reason, count] : out.denied)
    (is_outage(reason) ? out.failed : is_malformed(reason) ? out.mistakes : out.blocked) += count;
  out.prompt = total(metrics_.prompt_tokens);
  out.completion = total(metrics_.completion_tokens);
  const auto tokens = by_label(metrics_.spent_tokens, 2);
  if (const auto repeated = tokens.find("repeated"); repeated != tokens.end())
    out.saved = repeated->second;
  out.cost = by_label(metrics_.spent, 2);
  out.cost_on_default = by_label(metrics_.spent_on_default, 2);
  // Both series of a pair are created together. Read them in this order, so that a new one never
  // lacks its partner.
  const std::vector<Series> spent = metrics_.spent.series();
  const std::vector<Series> on_default = metrics_.spent_on_default.series();
  add_unpaired(out.not_compared, spent, on_default);
  add_unpaired(out.not_compared, on_default, metrics_.spent.series());
  out.cache = by_label(metrics_.cache_operations, 2);
  out.routing = counts_of(metrics_.routing_latency);
  out.upstream = counts_of(metrics_.completion_latency);
  out.ttft = counts_of(metrics_.ttft);
  return out;
}

std::string History::encode(Clock::time_point at, const Totals& now, const Totals& before) {
  json::Writer out;
  out.begin_object().member("at", seconds_of(at));
  write(out, "requests", now.requests, before.requests);
  write(out, "failed", now.failed, before.failed);
  write(out, "blocked", now.blocked, before.blocked);
  write(out, "mistakes", now.mistakes, before.mistakes);
  write(out, "prompt_tokens", now.prompt, before.prompt);
  write(out, "completion_tokens", now.completion, before.completion);
  write(out, "saved_tokens", now.saved, before.saved);
  write(out, "cost", now.cost, before.cost);
  write(out, "cost_on_default", now.cost_on_default, before.cost_on_default);
  write(out, "not_compared", now.not_compared, before.not_compared);
  write(out, "models", now.models, before.models);
  write(out, "decisions", now.decisions, before.decisions);
  write(out, "cache", now.cache, before.cache);
  write(out, "errors", now.errors, before.errors);
  write(out, "denied", now.denied, before.denied);
  write(out, "routing", now.routing, before.routing);
  write(out, "upstream", now.upstream, before.upstream);
  write(out, "ttft", now.ttft, before.ttft);
  return out.end_object().take();
}

void History::step(Clock::time_point now) {
  Totals totals = read_totals();
  const std::lock_guard lock(mutex_);
  steps_.push_back(encode(now, totals, before_));
  before_ = std::move(totals);
  if (steps_.size() <= kStepsMax) return;
  steps_.pop_front();
  ++first_;
}

std::string History::json(uint64_t from) const {
  json::Writer out;
  out.begin_object().member("step", static_cast<int64_t>(kStep.count())).member("began", began_);
  out.member("in_flight", total(metrics_.requests_in_flight));
  out.key("bounds").begin_object();
  write_bounds(out, "routing", metrics_.routing_latency);
  write_bounds(out, "upstream", metrics_.completion_latency);
  write_bounds(out, "ttft", metrics_.ttft);
  out.end_object();
  const std::lock_guard lock(mutex_);
  const uint64_t next = first_ + steps_.size();
  const size_t skip = from > first_ && from <= next ? from - first_ : 0;
  out.member("next", static_cast<int64_t>(next)).key("steps").begin_array();
  for (size_t i = skip; i < steps_.size(); ++i) out.raw(steps_[i]);
  return out.end_array().end_object().take();
}

}  // namespace signalbox::observe
