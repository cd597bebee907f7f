// The configuration that ships: it loads without a word, and routes what it promises to.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/json_writer.h"
#include "engine/engine.h"
#include "router/config/load.h"
#include "router/router.h"
#include "tests/router/fake_embedder.h"

namespace signalbox::router {
namespace {

const std::filesystem::path kRoot = SIGNALBOX_SOURCE_DIR;

config::Config default_config() {
  auto loaded = config::load(kRoot / "deploy/config/default.yaml", {.strict = true});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  EXPECT_TRUE(loaded->notices.empty()) << loaded->notices.front();
  return std::move(loaded->config);
}

ChatRequest request_with(std::string_view text) {
  json::Writer out;
  out.begin_object().member("model", "auto").key("messages").begin_array();
  out.begin_object().member("role", "user").member("content", text).end_object();
  return *ChatRequest::parse(out.end_array().end_object().take());
}

TEST(DefaultConfig, has_the_fourteen_domains) {
  const config::Config config = default_config();
  std::set<std::string> names;
  for (const config::Decision& decision : config.routing.decisions) {
    names.insert(decision.name);
    EXPECT_TRUE(decision.system_prompt) << decision.name;
    EXPECT_EQ(decision.model_refs.size(), 1u) << decision.name;
    EXPECT_TRUE(decision.missing_plugins.empty()) << decision.name;
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"math", "computer science", "physics", "chemistry", "biology",
                                   "engineering", "economics", "business", "law", "psychology",
                                   "philosophy", "history", "health", "other"}));
  std::map<size_t, int> lengths;
  for (const config::KeywordSignal& signal : config.routing.keywords) {
    ++lengths[signal.keywords.size()];
    std::set<std::string> distinct(signal.keywords.begin(), signal.keywords.end());
    EXPECT_EQ(distinct.size(), signal.keywords.size()) << signal.name;
  }
  EXPECT_EQ(lengths.size(), 1u) << "lists of different lengths do not vote fairly";
}

TEST(DefaultConfig, a_proof_is_mathematics_and_needs_no_model) {
  const auto router =
      Router::create(default_config(), {.embedder = std::make_unique<FakeEmbedder>()});
  ASSERT_TRUE(router) << router.error().message;
  const ChatRequest request =
      request_with("Explain the proof of Fermat's Last Theorem step-by-step");
  Evaluation evaluation = (*router)->evaluate(request);
  EXPECT_TRUE(evaluation.run_cheap());
  const auto plan = evaluation.plan();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->decision, "math");
  EXPECT_EQ(plan->model->name, "deepseek-v31");
  EXPECT_EQ(plan->reasoning, true);
  EXPECT_EQ(plan->reasoning_effort, "high");
  EXPECT_TRUE(plan->injected_system_prompt);
  EXPECT_NE(evaluation.explain_words().find(R"(keyword math matches (0.53): "proof", "theorem")"),
            std::string::npos);
}

// With the real model, on requests in which no keyword occurs.
TEST(DefaultConfig, meaning_decides_where_no_keyword_occurs) {
  const auto directory = kRoot / "models/minilm";
  if (!std::filesystem::exists(directory / "config.json")) GTEST_SKIP() << "minilm is not pulled";
  auto model = engine::TextModel::open(directory);
  ASSERT_TRUE(model) << model.error().message;
  const auto router = Router::create(default_config(), {.embedder = *std::move(model)});
  ASSERT_TRUE(router) << router.error().message;
  const std::pair<std::string_view, std::string_view> expected[] = {
      {"my landlord kept my deposit, can I sue him", "law"},
      {"how does the immune system fight a cold", "health"},
      {"how fast does a ball hit the ground when dropped from a tower", "physics"},
      {"write a function that reverses a string", "computer science"},
      {"how much should I charge for a haircut in my new salon", "business"},
      {"what will the weather be like tomorrow", "other"},
      {"find the roots of x squared minus five x plus six", "math"},
  };
  for (const auto& [text, decision] : expected) {
    const ChatRequest request = request_with(text);
    Evaluation evaluation = (*router)->evaluate(request);
    if (!evaluation.run_cheap()) {
      ASSERT_TRUE(evaluation.run_needed());
    }
    const auto plan = evaluation.plan();
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->decision, decision) << text << "\n" << evaluation.explain_words();
  }
}

}  // namespace
}  // namespace signalbox::router
