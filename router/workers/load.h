#pragma once
// How busy a server says it is: what vLLM's /metrics tells, in the text format of Prometheus.

#include <optional>
#include <string_view>

#include "base/error.h"

namespace signalbox::workers {

/// Sums over the server's engines; what it does not say is nothing.
struct Load {
  std::optional<double> running;      // requests that are computed
  std::optional<double> waiting;      // requests in its queue
  std::optional<double> cache_usage;  // of its KV cache, 0 to 1; the mean over engines
};

/// vllm:num_requests_running, vllm:num_requests_waiting, and vllm:kv_cache_usage_perc or, of older
/// servers, vllm:gpu_cache_usage_perc; everything else is passed over. Linear in the text. Errors:
/// kCorrupt for one of these lines that has no number, or one that is negative, infinite or over
/// 10^9.
Result<Load> parse_load(std::string_view metrics);

}  // namespace signalbox::workers
