// Tests the lines of vLLM's metrics that matter, both as servers write them and in malformed
// variants.

#include "router/workers/load.h"

#include <gtest/gtest.h>

namespace signalbox::workers {
namespace {

TEST(Load, reads_the_load_that_servers_report) {
  const auto load = parse_load(
      "# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{engine=\"0\",model_name=\"a \\\"b\\\" } c\"} 3.0\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"a\"} 2.0 1700000000000\r\n"
      "vllm:num_requests_waiting{engine=\"0\"} 7.0\n"
      "vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 9.0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n"
      "vllm:kv_cache_usage_perc{engine=\"1\"} 0.75\n"
      "python_gc_objects_collected_total{generation=\"0\"} NaN\n");
  ASSERT_TRUE(load) << load.error().message;
  EXPECT_EQ(load->running, 5);
  EXPECT_EQ(load->waiting, 7);
  EXPECT_EQ(load->cache_usage, 0.5);
}

TEST(Load, knows_the_older_name_of_the_cache) {
  EXPECT_EQ(parse_load("vllm:gpu_cache_usage_perc 0.5")->cache_usage, 0.5);
  EXPECT_EQ(parse_load("vllm:gpu_cache_usage_perc 0.5\nvllm:kv_cache_usage_perc 1e-1")->cache_usage,
            0.1);
}

TEST(Load, is_empty_without_known_metrics) {
  const auto load = parse_load("\n\nvllm:\nsglang:num_running_reqs 4\n");
  ASSERT_TRUE(load);
  EXPECT_FALSE(load->running || load->waiting || load->cache_usage);
}

TEST(Load, refuses_values_that_are_not_counts) {
  for (const char* line : {"vllm:num_requests_running", "vllm:num_requests_running NaN",
                           "vllm:num_requests_running -1", "vllm:num_requests_running +Inf",
                           "vllm:num_requests_running 1e10", "vllm:num_requests_running{a=\"} 1",
                           "vllm:num_requests_running 1x", "vllm:num_requests_waiting{} "}) {
    const auto load = parse_load(line);
    ASSERT_FALSE(load) << line;
    EXPECT_EQ(load.error().code, Code::kCorrupt);
  }
}

}  // namespace
}  // namespace signalbox::workers
