// A decision on the skeleton must agree with the decision on the whole text. The prompts have
// thousands of made-up words. Each is about one of six subjects, with sentences about others in
// between, and the embedder counts words. bench/compression_agreement does the same with real
// models and labelled lines.

#include <gtest/gtest.h>

#include <random>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/routing/router.h"
#include "tests/router/fake_embedder.h"

namespace signalbox::routing {
namespace {

constexpr size_t kSubjects = 6, kWords = 8, kCommon = 60, kPrompts = 200;

std::string word_of(size_t subject, size_t word) {
  return fmt::format("s{}w{}", subject, word);
}

std::unique_ptr<const Router> router_that(bool compresses) {
  std::string signals, decisions;
  for (size_t s = 0; s < kSubjects; ++s) {
    std::string words;
    for (size_t w = 0; w < kWords; ++w) words += (w == 0 ? "" : " ") + word_of(s, w);
    const std::string_view comma = s == 0 ? "" : ",";
    signals += fmt::format(R"({}{{"name": "s{}", "threshold": 0.05, "candidates": ["{}"]}})", comma,
                           s, words);
    decisions += fmt::format(
        R"({}{{"name": "d{}", "rules": {{"type": "embedding", "name": "s{}"}}}})", comma, s, s);
  }
  const std::string text = fmt::format(
      R"({{"version": "v0.3", "providers": {{"defaults": {{"default_model": "m"}},
"models": [{{"name": "m", "backend_refs": [{{"type": "echo"}}]}}]}},
"global": {{"model_catalog": {{"modules": {{"prompt_compression": {{"enabled": {}}}}}}}}},
"routing": {{"signals": {{"embeddings": [{}]}}, "decisions": [{}]}}}})",
      compresses, signals, decisions);
  auto loaded = config::parse(text, "agreement.yaml");
  SIGNALBOX_CHECK(loaded.has_value());
  auto made = Router::create(std::move(loaded->config),
                             {.embedder = std::make_shared<test::FakeEmbedder>()});
  SIGNALBOX_CHECK(made.has_value());
  return *std::move(made);
}

class Prompts {
 public:
  std::string make() {
    const size_t subject = draw(kSubjects);
    std::string out;
    for (size_t left = 150 + draw(600); left > 0; --left) {
      const size_t about = draw(4) == 0 ? draw(kSubjects) : subject;
      for (size_t word = 8 + draw(6); word > 0; --word) {
        out += draw(3) == 0 ? word_of(about, draw(kWords)) : fmt::format("c{}", draw(kCommon));
        out += ' ';
      }
      out += "end. ";
    }
    return out;
  }

 private:
  size_t draw(size_t below) { return static_cast<size_t>(random_() % below); }
  std::mt19937_64 random_{7};
};

std::string decided(const Router& router, const request::ChatRequest& request) {
  Evaluation evaluation = router.evaluate(request);
  const bool done = evaluation.run_cheap() || evaluation.run_needed().has_value();
  EXPECT_TRUE(done);
  const config::Decision* decision = evaluation.decision();
  return decision == nullptr ? "" : decision->name;
}

TEST(Compression, leaves_at_least_95_of_100_decisions_as_they_are) {
  const auto whole = router_that(false), in_short = router_that(true);
  Prompts prompts;
  size_t same = 0;
  for (size_t i = 0; i < kPrompts; ++i) {
    json::Writer body;
    body.begin_object().member("model", "auto").key("messages").begin_array().begin_object();
    body.member("role", "user").member("content", prompts.make());
    const auto request =
        request::ChatRequest::parse(body.end_object().end_array().end_object().take());
    ASSERT_TRUE(request);
    const std::string decision = decided(*whole, *request);
    EXPECT_NE(decision, "");
    same += decision == decided(*in_short, *request) ? 1 : 0;
  }
  RecordProperty("agreeing", static_cast<int>(same));
  EXPECT_GE(same, kPrompts * 95 / 100);
}

}  // namespace
}  // namespace signalbox::routing
