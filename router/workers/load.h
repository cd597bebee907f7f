#pragma once
// Parses the load that a server reports: vLLM's /metrics in the text format of Prometheus.

#include <optional>
#include <string_view>

#include "base/error.h"

namespace signalbox::workers {

/// Sums over the server's engines. A value that the server does not report is nullopt.
struct Load {
  std::optional<double> running;      // requests being computed
  std::optional<double> waiting;      // requests in its queue
  std::optional<double> cache_usage;  // use of the KV cache, 0 to 1; the mean over engines
};

/// Reads vllm:num_requests_running, vllm:num_requests_waiting, and vllm:kv_cache_usage_perc or,
/// from older servers, vllm:gpu_cache_usage_perc. It ignores all other metrics. Linear in the text.
/// Errors: kCorrupt if one of these lines has no number, or a number that is negative, infinite or
/// over 10^9.
Result<Load> parse_load(std::string_view metrics);

}  // namespace signalbox::workers
