#pragma once
// Every number that /metrics shows: the table of docs/metrics.md as code. Names are the vLLM
// Semantic Router's where it has them; those that begin with signalbox_ are ours.
//
// Labels are bounded by the configuration: a model that a client names and nobody has counts as
// "unknown", never under what the client wrote.

#include <string>
#include <vector>

#include "router/observe/instruments.h"

namespace signalbox::observe {

/// One a process. Thread-safe.
class Metrics {
  std::vector<const FamilyBase*> families_;  // before them: each enters itself

 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  const std::vector<const FamilyBase*>& families() const { return families_; }
  /// What a scrape gets.
  std::string text() const;

  // Requests.
  Family<Counter> requests, errors, degraded;
  Family<Gauge> in_flight, requests_in_flight;
  Family<Histogram> routing_latency, completion_latency, ttft, tpot;
  Family<Counter> prompt_tokens, completion_tokens, tokens, cost;
  // What was spent, for a report by model and decision.
  Family<Counter> metered_replies, spent_tokens, spent, spent_on_default;
  // Understanding.
  Family<Counter> signals, signal_errors, signal_matches;
  Family<Histogram> signal_latency;
  Family<Counter> decisions;
  Family<Histogram> decision_latency;
  Family<Counter> decision_matches;
  Family<Histogram> decision_confidence;
  Family<Counter> pii_violations, jailbreaks;
  // Replies that are watched.
  Family<Counter> guarded;
  Family<Histogram> guard_latency;
  Family<Counter> unverified;
  // The router's own models.
  Family<Histogram> passes;
  Family<Counter> pass_errors;
  Family<Gauge> undecided, queued_requests, queued_tokens;
  // The servers of models.
  Table worker_fit, worker_requests, worker_queue;
  // The cache, for whoever keeps one.
  Family<Counter> cache_operations, cache_hits, cache_misses;
  Family<Histogram> cache_latency;
  Family<Gauge> cache_entries;
  // Contexts that requests refer to.
  Family<Gauge> contexts, context_bytes, context_pinned_bytes;
  Family<Counter> context_reads, context_events;
  // The process.
  Family<Counter> config_updates;
  Family<Gauge> config_version, config_refused;
  Family<Gauge> connections;
  Family<Counter> refused;
  Family<Counter> spans;
  Family<Gauge> replay_records;
  Family<Gauge> build_info, resident_bytes;
  Family<Counter> cpu_seconds;
};

}  // namespace signalbox::observe
