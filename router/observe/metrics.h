#pragma once
// Every number in /metrics: the table of docs/metrics.md as code. Names are those of the vLLM
// Semantic Router if it has the metric, and gen_ai_ those of OpenTelemetry's conventions as
// Prometheus writes them; our own begin with signalbox_.
//
// Labels are names of the configuration, and a few names of models from each server
// (response_models.h): a model that a client names and that is not configured counts as "unknown",
// never under the client's text.

#include <chrono>
#include <string>
#include <vector>

#include "router/observe/instruments.h"
#include "router/observe/response_models.h"

namespace signalbox::observe {

/// Every number at one moment: /metrics and exports are both made of it.
struct Collection {
  std::chrono::system_clock::time_point began;  // when every counter was 0
  std::chrono::system_clock::time_point at;
  std::vector<Reading> readings;
};

/// One per process. Thread-safe.
class Metrics {
  // Declared before the families, because each appends itself
  std::vector<const FamilyBase*> families_;

 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  const std::vector<const FamilyBase*>& families() const { return families_; }
  Collection collect() const { return {began_, std::chrono::system_clock::now(), read(families_)}; }
  /// Returns the text of a scrape.
  std::string text() const;

  // Requests.
  Family<Counter> requests, errors, degraded;
  Family<Gauge> in_flight, requests_in_flight;
  Family<Histogram> routing_latency, completion_latency, ttft, tpot;
  Family<Counter> prompt_tokens, completion_tokens, tokens, cost;
  // Spending, for the report by model and decision.
  Family<Counter> metered_replies, spent_tokens, spent, spent_on_default;
  // Calls of models' servers by OpenTelemetry's conventions.
  Family<Histogram> operation_tokens, operation_duration, operation_ttft, operation_tpot;
  ResponseModels response_models;
  // Algorithms that call several models.
  Family<Counter> loops, loop_calls;
  // Shadows.
  Family<Counter> shadows, shadow_tokens, shadow_cost;
  Family<Histogram> shadow_latency, shadow_similarity;
  // Learning.
  Family<Counter> learning, outcomes;
  // Signals and decisions.
  Family<Counter> signals, signal_errors, signal_matches;
  Family<Histogram> signal_latency;
  Family<Counter> decisions;
  Family<Histogram> decision_latency;
  Family<Counter> decision_matches;
  Family<Histogram> decision_confidence;
  Family<Counter> pii_violations, jailbreaks, unsupported_languages;
  // The plugin context_compression.
  Family<Counter> compressions, compression_saved;
  Family<Counter> rag;  // the plugin rag
  // The plugin memory.
  Family<Counter> memory, memories_stored;
  Family<Gauge> memories, memory_users, memory_bytes;
  Family<Gauge> shared_memories_works, shared_memories_waiting;
  Family<Counter> shared_memories;
  // Records of requests that routers share.
  Family<Gauge> shared_replay_works, shared_replay_waiting;
  Family<Counter> shared_replay;
  // Clients' keys that routers share; without series unless they do.
  Family<Gauge> shared_keys_works, shared_keys_known;
  // Learning that routers share.
  Family<Gauge> shared_learning_works, shared_learning_waiting;
  Family<Counter> shared_learning;
  // Vector stores.
  Family<Gauge> files, vector_stores, vector_store_files, vector_store_bytes;
  // Reply checks.
  Family<Counter> guarded;
  Family<Histogram> guard_latency;
  Family<Counter> unverified;
  // The router's own models.
  Family<Histogram> passes;
  Family<Counter> pass_errors, windows_cleared;
  Family<Gauge> undecided, queued_requests, queued_tokens;
  // The servers of models.
  Table worker_fit, worker_requests, worker_queue;
  // The response cache.
  Family<Counter> cache_operations, cache_hits, cache_misses;
  Family<Histogram> cache_latency;
  Family<Gauge> cache_entries;
  // Contexts that requests refer to.
  Family<Gauge> contexts, context_bytes, context_pinned_bytes;
  Family<Counter> context_reads, context_events;
  // The costs of requests; without series unless they are counted.
  Family<Gauge> spending_works, spending_waiting;
  // Counts that several routers share; without series unless they do.
  Family<Gauge> shared_counts_works, shared_counts_unreported, shared_counts_routers;
  Family<Counter> shared_counts_exchanges;
  // Stored responses that several routers share; without series unless they do.
  Family<Gauge> shared_responses_works, shared_responses_waiting;
  Family<Counter> shared_responses, shared_responses_late;
  // The process.
  Family<Counter> config_updates;
  Family<Gauge> config_version, config_refused;
  Family<Gauge> connections;
  Family<Counter> refused, denied;
  Family<Counter> spans, span_retries, spans_rejected;
  Family<Counter> metric_exports, metric_export_retries, metric_points_rejected;
  Family<Gauge> replay_records;
  Family<Gauge> build_info, resident_bytes;
  Family<Counter> cpu_seconds;

 private:
  const std::chrono::system_clock::time_point began_ = std::chrono::system_clock::now();
};

}  // namespace signalbox::observe
