// Tests exports of metrics: that they have every number of /metrics, and when they are sent. A
// function stands in for the collector.

#include "router/observe/metric_exporter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "router/observe/exposition.h"
#include "tests/router/observe/metric_points.h"

namespace signalbox::observe {
namespace {

using std::chrono::milliseconds;

/// Fills metrics of every kind of family. Some of the numbers have no short decimal form.
void fill(Metrics& metrics) {
  metrics.requests.with({"small", "math", "200"}).add(3);
  metrics.requests.with({"large", "none", "502"}).add();
  metrics.cost.with({"small", "EUR"}).add(0.1 + 0.2);
  metrics.in_flight.with({"small"}).set(-1.0 / 3);
  metrics.worker_fit.set({{{"small", "a"}, 1}, {{"small", "b"}, 0}});
  for (const double each : {0.0001, 0.7, 12.0, 5000.0})
    metrics.completion_latency.with({"small"}).observe(each);
  metrics.operation_tokens.with({"chat", "openai", "input", "small", "scripted"}).observe(700);
  metrics.operation_duration.with({"chat", "openai", "small", "", "timeout"}).observe(0.3);
  metrics.operation_duration.with({"chat", "openai", "small", "scripted", ""}).observe(1.0 / 7);
  metrics.operation_ttft.with({"chat", "openai", "small", "scripted"}).observe(0.01);
  metrics.operation_tpot.with({"chat", "openai", "small", "scripted"}).observe(0.002);
  metrics.build_info.with({"not UTF-8: \xFF"}).set(1);
}

test::ReadMetrics read_all(const std::vector<std::string>& bodies) {
  test::ReadMetrics out;
  for (const std::string& body : bodies) test::read_metrics(body, out);
  return out;
}

uint64_t ns(std::chrono::system_clock::time_point at) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(at.time_since_epoch()).count());
}

TEST(OtlpMetrics, every_number_is_that_of_the_text) {
  Metrics metrics;
  fill(metrics);
  const Collection collection = metrics.collect();
  const auto read = read_all(otlp_requests({"router", "1", "", "i-1"}, collection));
  const auto text = test::read_text(expose(collection.readings));
  EXPECT_GT(text.size(), 100U);
  EXPECT_EQ(read.values.size(), text.size());
  for (const auto& [line, value] : text) {
    const auto found = read.values.find(line);
    ASSERT_NE(found, read.values.end()) << line;
    EXPECT_DOUBLE_EQ(found->second, value) << line;  // the text has 16 digits
  }
  EXPECT_EQ(read.at_ns, std::set{ns(collection.at)});
  EXPECT_EQ(read.began_ns, std::set{ns(collection.began)});
  EXPECT_EQ(read.resource.at("service.instance.id"), "\n\3i-1");
  EXPECT_EQ(metrics.collect().began, collection.began);
}

TEST(OtlpMetrics, names_of_the_conventions_have_dots_and_units) {
  Metrics metrics;
  fill(metrics);
  const auto read = read_all(otlp_requests({}, metrics.collect()));
  size_t families = 0, found = 0;
  for (const FamilyBase* family : metrics.families())
    families += family->name().starts_with("gen_");
  for (const std::string& name : read.names) {
    found += name.starts_with("gen_ai.");
    EXPECT_FALSE(name.starts_with("gen_ai_")) << name;
  }
  EXPECT_EQ(found, families);
  for (const char* unit :
       {"gen_ai.client.token.usage {token}", "gen_ai.client.operation.duration s",
        "gen_ai.server.time_to_first_token s", "llm_model_completion_latency_seconds s",
        "llm_model_requests_total "})
    EXPECT_EQ(read.units.count(unit), 1U) << unit;
}

TEST(OtlpMetrics, large_collections_are_split_without_loss) {
  Metrics metrics;
  fill(metrics);
  for (int i = 0; i < 100; ++i)
    metrics.requests.with({"m" + std::to_string(i), "none", "200"}).add(i);
  const Collection collection = metrics.collect();
  const auto bodies = otlp_requests({}, collection, 1000);
  EXPECT_GT(bodies.size(), 10U);
  for (const std::string& body : bodies) EXPECT_LT(body.size(), 4000U);
  EXPECT_EQ(read_all(bodies).values, read_all(otlp_requests({}, collection)).values);
  EXPECT_EQ(otlp_requests({}, collection).size(), 1U);
}

/// A router's metrics with a collector of them, which keeps the count of requests of each export.
struct Site {
  Metrics metrics;
  std::mutex mutex;
  std::condition_variable came;
  std::vector<std::string> bodies;
  std::vector<double> counts;
  Counter& requests = metrics.requests.with({"small", "math", "200"});
  std::function<Delivery(size_t)> reply = [](size_t) { return Delivery{}; };  // by number

  Delivery take(const std::string& body) {
    const std::lock_guard lock(mutex);
    test::ReadMetrics read;
    test::read_metrics(body, read);
    bodies.push_back(body);
    counts.push_back(
        read.values.at(R"(llm_model_requests_total{decision="math",model="small",status="200"})"));
    came.notify_all();
    return reply(bodies.size());
  }
  void wait_for(size_t exports) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(
        came.wait_for(lock, std::chrono::seconds(60), [&] { return bodies.size() >= exports; }));
  }
  size_t sent() {
    const std::lock_guard lock(mutex);
    return bodies.size();
  }
  MetricTarget target(milliseconds interval) {
    return {[this](const std::string& body) { return take(body); }, {}, interval};
  }
  double of(const char* result) { return metrics.metric_exports.with({result}).value(); }

  MetricExporter exporter{
      [this] { return metrics.collect(); },
      {metrics.metric_exports, metrics.metric_export_retries, metrics.metric_points_rejected},
      {.pause = milliseconds(1)}};
};

Delivery fails(milliseconds pause = milliseconds(0)) {
  return {.outcome = Delivery::Outcome::kAgain, .pause = pause, .message = "not now"};
}

TEST(MetricExporter, sends_at_each_interval_and_the_last_figures_at_the_end) {
  Site site;
  site.requests.add();
  site.exporter.set_target(site.target(milliseconds(1)));
  site.wait_for(3);
  site.requests.add();
  site.exporter.stop();
  EXPECT_EQ(site.counts.front(), 1);
  EXPECT_EQ(site.counts.back(), 2);
  EXPECT_EQ(site.of("exported"), site.bodies.size());
  EXPECT_EQ(site.of("failed"), 0);
  const size_t sent = site.bodies.size();
  EXPECT_FALSE(site.exporter.set_target(site.target(milliseconds(1))));
  site.exporter.stop();
  EXPECT_EQ(site.bodies.size(), sent);
}

TEST(MetricExporter, the_end_does_not_wait_for_the_interval) {
  Site site;
  site.exporter.set_target(site.target(std::chrono::hours(1)));
  site.requests.add(7);
  site.exporter.stop();
  EXPECT_EQ(site.counts, std::vector<double>{7});
}

TEST(MetricExporter, sends_nothing_without_a_target_and_follows_a_new_one) {
  Site site;
  site.exporter.set_target({});
  site.exporter.set_target(site.target(milliseconds(1)));
  site.wait_for(1);
  site.exporter.set_target({});
  site.exporter.set_target(site.target(milliseconds(1)));
  site.wait_for(site.sent() + 2);
  site.exporter.set_target({});
  site.exporter.stop();
  Site silent;
  silent.exporter.set_target({});
  silent.exporter.stop();
  EXPECT_TRUE(silent.bodies.empty());
}

TEST(MetricExporter, repeats_a_failed_export_as_it_was) {
  Site site;
  site.reply = [&](size_t number) {
    site.requests.add();
    return number <= 2 ? fails() : Delivery{};
  };
  site.exporter.set_target(site.target(std::chrono::seconds(1)));
  site.wait_for(3);
  site.exporter.stop();
  EXPECT_EQ(site.bodies[0], site.bodies[1]);
  EXPECT_EQ(site.bodies[0], site.bodies[2]);
  EXPECT_EQ(site.counts.back(), 3);
  EXPECT_EQ(site.metrics.metric_export_retries.only().value(), 2);
  EXPECT_EQ(site.of("failed"), 0);
}

TEST(MetricExporter, does_not_repeat_the_export_of_the_end) {
  Site site;
  site.reply = [](size_t) { return fails(std::chrono::hours(1)); };
  site.exporter.set_target(site.target(std::chrono::hours(1)));
  site.exporter.stop();
  EXPECT_EQ(site.bodies.size(), 1U);
  EXPECT_EQ(site.of("failed"), 1);
}

TEST(MetricExporter, the_next_figures_replace_those_that_were_not_taken) {
  Site site;
  std::atomic<bool> away{true};
  site.reply = [&](size_t) { return away ? fails() : Delivery{}; };
  site.exporter.set_target(site.target(milliseconds(10)));
  site.requests.add(5);
  site.wait_for(20);
  site.requests.add(5);
  away = false;
  site.exporter.stop();
  EXPECT_GE(site.of("failed"), 1);
  EXPECT_EQ(site.counts.back(), 10);
}

TEST(MetricExporter, waits_as_long_as_the_collector_requests_but_not_at_the_end) {
  Site site;
  site.reply = [&](size_t number) {
    return number == 1 ? fails(std::chrono::hours(1)) : Delivery{};
  };
  site.exporter.set_target(site.target(milliseconds(1)));
  site.wait_for(1);
  site.requests.add();
  site.exporter.stop();
  EXPECT_EQ(site.counts, (std::vector<double>{0, 1}));
}

TEST(MetricExporter, a_new_target_does_not_wait_for_a_collector_that_requested_a_pause) {
  Site site, next;
  site.reply = [](size_t) { return fails(std::chrono::hours(1)); };
  site.exporter.set_target(site.target(milliseconds(1)));
  site.wait_for(1);
  site.exporter.set_target(next.target(milliseconds(1)));
  next.wait_for(1);
  site.exporter.stop();
  EXPECT_EQ(site.bodies.size(), 1U);
  EXPECT_EQ(site.of("failed"), 1);
}

TEST(MetricExporter, figures_that_became_old_during_a_pause_are_not_sent) {
  Site site;
  site.reply = [&](size_t number) {
    site.requests.add();
    return number == 1 ? fails(milliseconds(50)) : Delivery{};
  };
  site.exporter.set_target(site.target(milliseconds(20)));
  site.wait_for(2);
  site.exporter.stop();
  EXPECT_EQ(site.counts[0], 0);
  EXPECT_EQ(site.counts[1], 1);
}

TEST(MetricExporter, the_end_does_not_wait_twice_for_a_collector_that_does_not_answer) {
  Site site;
  MetricExporter exporter([&] { return site.metrics.collect(); },
                          {site.metrics.metric_exports, site.metrics.metric_export_retries,
                           site.metrics.metric_points_rejected},
                          {.pause = milliseconds(1)}, milliseconds(0));
  std::promise<void> began;
  site.reply = [&](size_t number) {
    if (number == 1) began.set_value();
    // Has no effect but to find out when the exporter is to stop.
    while (exporter.set_target(site.target(milliseconds(1)))) std::this_thread::yield();
    return fails();
  };
  exporter.set_target(site.target(milliseconds(1)));
  began.get_future().wait();
  exporter.stop();
  EXPECT_EQ(site.bodies.size(), 1U);
}

TEST(MetricExporter, a_refused_export_is_not_repeated_and_rejected_points_are_counted) {
  Site site;
  site.reply = [&](size_t number) -> Delivery {
    if (number == 1) return {.outcome = Delivery::Outcome::kRefused, .message = "no"};
    return {.rejected = 4, .message = "too old"};
  };
  site.exporter.set_target(site.target(milliseconds(1)));
  site.wait_for(2);
  site.exporter.stop();
  EXPECT_EQ(site.of("failed"), 1);
  EXPECT_EQ(site.metrics.metric_export_retries.only().value(), 0);
  EXPECT_EQ(site.metrics.metric_points_rejected.only().value(),
            4.0 * static_cast<double>(site.bodies.size() - 1));
}

}  // namespace
}  // namespace signalbox::observe
