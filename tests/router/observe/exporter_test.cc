// Tests batches, bounds and outages with a function as the collector. tests/router/net tests a real
// collector over HTTP.

#include "router/observe/exporter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

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

double count(Family<Counter>& results, const char* result) {
  return results.with({result}).value();
}

TEST(Otlp, tells_a_request_as_a_tree_of_spans) {
  const Account one = account_with_id("r-1");
  const auto read = test::read_export(otlp_request({"router", "1", ""}, {&one, 1}));
  const std::map<std::string, std::string> who{{"service.name", "\n\6router"},
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

TEST(Exporter, sends_batches_and_what_is_left_at_the_end) {
  std::vector<const FamilyBase*> all;
  Family<Counter> results(all, "spans", "spans", {"result"});
  std::atomic<int> posts{0};
  {
    Exporter exporter(
        [&](const std::string&) {
          ++posts;
          return Result<void>{};
        },
        {}, results, {.queue_max = 100, .batch_max = 4, .period = std::chrono::hours(1)});
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(exporter.add(account_with_id("a")));
  }
  EXPECT_EQ(count(results, "exported"), 10);
  EXPECT_GE(posts, 3);
}

TEST(Exporter, drops_and_counts_while_the_collector_hangs) {
  std::vector<const FamilyBase*> all;
  Family<Counter> results(all, "spans", "spans", {"result"});
  std::promise<void> begun, go;
  std::atomic<bool> first{true};
  {
    Exporter exporter(
        [&](const std::string&) {
          if (first.exchange(false)) {
            begun.set_value();
            go.get_future().wait();
          }
          return Result<void>{};
        },
        {}, results, {.queue_max = 5, .batch_max = 1, .period = milliseconds(1)});
    EXPECT_TRUE(exporter.add(account_with_id("a")));
    begun.get_future().wait();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(exporter.add(account_with_id("b")));
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(exporter.add(account_with_id("c")));
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
    go.set_value();
  }
  EXPECT_EQ(count(results, "exported"), 6);
  EXPECT_EQ(count(results, "dropped"), 1000);
}

TEST(Exporter, tries_again_after_an_outage) {
  std::vector<const FamilyBase*> all;
  Family<Counter> results(all, "spans", "spans", {"result"});
  std::atomic<int> posts{0};
  Exporter exporter(
      [&](const std::string&) -> Result<void> {
        if (++posts == 1) return fail(Code::kUpstream, "cannot connect");
        return {};
      },
      {}, results, {.period = milliseconds(1), .pause = milliseconds(20)});
  exporter.add(account_with_id("a"));
  for (int i = 0; i < 5000 && posts == 0; ++i) std::this_thread::sleep_for(milliseconds(1));
  exporter.add(account_with_id("b"));
  for (int i = 0; i < 5000 && count(results, "exported") < 1; ++i)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(count(results, "failed"), 1);
  EXPECT_EQ(count(results, "exported"), 1);
}

}  // namespace
}  // namespace signalbox::observe
