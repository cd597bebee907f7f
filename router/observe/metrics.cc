// The bounds of the histograms are in seconds. Those of signals and rules begin at microseconds,
// because ours take that little time, unlike those of the vLLM Semantic Router.

#include "router/observe/metrics.h"

#include <array>

#include "router/observe/account.h"
#include "router/observe/exposition.h"

namespace signalbox::observe {
namespace {

constexpr auto kMicro = std::to_array({1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4,
                                       1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 1.0});
constexpr auto kReply = std::to_array({1e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1.0, 2.5,
                                       5.0, 10.0, 30.0, 60.0, 120.0, 300.0});
// These four are the bounds that OpenTelemetry's conventions recommend.
constexpr auto kTokens = std::to_array<double>(
    {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864});
constexpr auto kOperation = std::to_array(
    {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92});
constexpr auto kFirstToken = std::to_array(
    {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0});
constexpr auto kEachToken =
    std::to_array({0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5});
constexpr auto kShare = std::to_array({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0});

}  // namespace

std::string_view name_of(Degraded degraded) {
  switch (degraded) {
    case Degraded::kNo:
      return "";
    case Degraded::kModelMissing:
      return "model_missing";
    case Degraded::kOverloaded:
      return "overloaded";
    case Degraded::kTimeout:
      return "timeout";
    case Degraded::kError:
      return "error";
  }
  return "";
}

std::string_view name_of(CacheUse use) {
  switch (use) {
    case CacheUse::kNone:
      return "none";
    case CacheUse::kHit:
      return "hit";
    case CacheUse::kNear:
      return "near";
    case CacheUse::kMiss:
      return "miss";
    case CacheUse::kFailed:
      return "error";
  }
  return "none";
}

Metrics::Metrics()
    : requests(families_, "llm_model_requests_total",
               "Requests that have ended, by model, decision and status",
               {"model", "decision", "status"}),
      errors(families_, "llm_request_errors_total", "Requests that ended in an error, by reason",
             {"model", "reason"}),
      degraded(families_, "signalbox_degraded_total",
               "Requests decided with less information than configured, by reason", {"reason"}),
      in_flight(families_, "llm_model_inflight_requests", "Requests that are at a model now",
                {"model"}),
      requests_in_flight(families_, "signalbox_requests_in_flight",
                         "Requests that are being answered now"),
      routing_latency(families_, "llm_model_routing_latency_seconds",
                      "Time from a complete request to its plan", {}, kMicro),
      completion_latency(families_, "llm_model_completion_latency_seconds",
                         "Time from sending a request to a model to the end of its reply",
                         {"model"}, kReply),
      ttft(families_, "llm_model_ttft_seconds", "Time to the first token of a stream", {"model"},
           kReply),
      tpot(families_, "llm_model_tpot_seconds", "Time per token after the first token of a stream",
           {"model"}, kReply),
      prompt_tokens(families_, "llm_model_prompt_tokens_total",
                    "Prompt tokens, as reported in replies", {"model"}),
      completion_tokens(families_, "llm_model_completion_tokens_total",
                        "Completion tokens, as reported in replies", {"model"}),
      tokens(families_, "llm_model_tokens_total",
             "Prompt and completion tokens, as reported in replies", {"model"}),
      cost(families_, "llm_model_cost_total", "Cost at the configured prices",
           {"model", "currency"}),
      metered_replies(families_, "signalbox_metered_replies_total",
                      "Replies whose tokens are known, including those of the response cache",
                      {"model", "decision"}),
      spent_tokens(families_, "signalbox_tokens_total",
                   "Tokens by model, decision and kind: prompt (read anew), cached (read from the "
                   "server's cache), completion, repeated (answered from the response cache)",
                   {"model", "decision", "kind"}),
      spent(families_, "signalbox_cost_total", "Cost of these tokens at the configured prices",
            {"model", "decision", "currency"}),
      spent_on_default(families_, "signalbox_cost_on_default_total",
                       "Cost of the same tokens on the default model",
                       {"model", "decision", "currency"}),
      operation_tokens(families_, "gen_ai_client_token_usage",
                       "Tokens of a call of a model's server, as reported in its reply",
                       {"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_token_type",
                        "gen_ai_request_model", "gen_ai_response_model"},
                       kTokens),
      operation_duration(families_, "gen_ai_client_operation_duration_seconds",
                         "Time from sending a call to a model's server to the end of its reply",
                         {"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model",
                          "gen_ai_response_model", "error_type"},
                         kOperation),
      operation_ttft(families_, "gen_ai_server_time_to_first_token_seconds",
                     "Time to the first token of a stream that succeeded",
                     {"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model",
                      "gen_ai_response_model"},
                     kFirstToken),
      operation_tpot(families_, "gen_ai_server_time_per_output_token_seconds",
                     "Time per token after the first token of a stream that succeeded",
                     {"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model",
                      "gen_ai_response_model"},
                     kEachToken),
      loops(families_, "signalbox_looper_requests_total",
            "Requests answered by several models, and the bound that ended the calls early",
            {"decision", "algorithm", "used_up"}),
      loop_calls(families_, "signalbox_looper_calls_total",
                 "Calls of algorithms that call several models, by purpose and outcome",
                 {"model", "purpose", "outcome"}),
      shadows(families_, "signalbox_shadow_total",
              "Shadows of requests, by the model that answered as one, and outcome",
              {"decision", "model", "outcome"}),
      shadow_tokens(families_, "signalbox_shadow_tokens_total",
                    "Tokens of shadows by kind: prompt, completion", {"model", "kind"}),
      shadow_cost(families_, "signalbox_shadow_cost_total",
                  "Cost of shadows at the configured prices", {"model", "currency"}),
      shadow_latency(families_, "signalbox_shadow_seconds",
                     "Time from sending a shadow to the end of its reply", {"model"}, kReply),
      shadow_similarity(families_, "signalbox_shadow_similarity",
                        "Similarity of a shadow's answer to the client's", {"decision", "model"},
                        kShare),
      learning(families_, "signalbox_learning_total",
               "Choices of a model that learning looked at, by what it did and why",
               {"method", "action", "reason"}),
      outcomes(families_, "signalbox_outcomes_total", "Outcomes that were reported and counted",
               {"verdict"}),
      signals(families_, "llm_signal_extraction_total", "Evaluations of the signals of a type",
              {"signal_type"}),
      signal_errors(families_, "signalbox_signal_errors_total",
                    "Evaluations of signals that failed", {"signal_type"}),
      signal_matches(families_, "llm_signal_match_total", "Requests that a signal matched",
                     {"signal_type", "signal_name"}),
      signal_latency(families_, "llm_signal_extraction_latency_seconds",
                     "Time to evaluate the signals of a type", {"signal_type"}, kMicro),
      decisions(families_, "llm_decision_evaluation_total", "Requests decided by the rules"),
      decision_latency(families_, "llm_decision_evaluation_latency_seconds",
                       "Time to evaluate the rules of a request, without its signals", {}, kMicro),
      decision_matches(families_, "llm_decision_match_total", "Requests that matched a decision",
                       {"decision_name"}),
      decision_confidence(families_, "llm_decision_confidence", "Confidence of the decisions",
                          {"decision_name"}, kShare),
      pii_violations(families_, "llm_pii_violations_total",
                     "Requests refused for personal data, by type found", {"model", "pii_type"}),
      jailbreaks(families_, "signalbox_jailbreak_blocked_total",
                 "Requests refused as attempts to override instructions", {"signal_name"}),
      unsupported_languages(families_, "signalbox_unsupported_language_total",
                            "Requests with a text in a language that a guard does not support",
                            {"language"}),
      compressions(families_, "signalbox_context_compression_total",
                   "Requests whose results of tools may be shortened, by outcome", {"outcome"}),
      compression_saved(families_, "signalbox_context_tokens_saved_total",
                        "Estimated tokens of results of tools that were left out of requests"),
      rag(families_, "signalbox_rag_total",
          "Requests that documents were looked up for, by outcome", {"outcome"}),
      memory(families_, "signalbox_memory_total",
             "Requests that memories were looked up for, by outcome", {"outcome"}),
      memories_stored(families_, "signalbox_memories_stored_total",
                      "Turns that were stored as memories of their users"),
      memories(families_, "signalbox_memories", "Memories of all users now"),
      memory_users(families_, "signalbox_memory_users", "Users with memories now"),
      memory_bytes(families_, "signalbox_memory_bytes", "Bytes that the memories take"),
      shared_memories_works(families_, "signalbox_shared_memories_works",
                            "1 if the server answers and takes new memories, otherwise 0"),
      shared_memories_waiting(
          families_, "signalbox_shared_memories_waiting",
          "Changes of memories that the server does not have yet, or may have lost"),
      shared_memories(
          families_, "signalbox_shared_memories_total",
          "Changes of memories: written to the server, refused by it, or dropped because "
          "too many waited",
          {"result"}),
      shared_replay_works(families_, "signalbox_shared_replay_works",
                          "1 if the server answers and takes new records of requests, otherwise 0"),
      shared_replay_waiting(families_, "signalbox_shared_replay_waiting",
                            "Records of requests that the server does not have yet"),
      shared_replay(
          families_, "signalbox_shared_replay_total",
          "Records of requests: written to the server, refused by it, or dropped because it "
          "took none",
          {"result"}),
      shared_keys_works(families_, "signalbox_shared_keys_works",
                        "1 if the last exchange with the store of clients' keys succeeded, "
                        "otherwise 0"),
      shared_keys_known(families_, "signalbox_shared_keys_known",
                        "Keys of this store that count now; 0 if they are not known"),
      shared_learning_works(families_, "signalbox_shared_learning_works",
                            "1 if Redis answers and takes what is learnt, otherwise 0"),
      shared_learning_waiting(families_, "signalbox_shared_learning_waiting",
                              "Changes of what is learnt that Redis does not have yet, or may "
                              "have lost"),
      shared_learning(families_, "signalbox_shared_learning_total",
                      "Changes of what is learnt: written to Redis, refused by it, or dropped "
                      "because too many waited",
                      {"result"}),
      files(families_, "signalbox_files", "Files of clients and operators now"),
      vector_stores(families_, "signalbox_vector_stores", "Vector stores now"),
      vector_store_files(families_, "signalbox_vector_store_files",
                         "Files in vector stores now, by status", {"status"}),
      vector_store_bytes(families_, "signalbox_vector_store_bytes",
                         "Bytes that count towards global.stores.vector_store.bytes_max"),
      guarded(families_, "signalbox_reply_guard_total", "Checked replies, by check and outcome",
              {"check", "outcome"}),
      guard_latency(families_, "llm_hallucination_detection_latency_seconds",
                    "Time of all checks of one reply", {}, kMicro),
      unverified(families_, "llm_unverified_factual_responses_total",
                 "Replies to factual requests without context to check them against"),
      passes(families_, "signalbox_model_pass_seconds",
             "Time of a text in one of the router's own models, including its wait in the queue",
             {"model"}, kMicro),
      pass_errors(families_, "signalbox_model_pass_errors_total", "Passes that failed, by reason",
                  {"model", "reason"}),
      windows_cleared(families_, "signalbox_windows_cleared_total",
                      "Windows of long texts that a guard's screen cleared", {"model"}),
      undecided(families_, "signalbox_decision_queue_requests",
                "Requests waiting for a thread to run the router's own models"),
      queued_requests(families_, "signalbox_model_queue_requests", "Texts waiting for a model now",
                      {"model"}),
      queued_tokens(families_, "signalbox_model_queue_tokens", "Tokens of these texts", {"model"}),
      worker_fit(families_, "signalbox_worker_fit",
                 "1: the worker gets requests; 0: it fails its checks or is ejected",
                 {"model", "worker"}),
      worker_requests(families_, "signalbox_worker_requests",
                      "Requests of this router that are at a worker now", {"model", "worker"}),
      worker_queue(families_, "signalbox_worker_queue_requests",
                   "Requests waiting for a free worker now", {"model"}),
      cache_operations(families_, "llm_cache_operations_total", "Operations of the response cache",
                       {"backend", "operation", "status"}),
      cache_hits(families_, "llm_cache_plugin_hits_total",
                 "Requests answered from the response cache", {"decision_name", "plugin_type"}),
      cache_misses(families_, "llm_cache_plugin_misses_total",
                   "Requests that the response cache could not answer",
                   {"decision_name", "plugin_type"}),
      cache_latency(families_, "llm_cache_operation_duration_seconds",
                    "Time of an operation of the cache", {"backend", "operation"}, kMicro),
      cache_entries(families_, "llm_cache_entries_total", "Replies in the cache now", {"backend"}),
      contexts(families_, "signalbox_contexts",
               "Contexts at a level now; a context may be at several levels", {"level"}),
      context_bytes(families_, "signalbox_context_bytes", "Bytes that the contexts take in a level",
                    {"level"}),
      context_pinned_bytes(families_, "signalbox_context_pinned_bytes",
                           "Bytes of contexts that clients have pinned"),
      context_reads(families_, "signalbox_context_reads_total",
                    "Contexts read, by the level that had them", {"level"}),
      context_events(families_, "signalbox_context_events_total",
                     "Contexts stored, refused, dropped, paged_out, expired or damaged, and failed "
                     "calls of the shared level",
                     {"event"}),
      spending_works(families_, "signalbox_spending_works",
                     "1 if the last exchange with the store of the spending succeeded, otherwise "
                     "0"),
      spending_waiting(families_, "signalbox_spending_waiting",
                       "Sums of spending that the store does not have yet"),
      shared_counts_works(families_, "signalbox_shared_counts_works",
                          "1 if the last exchange of shared counts succeeded, otherwise 0"),
      shared_counts_unreported(families_, "signalbox_shared_counts_unreported",
                               "Totals and buckets with counts that Redis does not have yet"),
      shared_counts_routers(families_, "signalbox_shared_counts_routers",
                            "Routers that share counts now, with this one"),
      shared_counts_exchanges(families_, "signalbox_shared_counts_exchanges_total",
                              "Exchanges of shared counts, succeeded or failed", {"result"}),
      shared_responses_works(families_, "signalbox_shared_responses_works",
                             "1 if the server answers and takes new responses, otherwise 0"),
      shared_responses_waiting(families_, "signalbox_shared_responses_waiting",
                               "Responses that the server does not have yet, or may have lost"),
      shared_responses(
          families_, "signalbox_shared_responses_total",
          "Responses for other routers: written to the server, refused because one is too "
          "large, or dropped because too many waited",
          {"result"}),
      shared_responses_late(families_, "signalbox_shared_responses_late_total",
                            "Replies that went on before the server had their response, because "
                            "the time to wait was over"),
      config_updates(families_, "llm_config_updates_total",
                     "Configuration updates after the first load, active or failed", {"result"}),
      config_version(families_, "llm_config_active_version",
                     "Generation of the active configuration"),
      config_refused(families_, "signalbox_config_refused",
                     "1: the configuration in the file was rejected; 0: it is active"),
      connections(families_, "signalbox_connections", "Client connections that are open now"),
      refused(families_, "signalbox_refused_total",
              "Connections and requests refused before they were read, by the limit reached",
              {"reason"}),
      denied(families_, "signalbox_access_denied_total",
             "Requests refused because of their key or their identity, by reason", {"reason"}),
      spans(families_, "signalbox_spans_total", "Spans of traces: exported, dropped or failed",
            {"result"}),
      span_retries(families_, "signalbox_span_retries_total",
                   "Exports of spans that failed and were kept for another attempt"),
      spans_rejected(families_, "signalbox_spans_rejected_total",
                     "Spans that the collector did not take from an export that it accepted"),
      metric_exports(families_, "signalbox_metric_exports_total",
                     "Exports of metrics: exported or failed", {"result"}),
      metric_export_retries(families_, "signalbox_metric_export_retries_total",
                            "Exports of metrics that failed and were kept for another attempt"),
      metric_points_rejected(
          families_, "signalbox_metric_points_rejected_total",
          "Data points that the collector did not take from an export that it accepted"),
      replay_records(families_, "signalbox_replay_records", "Requests in the replay record now"),
      build_info(families_, "signalbox_build_info", "Always 1; the label is the running version",
                 {"version"}),
      resident_bytes(families_, "process_resident_memory_bytes",
                     "Resident memory of the process in bytes"),
      cpu_seconds(families_, "process_cpu_seconds_total",
                  "Processor time of the process in seconds") {
  // Create these series at the start, so that they appear as zeros.
  for (Degraded reason :
       {Degraded::kModelMissing, Degraded::kOverloaded, Degraded::kTimeout, Degraded::kError})
    degraded.with({std::string(name_of(reason))});
  for (const char* result : {"active", "failed"}) config_updates.with({result});
  for (const char* reason : {"connections", "bodies"}) refused.with({reason});
  for (const char* result : {"exported", "dropped", "failed"}) spans.with({result});
  span_retries.only();
  spans_rejected.only();
  requests_in_flight.only();
  config_refused.only();
  routing_latency.only();
  decisions.only();
  decision_latency.only();
}

std::string Metrics::text() const {
  return expose(read(families_));
}

}  // namespace signalbox::observe
