// Tests batches, bounds and outages with a function as the collector. tests/router/net tests a real
// collector over HTTP.

#include "router/observe/exporter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>

#include "tests/router/observe/otlp_read.h"

namespace signalbox::observe {
namespace {

using std::chrono::milliseconds;

Account account_with_id(std::string id) {
  Account out;
  out.id = std::move(id);
  out.trace = trace_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  out.path = "/v1/chat/completions";
  out.at = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
  out.began = TimePoint(milliseconds(50));
  out.understood = out.began + milliseconds(2);
  out.rules_began = out.began + milliseconds(1);
  out.rules_ended = out.understood;
  out.sent = out.understood;
  out.ended = out.began + milliseconds(10);
  out.decided = true;
  out.decision = "math";
  out.model = "small";
  out.status = 502;
  out.error = "upstream_error";
  out.signals = {{"keyword", out.began, out.began + milliseconds(1), false}};
  out.matched = {{"keyword", {"proof"}}};
  out.upstream_span = new_span_id();
  return out;
}

TEST(Otlp, a_request_becomes_a_tree_of_spans) {
  const Account one = account_with_id("r-1");
  const auto read = test::read_export(otlp_request({"router", "1", "", "i-1"}, {&one, 1}));
  const std::map<std::string, std::string> who{{"service.name", "\n\6router"},
                                               {"service.instance.id", "\n\3i-1"},
                                               {"service.version",
                                                "\n\1"
                                                "1"}};
  EXPECT_EQ(read.resource, who);
  const std::vector<test::ReadSpan>& spans = read.spans;
  std::string names;
  for (const test::ReadSpan& span : spans) {
    EXPECT_EQ(span.trace, "4bf92f3577b34da6a3ce929d0e0e4736");
    names += span.name.substr(16) + " ";
  }
  EXPECT_EQ(names,
            "request.received signal.evaluation signal.keyword decision.evaluation "
            "routing.decision upstream.request ");
  EXPECT_EQ(spans[0].parent, "00f067aa0ba902b7");
  EXPECT_EQ(spans[0].began_ns, 1'700'000'000'000'000'000U);
  EXPECT_EQ(spans[0].ended_ns, 1'700'000'000'010'000'000U);
  EXPECT_EQ(spans[0].status, 2U);
  EXPECT_EQ(spans[0].error, "upstream_error");
  EXPECT_EQ(spans[0].attributes.at("http.status_code"), "\x18\xF6\x03");
  EXPECT_EQ(spans[2].parent, spans[1].id);
  EXPECT_EQ(spans[2].attributes.at("signal.matched_rules"), "\x2A\x09\n\x07\n\5proof");
  EXPECT_EQ(spans[5].parent, spans[0].id);
  EXPECT_EQ(spans[5].id, hex(one.upstream_span));
}

/// The counters of one exporter.
struct Counts {
  std::vector<const FamilyBase*> all;
  Family<Counter> results{all, "spans", "spans", {"result"}};
  Family<Counter> retries{all, "retries", "retries"};
  Family<Counter> rejected{all, "rejected", "rejected"};

  ExportCounters counters() { return {results, retries, rejected}; }
  double of(const char* result) { return results.with({result}).value(); }
};

/// Waits until `holds`, or fails the test.
template <class Holds>
void wait_until(const Holds& holds) {
  for (int i = 0; i < 20'000 && !holds(); ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(holds());
}

Delivery again(milliseconds pause = milliseconds(0)) {
  return {.outcome = Delivery::Outcome::kAgain, .pause = pause, .message = "not now"};
}

TEST(Exporter, sends_batches_and_the_remaining_spans_at_the_end) {
  Counts counts;
  std::atomic<int> posts{0};
  {
    Exporter exporter(
        [&](const std::string&) {
          ++posts;
          return Delivery{};
        },
        {}, counts.counters(), {.queue_max = 100, .batch_max = 4, .period = std::chrono::hours(1)});
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(exporter.add(account_with_id("a")));
  }
  EXPECT_EQ(counts.of("exported"), 10);
  EXPECT_EQ(posts, 3);
}

TEST(Exporter, drops_and_counts_while_the_collector_hangs) {
  Counts counts;
  std::promise<void> begun, go;
  std::atomic<bool> first{true};
  {
    Exporter exporter(
        [&](const std::string&) {
          if (first.exchange(false)) {
            begun.set_value();
            go.get_future().wait();
          }
          return Delivery{};
        },
        {}, counts.counters(), {.queue_max = 5, .batch_max = 1, .period = milliseconds(1)});
    EXPECT_TRUE(exporter.add(account_with_id("a")));
    begun.get_future().wait();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(exporter.add(account_with_id("b")));
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(exporter.add(account_with_id("c")));
    go.set_value();
  }
  EXPECT_EQ(counts.of("exported"), 6);
  EXPECT_EQ(counts.of("dropped"), 1000);
}

TEST(Exporter, sends_the_same_batch_again_after_an_outage) {
  Counts counts;
  std::mutex mutex;
  std::vector<std::string> bodies;
  Exporter exporter(
      [&](const std::string& body) -> Delivery {
        const std::lock_guard lock(mutex);
        bodies.push_back(body);
        return bodies.size() <= 2 ? again() : Delivery{};
      },
      {}, counts.counters(),
      {.batch_max = 1, .period = milliseconds(1), .retry = {.pause = milliseconds(1)}});
  exporter.add(account_with_id("a"));
  exporter.add(account_with_id("b"));
  wait_until([&] { return counts.of("exported") == 2; });
  const std::lock_guard lock(mutex);
  ASSERT_EQ(bodies.size(), 4U);
  EXPECT_EQ(bodies[0], bodies[1]);
  EXPECT_EQ(bodies[0], bodies[2]);
  EXPECT_NE(bodies[0], bodies[3]);
  EXPECT_EQ(counts.retries.only().value(), 2);
  EXPECT_EQ(counts.of("failed"), 0);
}

TEST(Exporter, drops_a_batch_after_its_time) {
  Counts counts;
  std::atomic<int> posts{0};
  Exporter exporter(
      [&](const std::string&) {
        ++posts;
        return again();
      },
      {}, counts.counters(),
      {.batch_max = 1,
       .period = milliseconds(1),
       .retry = {.pause = milliseconds(1), .keep = milliseconds(20)}});
  exporter.add(account_with_id("a"));
  wait_until([&] { return counts.of("failed") == 1; });
  EXPECT_GE(posts, 2);
  EXPECT_EQ(counts.retries.only().value(), posts - 1);
}

TEST(Exporter, does_not_resend_a_refused_batch) {
  Counts counts;
  std::atomic<int> posts{0};
  {
    Exporter exporter(
        [&](const std::string&) -> Delivery {
          if (++posts == 1) return {.outcome = Delivery::Outcome::kRefused, .message = "no"};
          return {};
        },
        {}, counts.counters(), {.batch_max = 1, .period = milliseconds(1)});
    exporter.add(account_with_id("a"));
    exporter.add(account_with_id("b"));
  }
  EXPECT_EQ(posts, 2);
  EXPECT_EQ(counts.of("failed"), 1);
  EXPECT_EQ(counts.of("exported"), 1);
  EXPECT_EQ(counts.retries.only().value(), 0);
}

TEST(Exporter, waits_as_long_as_the_collector_requests_but_not_at_the_end) {
  Counts counts;
  std::atomic<int> posts{0};
  {
    Exporter exporter(
        [&](const std::string&) {
          ++posts;
          return again(std::chrono::hours(1));
        },
        {}, counts.counters(),
        {.batch_max = 1, .period = milliseconds(1), .retry = {.pause = milliseconds(1)}});
    exporter.add(account_with_id("a"));
    wait_until([&] { return counts.retries.only().value() == 1; });
    exporter.add(account_with_id("b"));
  }
  EXPECT_EQ(posts, 1);
  EXPECT_EQ(counts.of("failed"), 1);
  EXPECT_EQ(counts.of("dropped"), 1);
}

TEST(Exporter, counts_spans_that_an_accepted_export_lost) {
  Counts counts;
  {
    Exporter exporter(
        [](const std::string&) -> Delivery { return {.rejected = 3, .message = "too old"}; }, {},
        counts.counters());
    exporter.add(account_with_id("a"));
  }
  EXPECT_EQ(counts.of("exported"), 1);
  EXPECT_EQ(counts.rejected.only().value(), 3);
}

}  // namespace
}  // namespace signalbox::observe
