// Tests which signals of a request are computed, in which order and how often, and how the
// explanation describes the others.

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "engine/served_model.h"
#include "tests/router/evaluation_support.h"
#include "tests/router/fake_embedder.h"

namespace signalbox::routing {
namespace {

// --- order ---

constexpr std::string_view kThreeCosts = R"(
routing:
  signals:
    keywords: [{name: k, keywords: [alpha]}]
    embeddings: [{name: e, threshold: 0.6, candidates: ["beta gamma"]}]
    classifiers: [{name: c, type: local, model_path: models/c, labels: [delta, other]}]
  decisions:
    - {name: by_word, priority: 3, rules: {type: keyword, name: k}}
    - {name: by_meaning, priority: 2, rules: {type: embedding, name: e}}
    - {name: by_class, priority: 1, rules: {type: classifier, name: c, label: delta}}
)";

TEST(Evaluation, runs_dearer_signals_only_if_cheaper_ones_leave_the_outcome_open) {
  std::atomic<int> embedded{0};
  const auto model = classes({"other", "delta"});
  const auto router =
      router_of(kThreeCosts, {.embedder = std::make_shared<test::FakeEmbedder>(&embedded),
                              .classifiers = {{"models/c", model}}});
  const auto costs = [&](std::string_view text) {
    embedded = 0;
    model->passes = 0;
    const request::ChatRequest request = request_with(text);
    Evaluation evaluation = router->evaluate(request);
    EXPECT_TRUE(evaluation.run_cheap() || evaluation.run_needed());
    return fmt::format("{}: {} {}", decision_of(evaluation), embedded.load(), model->passes.load());
  };
  EXPECT_EQ(costs("alpha"), "by_word: 0 0");
  EXPECT_EQ(costs("beta gamma"), "by_meaning: 1 0");
  EXPECT_EQ(costs("delta"), "by_class: 1 1");
  EXPECT_EQ(costs("nothing"), "none: 1 1");
}

TEST(Evaluation, does_not_read_the_request_if_no_rule_needs_it) {
  const auto router = router_of(R"(
routing:
  signals:
    keywords: [{name: k, keywords: [alpha]}]
    context: [{name: short, max_tokens: 100}]
    structure: [{name: loud, feature: {type: count, source: {type: regex, pattern: "!"}}}]
  decisions:
    - {name: a, priority: 2, rules: {type: keyword, name: k}}
    - {name: b, priority: 1, rules: {type: context, name: short}}
)",
                                {});
  const request::ChatRequest request = request_with("alpha");
  Evaluation evaluation = router->evaluate(request);
  EXPECT_TRUE(evaluation.run_cheap());
  EXPECT_EQ(explained(evaluation, "b", "matched"), "null");
  EXPECT_EQ(explained(evaluation, "b", "why"),
            "never needed: the decision is outranked, matching or not");
  EXPECT_NE(evaluation.explain_words().find("structure: 1 signal, never needed"),
            std::string::npos);
  ASSERT_TRUE(evaluation.run_all());
  EXPECT_EQ(explained(evaluation, "b", "matched"), "true");
}

// --- at the same time ---

constexpr std::string_view kTwoModels = R"(
routing:
  signals:
    classifiers:
      - {name: a, type: local, model_path: models/a, labels: [yes, no]}
      - {name: b, type: local, model_path: models/b, labels: [yes, no]}
      - {name: again, type: local, model_path: models/a, labels: [no]}
  decisions:
    - name: d
      rules:
        operator: AND
        conditions:
          - {type: classifier, name: a, label: yes}
          - {type: classifier, name: b, label: yes}
          - {operator: NOT, conditions: [{type: classifier, name: again, label: no}]}
)";

TEST(Evaluation, runs_models_of_equal_cost_together_and_each_text_once) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two processors";
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  std::atomic<bool> met{true};
  const auto meet = [&] {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    if (!changed.wait_for(lock, std::chrono::seconds(20), [&] { return inside == 2; })) met = false;
  };
  const auto a = classes({"yes", "no"}, meet);
  const auto b = classes({"yes", "no"}, meet);
  const auto router = router_of(kTwoModels, {.classifiers = {{"models/a", a}, {"models/b", b}}});
  const request::ChatRequest request = request_with("yes");
  Evaluation evaluation = router->evaluate(request);
  EXPECT_FALSE(evaluation.run_cheap());
  ASSERT_TRUE(evaluation.run_needed());
  EXPECT_TRUE(met) << "one model waited for the other to end";
  EXPECT_EQ(a->passes, 1);
  EXPECT_EQ(b->passes, 1);
  EXPECT_EQ(decision_of(evaluation), "d");
}

TEST(Inputs, run_a_model_once_for_many_threads) {
  const auto model =
      classes({"x", "y"}, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  std::atomic<int> embedded{0};
  const test::FakeEmbedder embedder(&embedded);
  for (int round = 0; round < 20; ++round) {
    const request::ChatRequest request = request_with("x and more");
    signals::Inputs inputs(request, {}, &embedder);
    model->passes = 0;
    embedded = 0;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        const auto answers = inputs.answers(*model, request.user_text());
        const auto part = inputs.answers(*model, request.user_text().substr(0, 1));
        const auto vector = inputs.embedding(request.user_text());
        if (!answers || answers->front().scores[0] < 0.8F || !part || !vector) ++wrong;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(model->passes, 2);
    EXPECT_EQ(embedded, 1);
  }
}

TEST(Evaluation, reports_a_full_queue_before_other_errors) {
  std::mutex mutex;
  mutex.lock();  // holds up the single pass that may run
  const auto slow = classes({"yes", "no"}, [&] { const std::lock_guard wait(mutex); });
  const auto served = engine::serve(slow, {.workers = 1, .requests_max = 1});
  ASSERT_TRUE(served) << served.error().message;
  const auto broken = std::make_shared<test::FakeClassifier>(std::vector<std::string>{"yes", "no"},
                                                             engine::HeadKind::kSequence, true);
  const auto router =
      router_of(kTwoModels, {.classifiers = {{"models/a", broken}, {"models/b", *served}}});
  std::atomic<int> refused{0};
  const auto ask = [&] {
    const request::ChatRequest request = request_with("yes");
    Evaluation evaluation = router->evaluate(request);
    evaluation.run_cheap();
    const auto done = evaluation.run_needed();
    EXPECT_FALSE(done);  // the other model is broken
    if (!done && done.error().code == Code::kOverloaded) ++refused;
  };
  std::vector<std::thread> threads;
  threads.emplace_back(ask);
  while (slow->passes == 0) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) threads.emplace_back(ask);  // one of them may wait
  while (refused < 2) std::this_thread::yield();
  mutex.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 2);
}

// --- failures ---

constexpr std::string_view kGuardedScore = R"(
routing:
  signals:
    pii: [{name: p, threshold: 0.5}]
    keywords: [{name: k, keywords: [alpha]}]
  projections:
    scores:
      - name: risk
        inputs: [{type: pii, name: p, weight: 0.6}, {type: keyword, name: k, weight: 0.6}]
    mappings: [{name: bands, source: risk, outputs: [{name: risky, gte: 0.5}]}]
  decisions:
    - name: refuse
      priority: 2
      rules: {type: projection, name: risky}
      plugins: [{type: fast_response, configuration: {message: no}}]
    - {name: rest, priority: 1}
global: {model_catalog: {system: {pii_classifier: models/p}}}
)";

TEST(Evaluation, a_guard_that_fails_behind_a_projection_refuses_the_request) {
  const auto fails = std::make_shared<test::FakeClassifier>(std::vector<std::string>{"PERSON"},
                                                            engine::HeadKind::kTokens, true);
  const auto works = std::make_shared<test::FakeClassifier>(std::vector<std::string>{"PERSON"},
                                                            engine::HeadKind::kTokens, false);
  const auto decide = [](const auto& model, std::string_view text) {
    const auto router = router_of(kGuardedScore, {.classifiers = {{"models/p", model}}});
    const request::ChatRequest request = request_with(text);
    Evaluation evaluation = router->evaluate(request);
    if (!evaluation.run_cheap()) static_cast<void>(evaluation.run_needed());
    return fmt::format("{}: {}", decision_of(evaluation), explained(evaluation, "refuse", "why"));
  };
  EXPECT_EQ(decide(fails, "hello"), "refuse: the model failed, which counts as a match");
  EXPECT_EQ(decide(works, "hello"), "rest: nothing");
  EXPECT_EQ(decide(works, "PERSON"), "refuse: nothing");
  EXPECT_EQ(decide(fails, "alpha"), "refuse: nothing");  // the result is clear without the guard
}

TEST(Evaluation, explanations_report_the_effect_of_on_error) {
  const auto fails = std::make_shared<test::FakeClassifier>(std::vector<std::string>{"x", "y"},
                                                            engine::HeadKind::kSequence, true);
  for (const std::string_view answer : {"match", "no_match"}) {
    const auto router = router_of(fmt::format(R"(
routing:
  signals: {{classifiers: [{{name: c, type: local, model_path: models/c, labels: [x, y]}}]}}
  decisions: [{{name: d, rules: {{type: classifier, name: c, label: x, on_error: {}}}}}]
)",
                                              answer),
                                  {.classifiers = {{"models/c", fails}}});
    const request::ChatRequest request = request_with("x");
    Evaluation evaluation = router->evaluate(request);
    evaluation.run_cheap();
    EXPECT_FALSE(evaluation.run_needed());
    const bool match = answer == "match";
    EXPECT_EQ(explained(evaluation, "d", "matched"), match ? "true" : "false");
    EXPECT_EQ(explained(evaluation, "d", "why"),
              match ? "the model failed, which counts as a match"
                    : "the model failed, which counts as no match");
  }
}

// --- confidential work ---

TEST(Evaluation, a_report_on_a_confidential_project_stays_on_premises_and_runs_no_classifier) {
  auto loaded =
      config::load(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "deploy/config/confidential.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->notices.empty()) << loaded->notices[0];
  // Uses names that no pulled model has.
  loaded->config.system_models.domain_classifier = "fakes/domain";
  loaded->config.system_models.pii_classifier = "fakes/pii";
  const auto domain = classes({"business", "economics", "other"});
  const auto pii =
      std::make_shared<Watched>(std::vector<std::string>{"PERSON"}, engine::HeadKind::kTokens);
  std::atomic<int> embedded{0};
  const auto router = Router::create(
      std::move(loaded->config), {.embedder = std::make_shared<test::FakeEmbedder>(&embedded),
                                  .classifiers = {{"fakes/domain", domain}, {"fakes/pii", pii}}});
  ASSERT_TRUE(router) << router.error().message;
  embedded = 0;

  const request::ChatRequest request =
      request_with("Prepare the quarterly financial report for Project Titan, Q3");
  Evaluation evaluation = (*router)->evaluate(request);
  EXPECT_FALSE(evaluation.run_cheap());
  ASSERT_TRUE(evaluation.run_needed());
  const auto plan = evaluation.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->decision, "confidential_report");
  EXPECT_EQ(plan->model->name, "on-premises-70b");
  EXPECT_EQ(plan->reasoning, true);
  EXPECT_EQ(plan->reasoning_effort, "high");
  EXPECT_NE(plan->body.find(R"("reasoning_effort":"high")"), std::string::npos) << plan->body;
  EXPECT_EQ(embedded, 1);
  EXPECT_EQ(domain->passes, 0);
  EXPECT_EQ(pii->passes, 0);
  EXPECT_EQ(explained(evaluation, "personal_data", "why"),
            "never needed: the decision is outranked, matching or not");
  const std::string words = evaluation.explain_words();
  EXPECT_NE(words.find("pii: 1 signal, never needed: the outcome was fixed without it"),
            std::string::npos)
      << words;
  EXPECT_NE(words.find("domain: 3 signals, never needed: the outcome was fixed without it"),
            std::string::npos)
      << words;

  // The same report without anything confidential is left to the classifiers.
  const request::ChatRequest other =
      request_with("Prepare the quarterly financial report of PERSON");
  Evaluation open = (*router)->evaluate(other);
  EXPECT_FALSE(open.run_cheap());
  ASSERT_TRUE(open.run_needed());
  EXPECT_EQ(decision_of(open), "personal_data");
  EXPECT_EQ(pii->passes, 1);
}

}  // namespace
}  // namespace signalbox::routing
