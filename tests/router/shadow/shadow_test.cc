// Reads answers from a file of bodies, and compares answers with models that are not there: the end
// to end tests run the calls themselves.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/json.h"
#include "router/models/judges.h"
#include "router/shadow/answer.h"
#include "router/shadow/comparison.h"
#include "router/shadow/shadows.h"
#include "tests/router/fake_classifier.h"
#include "tests/router/fake_embedder.h"

namespace signalbox::shadow {
namespace {

using test::FakeClassifier;
using test::FakeEmbedder;

constexpr size_t kBytesMax = 32;

TEST(Shadow, reads_answers) {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/tests/router/shadow/answers.jsonl");
  size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << line;
    const json::Value row = document->root();
    SCOPED_TRACE(row.find("name")->text());
    std::optional<request::Api> api;
    if (const auto name = row.find("api"))
      api = name->text() == "messages" ? request::Api::kMessages : request::Api::kResponses;
    const auto read = read_answer(
        {std::string(row.find("body")->text()), row.find("stream").has_value(), api}, kBytesMax);
    if (const auto error = row.find("error")) {
      ASSERT_FALSE(read) << *read;
      EXPECT_EQ(read.error().message, error->text());
    } else {
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(*read, row.find("text")->text());
    }
  }
  EXPECT_GT(count, 10U);
}

/// An inference model: two sentences contradict each other if exactly one of them has a "not".
class Denying final : public FakeClassifier {
 public:
  explicit Denying(bool fails)
      : FakeClassifier({"entailment", "contradiction"}, engine::HeadKind::kSequence, fails),
        fails_(fails) {}
  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    if (fails_) return fail(Code::kInternal, "the model is gone");
    std::vector<engine::Answer> out;
    for (const engine::Input& input : inputs) {
      const auto denies = [](std::string_view text) {
        return text.find("not") != std::string_view::npos;
      };
      const bool differ = denies(input.text) != denies(*input.pair);
      out.push_back({.scores = {differ ? 0.1F : 0.9F, differ ? 0.9F : 0.1F}, .entities = {}});
    }
    return out;
  }

 private:
  const bool fails_;
};

struct Comparing {
  config::Config config;
  models::Models models;
  std::unique_ptr<const Comparer> comparer;

  Comparison compare(std::string_view answer, std::string_view shadow,
                     const config::ShadowDispatchPlugin::Comparison& how = {}) {
    auto made = Comparer::create(config, models);
    EXPECT_TRUE(made) << made.error().message;
    comparer = *std::move(made);
    return comparer->compare(how, answer, shadow, {});
  }
};

constexpr std::string_view kFlows = "The river flows into the sea.";

TEST(Comparison, equal_texts_agree_without_a_model) {
  Comparing with;
  const Comparison found = with.compare(kFlows, kFlows);
  EXPECT_EQ(found.agrees, true);
  EXPECT_EQ(found.similarity, 1);
}

TEST(Comparison, decides_nothing_without_a_model) {
  Comparing with;
  const Comparison found = with.compare(kFlows, "It does.");
  EXPECT_FALSE(found.agrees);
  EXPECT_FALSE(found.similarity);
}

TEST(Comparison, compares_with_the_threshold) {
  Comparing with;
  with.models.embedder = std::make_shared<FakeEmbedder>();
  EXPECT_EQ(with.compare(kFlows, "The river flows into the sea").agrees, true);
  const Comparison other = with.compare(kFlows, "Nobody knows anything about that matter");
  EXPECT_EQ(other.agrees, false);
  EXPECT_LT(*other.similarity, 0.5);
}

TEST(Comparison, reads_the_end_of_long_answers) {
  Comparing with;
  with.models.embedder = std::make_shared<FakeEmbedder>();
  std::string same;
  for (int i = 0; i < 300; ++i) same += "word ";
  std::string tail;
  for (int i = 0; i < 600; ++i) tail += "other ";
  const Comparison found = with.compare(same, same + tail);
  EXPECT_LT(*found.similarity, 0.8);
}

TEST(Comparison, a_contradiction_is_not_an_agreement) {
  Comparing with;
  with.models.embedder = std::make_shared<FakeEmbedder>();
  with.models.classifiers[models::classifier_directory(with.config, "nli")] =
      std::make_shared<Denying>(false);
  const Comparison denied = with.compare(kFlows, "The river flows not into the sea.");
  EXPECT_TRUE(denied.contradicts);
  EXPECT_EQ(denied.agrees, false);
  EXPECT_GT(*denied.similarity, 0.8);
  EXPECT_FALSE(with.compare(kFlows, "The river flows into a sea.").contradicts);
}

TEST(Comparison, a_model_that_fails_decides_nothing) {
  Comparing with;
  with.models.embedder = std::make_shared<FakeEmbedder>();
  with.models.classifiers[models::classifier_directory(with.config, "nli")] =
      std::make_shared<Denying>(true);
  const Comparison found = with.compare(kFlows, "The river flows into a sea.");
  EXPECT_FALSE(found.agrees);
  EXPECT_EQ(found.error, code_name(Code::kInternal));
  std::atomic<bool> fails = true;
  with.models.embedder = std::make_shared<FakeEmbedder>(nullptr, &fails);
  EXPECT_FALSE(with.compare(kFlows, "It does.").similarity);
}

TEST(Answer, is_cut_between_characters) {
  EXPECT_EQ(beginning_of("Größe", 3), "Gr");
  EXPECT_EQ(beginning_of("Größe", 4), "Grö");
  EXPECT_EQ(beginning_of("Größe", 100), "Größe");
}

TEST(Shadows, places_are_bounded_and_come_back) {
  Shadows shadows;
  config::ShadowDispatchPlugin plugin;
  plugin.arms.resize(1);
  plugin.limits.max_concurrent_shadow = 2;
  auto first = shadows.admit(plugin);
  const auto second = shadows.admit(plugin);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(shadows.admit(plugin), nullptr);
  first.reset();
  EXPECT_NE(shadows.admit(plugin), nullptr);
}

TEST(Shadows, calls_of_a_minute_are_bounded) {
  Shadows shadows;
  config::ShadowDispatchPlugin plugin;
  plugin.arms.resize(2);
  plugin.limits.max_calls_per_minute = 5;
  EXPECT_NE(shadows.admit(plugin), nullptr);
  EXPECT_NE(shadows.admit(plugin), nullptr);
  EXPECT_EQ(shadows.admit(plugin), nullptr);
  plugin.limits.max_calls_per_minute = 0;
  EXPECT_NE(shadows.admit(plugin), nullptr);
}

TEST(Shadows, none_begins_after_the_stop) {
  Shadows shadows;
  shadows.stop();
  config::ShadowDispatchPlugin plugin;
  plugin.arms.resize(1);
  EXPECT_EQ(shadows.admit(plugin), nullptr);
}

}  // namespace
}  // namespace signalbox::shadow
