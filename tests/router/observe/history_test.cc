// Tests the history of the last minutes that is shown to observers.

#include "router/observe/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "router/observe/meters.h"

namespace signalbox::observe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

Account answered_request() {
  Account account;
  account.began = TimePoint(milliseconds(1000));
  account.understood = account.sent = account.began + milliseconds(2);
  account.ended = account.began + milliseconds(100);
  account.decided = true;
  account.model = "small";
  account.decision = "math";
  account.status = 200;
  account.tokens = Tokens{100, 0, 20};
  return account;
}

Vocabulary two_models() {
  Vocabulary out;
  out.models = {{"small", ""}};
  out.decisions = {"math"};
  out.cache = "memory";
  return out;
}

struct Watched {
  Metrics metrics;
  Meters meters{metrics, two_models()};
  History history{metrics};
  system_clock::time_point now{seconds(1'000'000)};

  void step() { history.step(now += History::kStep); }
  json::Document page(uint64_t from = 0) const {
    auto document = json::Document::parse(history.json(from));
    EXPECT_TRUE(document) << document.error().message;
    return *std::move(document);
  }
};

std::vector<std::string> raw_steps(const json::Document& page) {
  std::vector<std::string> out;
  for (const json::Value& step : page.root().find("steps")->items()) out.emplace_back(step.raw());
  return out;
}

TEST(History, returns_the_additions_of_each_step) {
  Watched watched;
  watched.meters.record(answered_request());
  watched.meters.record(answered_request());
  watched.step();
  watched.step();
  Account kept = answered_request();
  kept.sent = kept.began;
  kept.tokens.reset();
  kept.cache = CacheUse::kHit;
  kept.repeated = Tokens{100, 0, 20};
  watched.meters.record(kept);
  Account refused = answered_request();
  refused.sent = refused.began;
  refused.tokens.reset();
  refused.model.clear();
  refused.error = "jailbreak_block";
  watched.meters.record(refused);
  refused.error = "missing_identity";
  watched.meters.record(refused);
  watched.step();

  const json::Document page = watched.page();
  const std::vector<std::string> steps = raw_steps(page);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(
      steps[0].find(R"({"at":1000002,"requests":2,"prompt_tokens":200,"completion_tokens":40,)"
                    R"("models":{"small":2},"decisions":{"math":2},"routing":[)"),
      0u)
      << steps[0];
  EXPECT_EQ(steps[1], R"({"at":1000004})");
  EXPECT_EQ(steps[2].find(R"({"at":1000006,"requests":3,"blocked":2,"saved_tokens":120,)"
                          R"("models":{"small":1,"unknown":2},"decisions":{"math":3},)"
                          R"("cache":{"hit":1},)"),
            0u)
      << steps[2];
}

TEST(History, separates_failures_from_refusals_and_mistakes_of_clients) {
  Watched watched;
  for (const char* reason :
       {"parse_error", "upstream_4xx", "budget_exceeded", "unsupported_language", "upstream_5xx"}) {
    Account each = answered_request();
    each.tokens.reset();
    each.error = reason;
    watched.meters.record(each);
  }
  watched.step();
  const json::Document page = watched.page();
  const auto step = *page.root().find("steps")->items().begin();
  EXPECT_EQ(*step.find("failed")->integer(), 1);
  EXPECT_EQ(*step.find("blocked")->integer(), 2);
  EXPECT_EQ(*step.find("mistakes")->integer(), 2);
  EXPECT_EQ(step.find("errors")->raw(),
            R"({"budget_exceeded":1,"parse_error":1,"unsupported_language":1,)"
            R"("upstream_4xx":1,"upstream_5xx":1})");
}

TEST(History, sorts_denied_requests_by_kind) {
  Watched watched;
  for (const char* reason : {"unknown_key", "expired_token", "keys_unavailable",
                             "audit_unavailable", "duplicate_header"})
    watched.metrics.denied.with({reason}).add();
  watched.step();
  const json::Document page = watched.page();
  const auto step = *page.root().find("steps")->items().begin();
  EXPECT_FALSE(step.find("requests"));
  EXPECT_EQ(*step.find("failed")->integer(), 2);
  EXPECT_EQ(*step.find("blocked")->integer(), 2);
  EXPECT_EQ(*step.find("mistakes")->integer(), 1);
  EXPECT_EQ(*step.find("denied")->find("keys_unavailable")->integer(), 1);
}

TEST(History, marks_currencies_in_which_costs_cannot_be_compared) {
  Vocabulary vocabulary = two_models();
  vocabulary.models = {{"small", "USD"}, {"free", ""}, {"far", "EUR"}};
  vocabulary.default_currency = "USD";
  Watched watched;
  const Meters meters{watched.metrics, vocabulary};
  const auto answered = [&](const char* model, double cost) {
    Account account = answered_request();
    account.model = model;
    account.cost = cost;
    account.cost_on_default = 2;
    meters.record(account);
  };
  answered("small", 0.5);
  watched.step();
  answered("free", 0);
  watched.step();
  answered("far", 0.25);
  watched.step();
  answered("small", 0.5);
  watched.step();
  const json::Document page = watched.page();
  std::vector<std::string> costs;
  for (const json::Value& step : page.root().find("steps")->items()) {
    std::string& text = costs.emplace_back();
    for (const char* name : {"cost", "cost_on_default", "not_compared"}) {
      const auto value = step.find(name);
      text += fmt::format("{} ", value ? value->raw() : "-");
    }
  }
  EXPECT_EQ(costs[0], R"({"USD":0.5} {"USD":2} - )");
  EXPECT_EQ(costs[1], R"(- {"USD":2} {"USD":2} )");
  EXPECT_EQ(costs[2], R"({"EUR":0.25} {"USD":2} {"EUR":0.25,"USD":2} )");
  EXPECT_EQ(costs[3], costs[0]);
}

TEST(History, counts_times_by_bound) {
  Watched watched;
  watched.meters.record(answered_request());
  watched.step();
  const json::Document page = watched.page();
  const auto step = *page.root().find("steps")->items().begin();
  const auto bounds = *page.root().find("bounds")->find("upstream");
  std::vector<double> uppers;
  for (const json::Value& bound : bounds.items()) uppers.push_back(*bound.number());
  size_t at = 0, bucket = uppers.size() + 1, counts = 0;
  for (const json::Value& count : step.find("upstream")->items()) {
    if (*count.integer() == 1) bucket = at;
    ++at;
    counts += static_cast<size_t>(*count.integer());
  }
  EXPECT_EQ(at, uppers.size() + 1);
  EXPECT_EQ(counts, 1u);
  ASSERT_LT(bucket, uppers.size());
  EXPECT_GE(uppers[bucket], 0.098);
}

TEST(History, continues_from_a_number_and_forgets_the_oldest_steps) {
  Watched watched;
  for (int i = 0; i < 5; ++i) watched.step();
  EXPECT_EQ(*watched.page().root().find("next")->integer(), 5);
  EXPECT_EQ(raw_steps(watched.page(3)).size(), 2u);
  EXPECT_EQ(raw_steps(watched.page(5)).size(), 0u);
  // A number that is still in the future belongs to another process.
  EXPECT_EQ(raw_steps(watched.page(6)).size(), 5u);
  for (size_t i = 0; i < History::kStepsMax; ++i) watched.step();
  EXPECT_EQ(raw_steps(watched.page()).size(), History::kStepsMax);
  EXPECT_EQ(raw_steps(watched.page(2)).size(), History::kStepsMax);
  EXPECT_EQ(raw_steps(watched.page(5 + History::kStepsMax - 1)).size(), 1u);
}

TEST(History, stops_at_once) {
  const auto began = std::chrono::steady_clock::now();
  {
    Watched watched;
    watched.history.start();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, History::kStep);
}

}  // namespace
}  // namespace signalbox::observe
