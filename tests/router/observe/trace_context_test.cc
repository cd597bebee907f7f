// Tests the cases of W3C's specification, and the new trace if a client sends no valid header.

#include "router/observe/trace_context.h"

#include <gtest/gtest.h>

namespace signalbox::observe {
namespace {

constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kGiven = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, keeps_the_trace_and_makes_a_span_of_its_own) {
  const TraceContext context = trace_context(kGiven);
  EXPECT_EQ(hex(context.trace), kTrace);
  EXPECT_EQ(hex(context.parent), "00f067aa0ba902b7");
  EXPECT_NE(hex(context.span), "00f067aa0ba902b7");
  EXPECT_TRUE(context.sampled);
  EXPECT_TRUE(context.state_holds);
  const std::string header = context.traceparent(false);
  EXPECT_EQ(header, "00-4bf92f3577b34da6a3ce929d0e0e4736-" + hex(context.span) + "-01");
}

TEST(TraceContext, sets_the_sampled_flag_only_if_the_trace_is_recorded) {
  const auto unsampled = trace_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
  EXPECT_TRUE(unsampled.traceparent(false).ends_with("-00"));
  EXPECT_TRUE(unsampled.traceparent(true).ends_with("-01"));
}

TEST(TraceContext, reads_the_known_part_of_future_versions) {
  EXPECT_EQ(
      hex(trace_context("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what").trace),
      kTrace);
  EXPECT_EQ(hex(trace_context("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").trace),
            kTrace);
}

TEST(TraceContext, starts_a_trace_without_a_valid_header) {
  for (const std::string_view invalid : {
           "",
           "00",
           "garbage that is as long as the header would have to be, or so",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",       // forbidden version
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",       // no trace
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",       // no parent
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",       // upper case
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",  // too long for 00
           "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",        // too short
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",       // no flags
           "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what",
       }) {
    const TraceContext context = trace_context(invalid);
    EXPECT_NE(hex(context.trace), kTrace) << invalid;
    EXPECT_NE(hex(context.trace), std::string(32, '0')) << invalid;
    EXPECT_FALSE(context.has_parent()) << invalid;
    EXPECT_FALSE(context.state_holds) << invalid;
  }
  EXPECT_NE(hex(trace_context(kGiven, 2).trace), kTrace) << "two of them";
  EXPECT_NE(hex(trace_context(std::nullopt).trace), hex(trace_context(std::nullopt).trace));
}

TEST(TraceContext, samples_a_share_of_all_traces) {
  size_t taken = 0;
  for (int i = 0; i < 4000; ++i) taken += is_in_share(trace_context(std::nullopt).trace, 0.25);
  EXPECT_GT(taken, 800U);
  EXPECT_LT(taken, 1200U);
  const auto trace = trace_context(kGiven).trace;
  EXPECT_TRUE(is_in_share(trace, 1));
  EXPECT_FALSE(is_in_share(trace, 0));
  EXPECT_EQ(is_in_share(trace, 0.5), is_in_share(trace, 0.5));
}

TEST(RequestId, keeps_only_ids_that_are_safe_in_a_log_line) {
  EXPECT_EQ(request_id("abc-1"), "abc-1");
  EXPECT_EQ(request_id(std::string(128, 'x')), std::string(128, 'x'));
  for (const std::string& unfit : {std::string(), std::string("a b"), std::string("a\nb"),
                                   std::string("\xC3\xA9"), std::string(129, 'x')}) {
    const std::string made = request_id(unfit);
    EXPECT_EQ(made.size(), 36U);
    EXPECT_TRUE(made.starts_with("req-")) << made;
  }
}

}  // namespace
}  // namespace signalbox::observe
