// Batches, bounds and outages, with a collector that is a function; a real one over HTTP is in
// tests/router/net.

#include "router/observe/exporter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/json.h"

namespace signalbox::observe {
namespace {

using std::chrono::milliseconds;

Account account(std::string id) {
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
  const Account one = account("r-1");
  const std::string text = otlp_json({"router", "1", ""}, {&one, 1});
  const auto document = json::Document::parse(text);
  ASSERT_TRUE(document) << text;
  const json::Value resource = *document->root().find("resourceSpans")->items().begin();
  EXPECT_EQ(resource.find("resource")->raw(),
            R"({"attributes":[{"key":"service.name","value":{"stringValue":"router"}},)"
            R"({"key":"service.version","value":{"stringValue":"1"}}]})");
  const json::Value scope = *resource.find("scopeSpans")->items().begin();
  std::vector<json::Value> spans;
  for (const json::Value& span : scope.find("spans")->items()) spans.push_back(span);
  std::string names;
  for (const json::Value& span : spans) {
    EXPECT_EQ(span.find("traceId")->text(), "4bf92f3577b34da6a3ce929d0e0e4736");
    names += std::string(span.find("name")->text()).substr(16) + " ";
  }
  EXPECT_EQ(names,
            "request.received signal.evaluation signal.keyword decision.evaluation "
            "routing.decision upstream.request ");
  EXPECT_EQ(spans[0].find("parentSpanId")->text(), "00f067aa0ba902b7");
  EXPECT_EQ(spans[0].find("startTimeUnixNano")->text(), "1700000000000000000");
  EXPECT_EQ(spans[0].find("endTimeUnixNano")->text(), "1700000000010000000");
  EXPECT_EQ(spans[0].find("status")->raw(), R"({"code":2,"message":"upstream_error"})");
  EXPECT_EQ(spans[2].find("parentSpanId")->text(), spans[1].find("spanId")->text());
  EXPECT_EQ(spans[5].find("parentSpanId")->text(), spans[0].find("spanId")->text());
  EXPECT_EQ(spans[5].find("spanId")->text(), hex(one.upstream_span));
  EXPECT_NE(text.find(R"({"key":"http.status_code","value":{"intValue":"502"}})"),
            std::string::npos)
      << text;
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
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(exporter.add(account("a")));
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
    EXPECT_TRUE(exporter.add(account("a")));
    begun.get_future().wait();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(exporter.add(account("b")));
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(exporter.add(account("c")));
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
  exporter.add(account("a"));
  for (int i = 0; i < 5000 && posts == 0; ++i) std::this_thread::sleep_for(milliseconds(1));
  exporter.add(account("b"));
  for (int i = 0; i < 5000 && count(results, "exported") < 1; ++i)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(count(results, "failed"), 1);
  EXPECT_EQ(count(results, "exported"), 1);
}

}  // namespace
}  // namespace signalbox::observe
