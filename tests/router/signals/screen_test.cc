// The windows of long texts that a guard's screen clears: they do not run in full, count as read,
// and appear in the explanation. Short texts, and readers that need every head, are not affected.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/routing/router.h"
#include "router/signals/long_text.h"
#include "tests/router/fake_classifier.h"

namespace signalbox::signals {
namespace {

constexpr float kLimit = 0.2F, kHarmless = 0.0625F;

// A guard whose screen finds every text harmless that has neither "jailbreak" nor "doubt" in it.
class Screened : public test::FakeClassifier {
 public:
  Screened()
      : test::FakeClassifier({"benign", "jailbreak"}, engine::HeadKind::kSequence, false),
        heads_{test::FakeClassifier::heads()[0],
               {.name = "screen",
                .labels = {"harmless", "unclear"},
                .layers = 2,
                .clears_below = kLimit}} {
    heads_[0].layers = 6;
  }

  std::span<const engine::HeadInfo> heads() const override { return heads_; }

  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    std::vector<engine::Answer> out;
    const std::lock_guard lock(mutex_);
    for (const engine::Input& input : inputs) {
      SIGNALBOX_TRY(auto judged, test::FakeClassifier::answer({&input, 1}));
      const bool harmless = input.text.find("jailbreak") == std::string_view::npos &&
                            input.text.find("doubt") == std::string_view::npos;
      const bool is_cleared = harmless && input.screened;
      ++(is_cleared ? cleared : full);
      out.push_back(is_cleared ? engine::Answer() : std::move(judged.front()));
      const float probability = harmless ? kHarmless : 0.9F;
      out.emplace_back().scores = {1 - probability, probability};
    }
    return out;
  }

  mutable int full = 0, cleared = 0;  // inputs

 private:
  std::vector<engine::HeadInfo> heads_;
  mutable std::mutex mutex_;
};

std::string numbers(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format("{} ", i);
  return out;
}

// The decision of a router with the guard, and how it read the request.
struct Outcome {
  std::string decision;
  int full = 0, cleared = 0;
  size_t cleared_passes = 0;
  std::string json, text;
};

Outcome read(const std::string& text, std::string_view guard_keys = "",
             std::string_view threshold = "0.7") {
  auto loaded = config::parse(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: m}}
  models: [{{name: m, backend_refs: [{{type: echo}}]}}]
routing:
  signals: {{jailbreak: [{{name: j, threshold: {}}}]}}
  decisions:
    - name: refused
      rules: {{type: jailbreak, name: j}}
      modelRefs: [{{model: m}}]
      plugins: [{{type: fast_response, configuration: {{message: "no"}}}}]
global:
  model_catalog:
    system: {{prompt_guard: models/guard}}
    modules: {{prompt_guard: {{enabled: true{}}}}}
)",
                                          threshold, guard_keys),
                              "test.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  const auto guard = std::make_shared<Screened>();
  const auto router = routing::Router::create(std::move(loaded->config),
                                              {.classifiers = {{"models/guard", guard}}});
  EXPECT_TRUE(router) << router.error().message;
  json::Writer body;
  body.begin_object().member("model", "auto").key("messages").begin_array();
  body.begin_object().member("role", "user").member("content", text).end_object();
  const auto request = request::ChatRequest::parse(body.end_array().end_object().take());
  routing::Evaluation evaluation = (*router)->evaluate(*request);
  EXPECT_TRUE(evaluation.run_cheap() || evaluation.run_needed());
  Outcome out{.decision = evaluation.decision() == nullptr ? "none" : evaluation.decision()->name,
              .full = guard->full,
              .cleared = guard->cleared,
              .json = evaluation.explain_json(),
              .text = evaluation.explain_words()};
  for (const auto& pass : evaluation.timings().passes) out.cleared_passes += pass.cleared ? 1 : 0;
  return out;
}

TEST(ScreenedWindows, do_not_run_in_full) {
  const Outcome all = read(numbers(1500));
  EXPECT_EQ(all.decision, "none");
  EXPECT_EQ(all.full, 0);
  EXPECT_GT(all.cleared, 20);
  EXPECT_EQ(all.cleared_passes, static_cast<size_t>(all.cleared));
  EXPECT_THAT(all.json, testing::HasSubstr(
                            fmt::format(R"("windows":{0},"windows_cleared":{0})", all.cleared)));
  EXPECT_THAT(all.text, testing::HasSubstr(fmt::format("({0} of {0} windows cleared by the screen)",
                                                       all.cleared)));
  EXPECT_THAT(all.json, testing::HasSubstr(R"("score":0.0625)"));

  const Outcome most = read(numbers(750) + "a doubt " + numbers(750));
  EXPECT_GE(most.full, 1);
  EXPECT_LE(most.full, 2);  // windows overlap
  EXPECT_GT(most.cleared, 20);
  EXPECT_EQ(most.cleared_passes, static_cast<size_t>(most.cleared));
}

TEST(ScreenedWindows, hide_no_attack_in_the_others) {
  const Outcome outcome = read(numbers(1500) + "jailbreak");
  EXPECT_EQ(outcome.decision, "refused");
  EXPECT_GT(outcome.cleared, 20);
  EXPECT_THAT(outcome.text, testing::HasSubstr(fmt::format("({} of {} windows cleared",
                                                           outcome.cleared, outcome.cleared + 1)));
}

TEST(ScreenedWindows, only_windows_of_long_texts_are_screened) {
  const Outcome outcome = read(numbers(400));
  EXPECT_EQ(outcome.cleared, 0);
  EXPECT_GT(outcome.full, 3);
  EXPECT_LE(outcome.full, static_cast<int>(kReadInFull));
  EXPECT_THAT(outcome.json, testing::Not(testing::HasSubstr("windows_cleared")));
  EXPECT_THAT(outcome.text, testing::Not(testing::HasSubstr("cleared")));
}

TEST(ScreenedWindows, run_in_full_if_the_configuration_requires_it) {
  const Outcome outcome = read(numbers(1500), ", screen: false");
  EXPECT_EQ(outcome.cleared, 0);
  EXPECT_GT(outcome.full, 20);
}

// Below it, a window that the screen clears could count as an attack.
TEST(ScreenedWindows, run_in_full_for_a_threshold_below_the_limit_of_the_screen) {
  EXPECT_EQ(read(numbers(1500), "", "0.19").cleared, 0);
  EXPECT_GT(read(numbers(1500), "", "0.21").cleared, 20);
}

TEST(ScreenedWindows, screened_windows_are_read_again_by_readers_of_all_heads) {
  const Screened model;
  const auto request =
      request::ChatRequest::parse(R"({"model":"m","messages":[{"role":"user","content":"x"}]})")
          .value();
  Inputs inputs(request, {}, nullptr);
  const std::string_view text = "a text";
  const auto screened = inputs.answers(model, text, true);
  ASSERT_TRUE(screened);
  EXPECT_TRUE((*screened)[0].scores.empty());
  const auto full = inputs.answers(model, text);
  ASSERT_TRUE(full);
  EXPECT_FALSE((*full)[0].scores.empty());
  EXPECT_EQ(model.full + model.cleared, 2);
  const std::string_view other = "another text";
  ASSERT_TRUE(inputs.answer_ahead(model, {&other, 1}));
  EXPECT_FALSE(inputs.answers(model, other, true).value()[0].scores.empty());
  EXPECT_EQ(model.full + model.cleared, 3);
}

// A guard whose own head, or whose head for documents, reads no later layers than the screen.
class EarlyGuard : public Screened {
 public:
  explicit EarlyGuard(std::vector<int32_t> layers) {
    for (size_t i = 0; i < layers.size(); ++i)
      heads_.push_back({.name = i == 2 ? "injection" : "", .labels = {"benign", "injection"}});
    heads_[0] = Screened::heads()[0];
    heads_[1] = Screened::heads()[1];
    for (size_t i = 0; i < layers.size(); ++i) heads_[i].layers = layers[i];
  }
  std::span<const engine::HeadInfo> heads() const override { return heads_; }

 private:
  std::vector<engine::HeadInfo> heads_;
};

// A window that such a screen clears would have some of the scores that the guard reads, and not
// the others.
TEST(ScreenedWindows, need_a_screen_before_all_heads_of_the_guard) {
  EXPECT_EQ(make_guard(EarlyGuard({6, 2, 6}), 0, {1}).screen, 1U);
  EXPECT_EQ(make_guard(EarlyGuard({2, 2, 6}), 0, {1}).screen, std::nullopt);
  EXPECT_EQ(make_guard(EarlyGuard({1, 2, 6}), 0, {1}).screen, std::nullopt);
  EXPECT_EQ(make_guard(EarlyGuard({6, 2, 2}), 0, {1}).screen, std::nullopt);
  EXPECT_EQ(make_guard(EarlyGuard({6, 2, 6}), 1, {1}).screen, std::nullopt);  // the screen itself
}

TEST(ScreenedWindows, have_the_score_of_the_screen_in_a_verdict_on_one_text) {
  const Screened model;
  const Guard guard = make_guard(model, 0, {1});
  ASSERT_EQ(guard.screen, 1U);
  const auto judge = [&](const std::string& text) {
    const auto judged = judge_text(model, guard, TextKind::kPrompt, text,
                                   [&](std::span<const std::string_view> windows) {
                                     std::vector<engine::Input> inputs;
                                     for (const std::string_view window : windows)
                                       inputs.push_back({.text = window, .screened = true});
                                     return model.answer(inputs);
                                   });
    EXPECT_TRUE(judged) << judged.error().message;
    return judged->scores;
  };
  EXPECT_THAT(judge(numbers(1500)),
              testing::ElementsAre(testing::FloatEq(1 - kHarmless), testing::FloatEq(kHarmless)));
  EXPECT_THAT(
      judge(numbers(1500) + "jailbreak"),
      testing::ElementsAre(testing::FloatNear(0.1F, 1e-6F), testing::FloatEq(Screened::kSure)));
}

}  // namespace
}  // namespace signalbox::signals
