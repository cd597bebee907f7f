// Tests the strategies that read the features of a request: the features, the regression against a
// direct solution, the choice, and what it gains in a simulation.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

#include "router/learning/choice.h"
#include "tests/router/learning/regret.h"

namespace signalbox::learning {
namespace {

Features with_signal(std::string_view name) {
  Features out;
  out.add_signal("keyword", name);
  return out;
}

Features random_features(std::mt19937_64& random) {
  Features out;
  for (size_t i = 1; i < Features::kSize; ++i)
    out.steps[i] = random() % 2 == 0 ? 0 : static_cast<uint8_t>(random() % (Features::kSteps + 1));
  return out;
}

Features features_of_body(std::string body, size_t earlier_bytes = 0) {
  return features_of(request::ChatRequest::parse(std::move(body)).value(), earlier_bytes);
}

TEST(Features, has_sizes_and_flags_of_the_request_within_bounds) {
  const auto small =
      features_of_body(R"({"model":"m","messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(small.text(), "1:8" + std::string(Features::kSize - 1, '0'));
  const std::string text(4096, 'x');
  const auto large = features_of_body(
      R"({"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[)"
      R"({"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[)"
      R"({"type":"text","text":")" +
          text + R"("},{"type":"image_url","image_url":{"url":"data:,"}}]}]})",
      size_t{1} << 40);
  EXPECT_EQ(large.text(), "1:848188" + std::string(Features::kSignalPlaces, '0'));
  EXPECT_DOUBLE_EQ(large.share(Features::kTurn), 1.0 / 8);
  EXPECT_EQ(Features::name_of(Features::kTurn), "turn");
  EXPECT_EQ(Features::name_of(Features::kSize - 1), "signals_18");
}

TEST(Features, a_signal_has_its_place_by_type_and_name) {
  EXPECT_EQ(with_signal("code").text(), with_signal("code").text());
  EXPECT_NE(with_signal("code").text(), with_signal("story").text());
  Features domain;
  domain.add_signal("domain", "code");
  EXPECT_NE(domain.text(), with_signal("code").text());
  std::vector<int> used(Features::kSize);
  for (int i = 0; i < 1000; ++i) {
    const Features one = with_signal(std::to_string(i));
    for (size_t f = Features::kSignals; f < Features::kSize; ++f) used[f] += one.steps[f] / 8;
  }
  for (size_t f = Features::kSignals; f < Features::kSize; ++f)
    EXPECT_NEAR(used[f], 1000.0 / Features::kSignalPlaces, 30) << f;
  // Records keep features over an upgrade: a place must not move without a new version.
  EXPECT_EQ(with_signal("code").text(), "1:800000000000000080000000");
}

TEST(Features, is_read_as_it_was_written_and_nothing_else_is) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    const Features features = random_features(random);
    EXPECT_EQ(Features::read(features.text()).value().steps, features.steps);
  }
  const std::string good = Features().text();
  for (const std::string& bad : {std::string(), std::string("1:"), good + "0", good.substr(1),
                                 "2" + good.substr(1), good.substr(0, good.size() - 1) + "9",
                                 good.substr(0, good.size() - 1) + "x", "1:7" + good.substr(3)})
    EXPECT_FALSE(Features::read(bad)) << bad;
}

/// Solves a x = b by elimination with pivots, in greater precision.
std::vector<long double> solve_directly(std::vector<std::vector<long double>> a,
                                        std::vector<long double> b) {
  const size_t n = b.size();
  for (size_t c = 0; c < n; ++c) {
    size_t pivot = c;
    for (size_t r = c; r < n; ++r) {
      if (std::fabs(a[r][c]) > std::fabs(a[pivot][c])) pivot = r;
    }
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (size_t r = c + 1; r < n; ++r) {
      const long double times = a[r][c] / a[c][c];
      for (size_t k = c; k < n; ++k) a[r][k] -= times * a[c][k];
      b[r] -= times * b[c];
    }
  }
  for (size_t r = n; r-- > 0;) {
    for (size_t k = r + 1; k < n; ++k) b[r] -= a[r][k] * b[k];
    b[r] /= a[r][r];
  }
  return b;
}

TEST(Regression, agrees_with_a_direct_solution_of_its_verdicts) {
  std::mt19937_64 random(5);
  for (int run = 0; run < 50; ++run) {
    Regression regression;
    std::vector<std::vector<long double>> a(Features::kSize,
                                            std::vector<long double>(Features::kSize));
    std::vector<long double> b(Features::kSize);
    for (size_t i = 0; i < Features::kSize; ++i) a[i][i] = 1;
    const auto verdicts = static_cast<int>(random() % (Regression::kCountMax + 1));
    for (int v = 0; v < verdicts; ++v) {
      const Features features = random_features(random);
      const auto verdict = static_cast<Verdict>(random() % 4);
      regression.add(features, verdict);
      const double reward = static_cast<double>(Regression::reward_of(verdict)) / 100;
      for (size_t i = 0; i < Features::kSize; ++i) {
        b[i] += reward * features.share(i);
        for (size_t j = 0; j < Features::kSize; ++j)
          a[i][j] += features.share(i) * features.share(j);
      }
    }
    const Features asked = random_features(random);
    std::vector<long double> x;
    for (size_t i = 0; i < Features::kSize; ++i) x.push_back(asked.share(i));
    const auto weights = solve_directly(a, b), inverse = solve_directly(a, x);
    long double expected = kNeutral, variance = 0;
    for (size_t i = 0; i < Features::kSize; ++i) {
      expected += weights[i] * x[i];
      variance += inverse[i] * x[i];
    }
    const Regression::Estimate estimate = regression.estimate(asked);
    EXPECT_NEAR(estimate.expected, std::clamp(static_cast<double>(expected), 0.0, 1.0), 1e-9);
    EXPECT_NEAR(estimate.deviation, std::sqrt(static_cast<double>(variance)), 1e-9);
  }
}

TEST(Regression, sums_stay_possible_and_estimates_bounded_however_many_verdicts_come) {
  std::mt19937_64 random(6);
  Regression regression;
  const std::vector<Features> few{random_features(random), random_features(random)};
  for (int i = 0; i < 20'000; ++i) {
    const Features features = i < 10'000 ? few[i % 2] : random_features(random);
    regression.add(features, static_cast<Verdict>(random() % 4));
    ASSERT_LE(regression.count, Regression::kCountMax);
    ASSERT_TRUE(regression.is_possible()) << i;
    const Regression::Estimate estimate = regression.estimate(random_features(random));
    ASSERT_TRUE(estimate.expected >= 0 && estimate.expected <= 1) << estimate.expected;
    ASSERT_TRUE(estimate.deviation >= 0 && estimate.deviation <= 5) << estimate.deviation;
  }
}

TEST(Regression, newer_verdicts_count_more) {
  Regression regression;
  for (int i = 0; i < 1000; ++i) regression.add(Features(), Verdict::kFailed);
  EXPECT_LT(regression.estimate(Features()).expected, 0.02);
  for (int i = 0; i < 1000; ++i) regression.add(Features(), Verdict::kGoodFit);
  EXPECT_GT(regression.estimate(Features()).expected, 0.9);
}

TEST(Regression, numbers_stay_finite_for_sums_that_nothing_makes) {
  Regression bad;
  bad.count = 1;
  EXPECT_FALSE(bad.is_possible()) << "the constant is in every features";
  for (const int64_t each : {int64_t{-1000}, INT64_MAX, INT64_MIN + 1}) {
    bad.products.fill(each);
    bad.rewards.fill(each);
    const Regression::Estimate estimate = bad.estimate(with_signal("code"));
    EXPECT_TRUE(std::isfinite(estimate.expected) && std::isfinite(estimate.deviation));
    EXPECT_FALSE(bad.is_possible());
  }
  Regression indefinite;
  for (int i = 0; i < 2; ++i) indefinite.add(Features(), Verdict::kGoodFit);
  EXPECT_TRUE(indefinite.is_possible());
  indefinite.products[1] = 128;  // a product with a feature whose square is 0
  EXPECT_FALSE(indefinite.is_possible());
}

/// A choice between "small", the algorithm's, and "large", for requests with a signal.
class LinearTest : public testing::Test {
 protected:
  LinearTest() {
    rules_.adapts = true;
    rules_.strategy = Strategy::kLinUcb;
    situation_.outcomes = &outcomes_;
  }
  void report(std::string_view model, std::string_view signal, Verdict verdict, int times = 1) {
    const Features features = with_signal(signal);
    for (int i = 0; i < times; ++i) outcomes_.add("r/d", std::string(model), verdict, &features);
  }
  std::string_view chosen(std::string_view signal) {
    const Option options[] = {{"small", "small", std::nullopt}, {"large", "large", std::nullopt}};
    return options[choose(options, 0, "r/d", situation_, rules_, with_signal(signal), seed_,
                          report_)]
        .model;
  }

  Outcomes outcomes_;
  Situation situation_;
  Rules rules_;
  std::optional<uint32_t> seed_ = 1;
  Report report_;
};

TEST_F(LinearTest, each_kind_of_request_gets_the_model_that_suits_it) {
  for (const auto& [model, signal, verdict] : {std::tuple("small", "code", Verdict::kFailed),
                                               {"large", "code", Verdict::kGoodFit},
                                               {"small", "story", Verdict::kGoodFit},
                                               {"large", "story", Verdict::kFailed}})
    report(model, signal, verdict, 30);
  for (const Strategy each : {Strategy::kLinUcb, Strategy::kLinearThompson}) {
    rules_.strategy = each;
    for (seed_ = 0; *seed_ < 20; ++*seed_) {
      EXPECT_EQ(chosen("code"), "large");
      EXPECT_EQ(report_.adaptation.reason, "outcomes_win");
      EXPECT_EQ(chosen("story"), "small");
      EXPECT_EQ(report_.adaptation.reason, "base_best");
    }
  }
}

TEST_F(LinearTest, linucb_tries_the_model_of_which_less_is_known_and_explains_it) {
  EXPECT_EQ(chosen("code"), "small");
  EXPECT_EQ(report_.adaptation.reason, "no_outcomes");
  report("small", "code", Verdict::kGoodFit);
  report("small", "code", Verdict::kFailed);
  EXPECT_EQ(chosen("code"), "large");
  EXPECT_EQ(report_.adaptation.reason, "explored");
  EXPECT_FALSE(report_.seed) << "nothing was drawn";
  EXPECT_TRUE(report_.words().starts_with("tried by upper bounds of outcomes: small"));
  json::Writer out;
  out.begin_object();
  write(report_, out);
  const std::string text = out.end_object().take();
  for (const char* part :
       {R"("explored":true)", R"("features":{"constant":1)", R"("with_features":2)",
        R"("expected":0.5,"bonus":0.5)", R"("upper_bound":1)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST_F(LinearTest, linear_thompson_draws_by_its_seed) {
  rules_.strategy = Strategy::kLinearThompson;
  int large = 0;
  for (seed_ = 0; *seed_ < 100; ++*seed_) {
    const std::string_view first = chosen("code");
    EXPECT_EQ(report_.seed, seed_);
    EXPECT_EQ(chosen("code"), first);
    large += first == "large" ? 1 : 0;
  }
  EXPECT_GT(large, 30);
  EXPECT_LT(large, 70);
}

TEST_F(LinearTest, the_bonus_is_bounded_and_exploration_0_tries_nothing) {
  report("small", "code", Verdict::kFailed);
  rules_.exploration = 10;
  EXPECT_EQ(chosen("code"), "large");
  EXPECT_EQ(report_.values[1].bonus, 0.5);
  rules_.exploration = 0;
  report("small", "code", Verdict::kGoodFit, 9);
  for (const Strategy each : {Strategy::kLinUcb, Strategy::kLinearThompson}) {
    rules_.strategy = each;
    EXPECT_EQ(chosen("code"), "small");
    EXPECT_EQ(report_.values[1].bonus, 0);
  }
}

TEST_F(LinearTest, a_protected_conversation_and_results_of_tools_are_not_experiments) {
  report("small", "code", Verdict::kFailed);
  rules_.protects = true;
  rules_.switch_margin = 1;
  situation_.key = "k";
  situation_.past = Conversation{{"small", "small", "r/d"}, 1, 0, {}};
  EXPECT_EQ(chosen("code"), "small");
  EXPECT_FALSE(report_.values[1].tried);
  EXPECT_GT(*report_.gain, 0) << "the gain is that of the expected values";
  EXPECT_LT(*report_.gain, 0.5);
  rules_.protects = false;
  for (int i = 0; i < 3; ++i) report("small", "code", Verdict::kGoodFit);
  situation_.in_tool_loop = true;
  EXPECT_EQ(chosen("code"), "small");
  EXPECT_FALSE(report_.values[1].tried);
  situation_.in_tool_loop = false;
  rules_.adaptation = Mode::kObserve;
  EXPECT_EQ(chosen("code"), "small");
  EXPECT_FALSE(report_.values[1].tried);
}

TEST_F(LinearTest, verdicts_without_features_change_no_estimate) {
  outcomes_.add("r/d", "small", Verdict::kFailed);
  EXPECT_EQ(chosen("code"), "small");
  EXPECT_EQ(report_.adaptation.reason, "no_outcomes");
  EXPECT_EQ(outcomes_.of("r/d", "small").regression, nullptr);
  report("small", "code", Verdict::kFailed);
  EXPECT_EQ(outcomes_.of("r/d", "small").regression->count, 1);
  EXPECT_EQ(outcomes_.of("r/d", "small").tally.sum(), 2u);
  outcomes_.reset();
  EXPECT_EQ(outcomes_.of("r/d", "small").regression, nullptr);
}

/// Two kinds of requests come equally often. Each model is good in 80 % of the requests of one
/// kind, and in 40 % of those of the other. Requests also differ in length and turns, which mean
/// nothing.
double regret_of_two_kinds(Strategy strategy) {
  constexpr double kGood = 0.8, kBad = 0.4;
  return regret(strategy, 20, 1000, 11, [](std::mt19937_64& random) {
    const bool is_code = random() % 2 == 0;
    SimulatedRequest out{is_code ? std::array{kBad, kGood} : std::array{kGood, kBad},
                         with_signal(is_code ? "code" : "story")};
    out.features.steps[Features::kLength] = static_cast<uint8_t>(random() % 6);
    out.features.steps[Features::kTurn] = static_cast<uint8_t>(random() % 4);
    return out;
  });
}

TEST(Linear, has_less_regret_than_strategies_that_do_not_read_the_request) {
  const double scores = regret_of_two_kinds(Strategy::kScores);
  const double sampling = regret_of_two_kinds(Strategy::kSampling);
  const double linucb = regret_of_two_kinds(Strategy::kLinUcb);
  const double thompson = regret_of_two_kinds(Strategy::kLinearThompson);
  std::cout << "regret of 1000 requests: scores " << scores << ", routing_sampling " << sampling
            << ", linucb " << linucb << ", linear_thompson " << thompson << "\n";
  for (const double each : {linucb, thompson}) {
    EXPECT_LT(each, scores / 3);
    EXPECT_LT(each, sampling / 3);
  }
}

}  // namespace
}  // namespace signalbox::learning
