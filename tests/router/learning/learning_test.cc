// Tests the pure parts of learning: scores and their bounds, the table of conversations,
// identities, and the choice between a conversation's model and a better one.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "router/learning/choice.h"
#include "tests/router/learning/regret.h"

namespace signalbox::learning {
namespace {

using std::chrono::seconds;

TimePoint at(int second) {
  return TimePoint(seconds(1'000'000 + second));
}

TEST(Tally, is_neutral_at_first_and_stays_within_its_bounds) {
  Tally tally;
  EXPECT_DOUBLE_EQ(tally.score(), kNeutral);
  for (int i = 0; i < 10'000; ++i) tally.add(Verdict::kFailed);
  EXPECT_LE(tally.sum(), Tally::kCountMax);
  EXPECT_GT(tally.score(), 0);
  EXPECT_LT(tally.score(), 0.1);
  for (int i = 0; i < 10'000; ++i) tally.add(Verdict::kGoodFit);
  EXPECT_LE(tally.sum(), Tally::kCountMax);
  EXPECT_LT(tally.score(), 1);
  EXPECT_GT(tally.score(), 0.9) << "newer verdicts count more";
}

TEST(Tally, each_verdict_moves_the_score_in_its_direction) {
  const auto after = [](Verdict verdict) {
    Tally tally;
    tally.add(verdict);
    return tally.score();
  };
  EXPECT_DOUBLE_EQ(after(Verdict::kGoodFit), 0.6);
  EXPECT_DOUBLE_EQ(after(Verdict::kUnderpowered), 0.4);
  EXPECT_DOUBLE_EQ(after(Verdict::kFailed), 0.4);
  EXPECT_LT(after(Verdict::kOverprovisioned), kNeutral);
  EXPECT_GT(after(Verdict::kOverprovisioned), 0.48) << "more than needed is not a failure";
  EXPECT_EQ(verdict_of("good_fit"), Verdict::kGoodFit);
  EXPECT_EQ(verdict_of("Good_fit"), std::nullopt);
}

TEST(Outcomes, a_key_counts_once_and_the_oldest_keys_are_forgotten) {
  Outcomes outcomes;
  EXPECT_EQ(outcomes.claim("k", "a"), Outcomes::Added::kNew);
  EXPECT_EQ(outcomes.claim("k", "a"), Outcomes::Added::kRepeated);
  EXPECT_EQ(outcomes.claim("k", "b"), Outcomes::Added::kConflict);
  for (size_t i = 0; i < Outcomes::kKeysMax; ++i) outcomes.claim(std::to_string(i), "a");
  EXPECT_EQ(outcomes.claim("k", "b"), Outcomes::Added::kNew);
  EXPECT_EQ(outcomes.claim("1", "a"), Outcomes::Added::kRepeated);
  outcomes.reset();
  EXPECT_EQ(outcomes.claim("1", "b"), Outcomes::Added::kNew) << "a reset forgets the keys, too";
  for (size_t i = 2; i <= Outcomes::kKeysMax; ++i) outcomes.claim(std::to_string(i), "a");
  EXPECT_EQ(outcomes.claim("1", "b"), Outcomes::Added::kRepeated) << "all the room is free again";
}

TEST(Outcomes, belong_to_a_model_of_a_decision_and_can_be_reset) {
  Outcomes outcomes;
  EXPECT_TRUE(outcomes.add("r/d", "m", Verdict::kGoodFit));
  EXPECT_EQ(outcomes.of("r/d", "m").tally.sum(), 1u);
  EXPECT_EQ(outcomes.of("r/e", "m").tally.sum(), 0u);
  EXPECT_EQ(outcomes.reset(), 1u);
  EXPECT_EQ(outcomes.of("r/d", "m").tally.sum(), 0u);
  for (size_t i = 0; i < Outcomes::kTalliesMax; ++i)
    EXPECT_TRUE(outcomes.add("r/d", std::to_string(i), Verdict::kGoodFit));
  EXPECT_FALSE(outcomes.add("r/d", "one more", Verdict::kGoodFit));
  EXPECT_TRUE(outcomes.add("r/d", "7", Verdict::kGoodFit));
  EXPECT_EQ(outcomes.lines().size(), Outcomes::kTalliesMax);
}

Conversation answered_at(int second) {
  return {.last = {"m", "m", "r/d"}, .turns = 1, .switches = 0, .used = at(second)};
}

TEST(Conversations, the_least_recently_used_is_pushed_out) {
  Conversations table(2);
  table.put("a", answered_at(0));
  table.put("b", answered_at(1));
  table.put("a", answered_at(2));
  table.put("c", answered_at(3));
  EXPECT_TRUE(table.find("a", at(3)));
  EXPECT_FALSE(table.find("b", at(3)));
  EXPECT_TRUE(table.find("c", at(3)));
  EXPECT_EQ(table.size(), 2u);
  table.forget("a");
  table.forget("never there");
  EXPECT_FALSE(table.find("a", at(3)));
}

TEST(Conversations, conversations_of_other_routers_are_kept_in_the_order_of_their_use) {
  Conversations table(3);
  const TimePoint now = std::chrono::steady_clock::now();
  const auto used = [&](int seconds_ago) {
    Conversation out;
    out.used = now - std::chrono::seconds(seconds_ago);
    return out;
  };
  table.put("new", used(0));
  table.learn("oldest", used(30), now);
  table.learn("old", used(20), now);
  table.touch("oldest", now);
  table.learn("between", used(10), now);
  std::string keys;
  for (const auto& [key, conversation] : table.all()) keys += key + " ";
  EXPECT_EQ(keys, "between new oldest ");
}

TEST(Conversations, expire_after_their_lifetime_without_a_request) {
  Conversations table;
  table.set_lifetime(seconds(10));
  table.put("a", answered_at(0));
  table.put("b", answered_at(5));
  EXPECT_TRUE(table.find("a", at(10)));
  EXPECT_FALSE(table.find("a", at(11)));
  EXPECT_TRUE(table.find("b", at(11)));
  EXPECT_EQ(table.size(), 1u);
  table.touch("b", at(12));
  table.touch("a", at(12));
  EXPECT_TRUE(table.find("b", at(22))) << "a long answer does not count as idle time";
  EXPECT_FALSE(table.find("a", at(22)));
}

TEST(Memory, serves_several_threads) {
  Memory memory;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory, t] {
      for (int i = 0; i < 500; ++i) {
        const std::string key = std::to_string(i % 7);
        memory.conversations.put(key, answered_at(i));
        memory.conversations.find(key, at(i));
        memory.conversations.touch(key, at(i));
        if (i % 50 == t) memory.conversations.forget(key);
        if (memory.outcomes.claim(std::to_string(i), "same") == Outcomes::Added::kNew)
          memory.outcomes.add("r/d", "m", Verdict::kGoodFit);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(memory.conversations.size(), 7u);
  uint32_t expected = 0;
  for (int i = 0; i < 500; ++i)
    expected = (expected >= Tally::kCountMax ? expected / 2 : expected) + 1;
  EXPECT_EQ(memory.outcomes.of("r/d", "m").tally.sum(), expected) << "each key counted once";
}

/// One client whose requests have these headers.
using Headers = std::map<std::string, std::string, std::less<>>;

class Talk {
 public:
  explicit Talk(Headers headers = {}, std::string_view scope = "conversation")
      : headers_(std::move(headers)) {
    learning_.enabled = true;
    learning_.protection.scope = scope;
  }

  Situation look(Memory& memory, std::string_view messages, std::string_view owner = "") {
    auto parsed = request::ChatRequest::parse(
        fmt::format(R"({{"model": "auto", "messages": [{}]}})", messages));
    EXPECT_TRUE(parsed) << parsed.error().message;
    const auto header = [this](std::string_view name) -> std::optional<std::string_view> {
      const auto found = headers_.find(name);
      return found == headers_.end() ? std::nullopt
                                     : std::optional<std::string_view>(found->second);
    };
    return situation_of(memory, learning_, owner, header, *parsed, at(now_++));
  }

 private:
  Headers headers_;
  config::Learning learning_;
  int now_ = 0;
};

constexpr std::string_view kHello = R"({"role": "user", "content": "Hello"})";
constexpr std::string_view kSecond =
    R"({"role": "system", "content": "It is noon."}, {"role": "user", "content": "Hello"},
       {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "And now?"})";
constexpr std::string_view kOtherAnswer =
    R"({"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"},
       {"role": "user", "content": "And now?"})";

TEST(Situation, headers_name_a_conversation_within_its_client_and_session) {
  Memory memory;
  Talk talk(Headers{{"x-conversation-id", "1"}, {"x-session-id", "s"}});
  const Situation first = talk.look(memory, kHello);
  EXPECT_EQ(first.source, Source::kConversationHeader);
  EXPECT_FALSE(first.past);
  remember(memory, first, {"small", "small", "r/d"});
  EXPECT_EQ(talk.look(memory, kHello).past->last.model, "small");
  EXPECT_FALSE(talk.look(memory, kHello, "another client").past);
  EXPECT_FALSE(Talk(Headers{{"x-conversation-id", "1"}}).look(memory, kHello).past);
  EXPECT_EQ(first.key.find("x-"), std::string::npos);
}

TEST(Situation, a_session_needs_its_header) {
  Memory memory;
  const Situation none = Talk(Headers{{"x-conversation-id", "1"}}, "session").look(memory, kSecond);
  EXPECT_EQ(none.source, Source::kNone);
  EXPECT_EQ(none.key, "");
  remember(memory, none, {"small", "small", "r/d"});
  EXPECT_EQ(memory.conversations.size(), 0u);
  Talk talk(Headers{{"x-session-id", "s"}}, "session");
  remember(memory, talk.look(memory, kHello), {"small", "small", "r/d"});
  EXPECT_TRUE(talk.look(memory, kOtherAnswer).past);
}

TEST(Situation, first_messages_name_a_conversation_from_its_second_turn_on) {
  Memory memory;
  Talk talk;
  remember(memory, talk.look(memory, kHello), {"small", "small", "r/d"});
  EXPECT_FALSE(talk.look(memory, kHello).past) << "the first turn begins a conversation";
  const Situation second = talk.look(memory, kSecond);
  ASSERT_TRUE(second.past) << "the system prompt does not count";
  remember(memory, second, {"small", "small", "r/d"});
  remember(memory, talk.look(memory, kHello), {"large", "large", "r/d"});
  EXPECT_EQ(talk.look(memory, kSecond).past->last.model, "small");
  EXPECT_EQ(talk.look(memory, kSecond).past->turns, 2u);
  EXPECT_EQ(talk.look(memory, kOtherAnswer).past->last.model, "large");
  EXPECT_FALSE(talk.look(memory, R"({"role": "system", "content": "Only this"})").past);
}

TEST(Situation, results_of_tools_after_the_last_answer_are_a_tool_loop) {
  Memory memory;
  Talk talk;
  const auto in_loop = [&](std::string_view last) {
    return talk
        .look(memory, fmt::format(R"({}, {{"role": "assistant", "content": null, "tool_calls":
            [{{"id": "t", "type": "function", "function": {{"name": "f", "arguments": "{{}}"}}}}]}}{})",
                                  kHello, last))
        .in_tool_loop;
  };
  constexpr std::string_view kResult =
      R"(, {"role": "tool", "tool_call_id": "t", "content": "done"})";
  EXPECT_FALSE(in_loop(""));
  EXPECT_TRUE(in_loop(kResult));
  EXPECT_TRUE(in_loop(fmt::format(R"({}, {{"role": "user", "content": "and"}})", kResult)));
  EXPECT_FALSE(in_loop(R"(, {"role": "user", "content": "never mind"})"));
  EXPECT_FALSE(in_loop(fmt::format(R"({}, {{"role": "assistant", "content": "Done."}})", kResult)));
  EXPECT_FALSE(
      talk.look(memory, R"({"role": "tool", "tool_call_id": "t", "content": "x"})").in_tool_loop);
}

TEST(Situation, turns_and_switches_are_counted) {
  Situation situation;
  situation.past = continued(situation, {"small", "small", "r/d"});
  situation.past = continued(situation, {"small", "small", "r/d"});
  EXPECT_EQ(situation.past->turns, 2u);
  situation.in_tool_loop = true;
  situation.past = continued(situation, {"small", "small", "r/d"});
  EXPECT_EQ(situation.past->turns, 2u);
  EXPECT_EQ(situation.past->switches, 0u);
  situation.past = continued(situation, {"small", "adapter", "r/d"});
  EXPECT_EQ(situation.past->switches, 1u) << "another adapter is another model";
  EXPECT_EQ(situation.past->turns, 1u);
}

/// A choice between "small", the algorithm's with the scores below, and "large".
class ChoiceTest : public testing::Test {
 protected:
  ChoiceTest() {
    rules_.adapts = rules_.protects = true;
    rules_.switch_margin = 0.05;
    rules_.stability_weight = 1;
    rules_.idle_max = seconds(300);
    situation_.key = "k";
    situation_.now = at(100);
    situation_.outcomes = &outcomes_;
  }
  void answered_by(std::string model, uint32_t turns = 1) {
    situation_.past = Conversation{
        {model, model, "r/d"}, turns, situation_.past ? situation_.past->switches : 0, at(90)};
  }
  std::string chosen(std::string_view decision = "r/d") {
    const Option options[] = {{"small", "small", small_}, {"large", "large", large_}};
    const size_t base = large_.value_or(0) > small_.value_or(0) ? 1 : 0;
    const size_t index =
        choose(options, base, decision, situation_, rules_, features_, seed_, report_);
    return fmt::format("{} {}", options[index].model, report_.protection.reason);
  }

  Outcomes outcomes_;
  Situation situation_;
  Rules rules_;
  std::optional<double> small_, large_;
  std::optional<Features> features_;
  std::optional<uint32_t> seed_;
  Report report_;
};

TEST_F(ChoiceTest, a_change_needs_the_margin_and_its_cost) {
  answered_by("large");
  EXPECT_EQ(chosen(), "large gain_too_small") << "an algorithm without scores gains nothing";
  small_ = 0.5, large_ = 0.401;
  EXPECT_EQ(chosen(), "large gain_too_small");
  EXPECT_NEAR(report_.needed, 0.10, 1e-9);
  large_ = 0.399;
  EXPECT_EQ(chosen(), "small gain_sufficient");
  situation_.earlier_bytes = 1 << 20;
  EXPECT_EQ(chosen(), "large gain_too_small") << "a long conversation costs more to read anew";
  EXPECT_NEAR(report_.needed, 0.30, 1e-9);
  rules_.stability_weight = 0;
  EXPECT_EQ(chosen(), "small gain_sufficient");
  rules_.min_turns = 2;
  EXPECT_EQ(chosen(), "large min_turns");
  answered_by("large", 2);
  EXPECT_EQ(chosen(), "small gain_sufficient");
}

TEST_F(ChoiceTest, earlier_changes_make_another_one_dearer) {
  answered_by("large");
  situation_.past->switches = 3;
  EXPECT_NEAR(switch_cost(situation_), 0.05 + 3 * 0.04, 1e-9);
}

TEST_F(ChoiceTest, a_model_is_kept_only_for_a_reason) {
  EXPECT_EQ(chosen(), "small new_conversation");
  answered_by("large");
  EXPECT_EQ(chosen("r/other"), "small decision_changed");
  situation_.now = at(90 + 301);
  EXPECT_EQ(chosen(), "small idle");
  situation_.now = at(100);
  answered_by("gone");
  EXPECT_EQ(chosen(), "small not_a_candidate");
  situation_.key.clear();
  EXPECT_EQ(chosen(), "small missing_identity");
}

TEST_F(ChoiceTest, keep_current_model_needs_no_gain_and_no_protection) {
  answered_by("large");
  small_ = 1, large_ = 0;
  rules_.adapts = rules_.protects = false;
  rules_.keeps = true;
  EXPECT_EQ(chosen(), "large keep_current_model");
  EXPECT_EQ(chosen("r/other"), "large keep_current_model");
  rules_.protection = Mode::kBypass;
  EXPECT_EQ(chosen(), "large keep_current_model");
}

TEST_F(ChoiceTest, observing_reports_and_bypassing_does_not) {
  answered_by("large");
  rules_.protection = Mode::kObserve;
  EXPECT_EQ(chosen(), "small gain_too_small");
  EXPECT_EQ(report_.protection.action, "observe");
  rules_.protection = Mode::kBypass;
  EXPECT_EQ(chosen(), "small decision_bypass");
}

TEST_F(ChoiceTest, outcomes_move_the_proposal_and_add_to_the_gain) {
  outcomes_.add("r/d", "small", Verdict::kUnderpowered);
  EXPECT_EQ(chosen(), "large new_conversation");
  EXPECT_EQ(report_.adaptation.reason, "outcomes_win");
  EXPECT_EQ(report_.words(), "outcomes: small 0.500-0.100 large 0.500+0.000");
  EXPECT_EQ(chosen("r/other"), "small new_conversation") << "they belong to one decision";
  small_ = 0.9, large_ = 0.7;
  EXPECT_EQ(chosen(), "small new_conversation") << "the algorithm's score counts, too";
  small_ = large_ = std::nullopt;
  answered_by("small");
  outcomes_.add("r/d", "small", Verdict::kFailed);
  outcomes_.add("r/d", "large", Verdict::kGoodFit);
  EXPECT_EQ(chosen(), "large gain_sufficient");
  rules_.adaptation = Mode::kObserve;
  EXPECT_EQ(chosen(), "small already_best");
}

/// The mean and the variance of many samples.
std::pair<double, double> moments_of(const Tally& tally) {
  constexpr int kSamples = 20'000;
  std::mt19937_64 random(1);
  double sum = 0, squares = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double sample = tally.sample(random);
    EXPECT_GE(sample, 0);
    EXPECT_LE(sample, 1);
    sum += sample;
    squares += sample * sample;
  }
  const double mean = sum / kSamples;
  return {mean, squares / kSamples - mean * mean};
}

TEST(Tally, samples_have_the_moments_of_the_beta_distribution) {
  for (const auto& [good, bad] : {std::pair{0, 0}, {5, 0}, {0, 5}, {30, 10}, {3, 60}}) {
    Tally tally;
    for (int i = 0; i < good; ++i) tally.add(Verdict::kGoodFit);
    for (int i = 0; i < bad; ++i) tally.add(i % 2 == 0 ? Verdict::kFailed : Verdict::kUnderpowered);
    const double a = good + 2, b = bad + 2;
    const auto [mean, variance] = moments_of(tally);
    // Five times the deviation of the mean of so many samples.
    EXPECT_NEAR(mean, a / (a + b), 5 * std::sqrt(variance / 20'000)) << good << " " << bad;
    EXPECT_NEAR(mean, tally.score(), 5 * std::sqrt(variance / 20'000));
    const double expected = a * b / ((a + b) * (a + b) * (a + b + 1));
    EXPECT_NEAR(variance, expected, 0.05 * expected) << good << " " << bad;
  }
}

TEST(Tally, samples_are_lower_for_overprovisioned_models) {
  Tally tally;
  for (int i = 0; i < 40; ++i) tally.add(Verdict::kOverprovisioned);
  EXPECT_NEAR(moments_of(tally).first, tally.score(), 0.01);
  EXPECT_LT(tally.score(), kNeutral - 0.02);
}

/// The number of seeds of a hundred with which "large" answers.
class SampleTest : public ChoiceTest {
 protected:
  SampleTest() {
    rules_.strategy = Strategy::kSampling;
    small_ = large_ = 0.5;
  }
  int large_of_100() {
    int out = 0;
    for (uint32_t seed = 0; seed < 100; ++seed) {
      seed_ = seed;
      if (chosen().starts_with("large")) ++out;
      explored_ += report_.explores() ? 1 : 0;
    }
    return out;
  }
  int explored_ = 0;
};

TEST_F(SampleTest, an_unknown_model_is_tried_about_as_often_as_another_one) {
  const int first = large_of_100();
  EXPECT_GT(first, 30);
  EXPECT_LT(first, 70);
  EXPECT_EQ(explored_, first) << "without samples the algorithm's choice would answer";
  EXPECT_EQ(large_of_100(), first) << "equal seeds choose equally";
}

TEST_F(SampleTest, a_model_that_failed_often_is_hardly_ever_tried) {
  for (int i = 0; i < 40; ++i) outcomes_.add("r/d", "large", Verdict::kFailed);
  for (int i = 0; i < 40; ++i) outcomes_.add("r/d", "small", Verdict::kGoodFit);
  EXPECT_EQ(large_of_100(), 0);
  EXPECT_EQ(explored_, 0);
}

TEST_F(SampleTest, the_algorithms_score_still_counts) {
  small_ = 1, large_ = 0;
  EXPECT_EQ(large_of_100(), 0);
}

TEST_F(SampleTest, the_report_names_the_seed_and_the_samples) {
  for (seed_ = 0; !report_.explores(); ++*seed_) chosen();
  EXPECT_EQ(report_.adaptation.action, "propose_switch");
  EXPECT_EQ(report_.proposal, "large");
  EXPECT_TRUE(report_.words().starts_with("tried by samples of outcomes: small 0.500"))
      << report_.words();
  json::Writer out;
  out.begin_object();
  write(report_, out);
  const std::string text = out.end_object().take();
  EXPECT_NE(text.find("\"explored\":true"), std::string::npos) << text;
  EXPECT_NE(text.find(fmt::format("\"seed\":{}", *report_.seed)), std::string::npos) << text;
  EXPECT_NE(text.find("\"sample\":"), std::string::npos) << text;
}

TEST_F(SampleTest, a_conversation_that_keeps_its_model_is_not_an_experiment) {
  answered_by("small");
  EXPECT_EQ(large_of_100(), 0);
  EXPECT_FALSE(report_.seed);
  rules_.protects = false;
  rules_.keeps = true;
  EXPECT_EQ(large_of_100(), 0);
  EXPECT_FALSE(report_.seed);
  rules_.keeps = false;
  EXPECT_GT(large_of_100(), 0) << "nothing protects it";
  rules_.protects = true;
  situation_.now = at(90 + 301);
  EXPECT_GT(large_of_100(), 0) << "it was idle";
}

TEST_F(SampleTest, results_of_tools_are_not_an_experiment) {
  situation_.in_tool_loop = true;
  rules_.protects = false;
  EXPECT_EQ(large_of_100(), 0);
  EXPECT_FALSE(report_.seed);
}

TEST_F(SampleTest, nothing_is_tried_without_a_seed_or_if_adaptation_must_not_choose) {
  rules_.adaptation = Mode::kObserve;
  EXPECT_EQ(large_of_100(), 0);
  rules_.adaptation = Mode::kBypass;
  EXPECT_EQ(large_of_100(), 0);
  rules_.adaptation = Mode::kApply;
  rules_.adapts = false;
  EXPECT_EQ(large_of_100(), 0);
  rules_.adapts = true;
  rules_.strategy = Strategy::kScores;
  EXPECT_EQ(large_of_100(), 0);
  rules_.strategy = Strategy::kSampling;
  seed_ = std::nullopt;
  EXPECT_EQ(chosen(), "small new_conversation");
}

/// The model "small" is good in 50 % and "large" in 80 % of requests.
double regret_of(Strategy strategy) {
  return regret(strategy, 40, 500, 7, [](std::mt19937_64&) {
    return SimulatedRequest{{0.5, 0.8}};
  });
}

TEST(Samples, have_less_regret_than_the_greedy_choice) {
  const double greedy = regret_of(Strategy::kScores), sampled = regret_of(Strategy::kSampling);
  std::cout << "regret of 500 requests: greedy " << greedy << ", sampled " << sampled << "\n";
  EXPECT_LT(sampled, greedy / 2);
  EXPECT_LT(sampled, 15) << "always the worse model: 150";
}

TEST_F(ChoiceTest, the_caller_of_tools_is_kept_if_protection_applies) {
  answered_by("gone");
  EXPECT_EQ(tool_caller(situation_, rules_), nullptr);
  situation_.in_tool_loop = true;
  situation_.now = at(50'000);
  ASSERT_NE(tool_caller(situation_, rules_), nullptr)
      << "a tool may take longer than the idle time";
  EXPECT_EQ(tool_caller(situation_, rules_)->model, "gone");
  rules_.protection = Mode::kObserve;
  EXPECT_EQ(tool_caller(situation_, rules_), nullptr);
}

TEST(Rules, a_decision_may_only_weaken_the_mode) {
  config::Learning learning;
  learning.enabled = true;
  config::Decision decision;
  EXPECT_TRUE(rules_of(learning, nullptr).holds());
  EXPECT_TRUE(rules_of(learning, &decision).proposes());
  decision.adaptations.mode = "observe";
  decision.adaptations.adaptation.mode = "apply";
  decision.adaptations.protection.mode = "bypass";
  EXPECT_EQ(rules_of(learning, &decision).adaptation, Mode::kObserve);
  EXPECT_EQ(rules_of(learning, &decision).protection, Mode::kBypass);
  decision.adaptations.protection.switch_margin = 0.3;
  EXPECT_DOUBLE_EQ(rules_of(learning, &decision).switch_margin, 0.3);
  learning.enabled = false;
  EXPECT_FALSE(rules_of(learning, nullptr).holds());
  EXPECT_EQ(rules_of(learning, nullptr).strategy, Strategy::kScores);
  learning.adaptation.strategy = "routing_sampling";
  EXPECT_EQ(rules_of(learning, nullptr).strategy, Strategy::kSampling);
}

TEST(Rules, features_are_needed_where_adaptation_reads_them_and_is_not_bypassed) {
  config::Learning learning;
  learning.enabled = true;
  config::Decision decision;
  EXPECT_FALSE(rules_of(learning, &decision).needs_features());
  learning.adaptation.strategy = "linucb";
  EXPECT_TRUE(rules_of(learning, &decision).needs_features());
  decision.adaptations.mode = "observe";
  EXPECT_TRUE(rules_of(learning, &decision).needs_features());
  decision.adaptations.mode = "bypass";
  EXPECT_FALSE(rules_of(learning, &decision).needs_features());
  learning.adaptation.enabled = false;
  EXPECT_FALSE(rules_of(learning, nullptr).needs_features());
}

}  // namespace
}  // namespace signalbox::learning
