// Tests similarity signals with vectors chosen by hand.

#include "router/signals/embedding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace signalbox::signals {
namespace {

using Aggregation = config::EmbeddingSignal::Aggregation;

// Uses two dimensions: a text is an angle in degrees.
class Angles : public engine::TextEmbedder {
 public:
  int32_t dim() const override { return 2; }
  int32_t tokens_max() const override { return 512; }
  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    for (size_t i = 0; i < texts.size(); ++i) {
      const double radians = std::stod(std::string(texts[i])) * M_PI / 180;
      out[2 * i] = static_cast<float>(std::cos(radians));
      out[2 * i + 1] = static_cast<float>(std::sin(radians));
    }
    return {};
  }
};

double cosine(double degrees) {
  return std::cos(degrees * M_PI / 180);
}

struct Similarities {
  std::vector<Reading> readings;
  std::map<uint32_t, std::string> nearest;
};

Similarities evaluate(const std::vector<config::EmbeddingSignal>& signals,
                      const config::EmbeddingModel& model, std::string_view text) {
  const Angles angles;
  const auto type = EmbeddingSignals::create(signals, model, angles);
  EXPECT_TRUE(type) << type.error().message;
  const auto request = request::ChatRequest::parse(
      fmt::format(R"({{"model":"auto","messages":[{{"role":"user","content":"{}"}}]}})", text));
  Similarities out;
  out.readings.resize(signals.size());
  std::vector<Evidence> evidence;
  Inputs inputs(*request, {}, &angles);
  EXPECT_TRUE((*type)->evaluate(inputs, out.readings, evidence));
  for (const Evidence& each : evidence) out.nearest[each.signal] = each.text;
  return out;
}

TEST(Embedding, weighs_the_best_prototype_and_the_best_two) {
  const Similarities out = evaluate({{"s", 0.5, {"0", "60", "180"}, Aggregation::kMax},
                                     {"one", 0.5, {"60"}, Aggregation::kAny},
                                     {"mean", 0.5, {"0", "60", "180"}, Aggregation::kMean}},
                                    {.top_k = 0}, "0");
  EXPECT_NEAR(out.readings[0].score, 0.75 * 1 + 0.25 * (1 + cosine(60)) / 2, 1e-6);
  EXPECT_NEAR(out.readings[1].score, cosine(60), 1e-6);
  EXPECT_NEAR(out.readings[2].score, (1 + cosine(60) - 1) / 3, 1e-6);
  EXPECT_EQ(out.nearest.at(0), "0");
  EXPECT_TRUE(out.readings[0].matched);
  EXPECT_NEAR(out.readings[0].confidence, out.readings[0].score, 1e-9);
  EXPECT_FALSE(out.readings[2].matched);
}

TEST(Embedding, near_identical_candidates_are_one_prototype) {
  const Similarities out = evaluate({{"s", 0.5, {"0", "5", "90"}, Aggregation::kMax}}, {}, "0");
  EXPECT_NEAR(out.readings[0].score, 0.75 * 1 + 0.25 * (1 + cosine(90)) / 2, 1e-6);
}

TEST(Embedding, scales_distances_for_thresholds_of_another_model) {
  const std::vector<config::EmbeddingSignal> signals{{"a", 0.7, {"60"}, Aggregation::kMax},
                                                     {"mean", 0.7, {"60"}, Aggregation::kMean}};
  const config::EmbeddingModel raw{.soft_matching = false};
  config::EmbeddingModel scaled = raw;
  scaled.distance_scale = 0.5;
  EXPECT_FALSE(evaluate(signals, raw, "0").readings[0].matched);
  for (const Reading& reading : evaluate(signals, scaled, "0").readings) {
    EXPECT_NEAR(reading.score, 0.75, 1e-6);
    EXPECT_TRUE(reading.matched);
  }
}

TEST(Embedding, soft_matching_helps_only_when_nothing_matches) {
  const std::vector<config::EmbeddingSignal> signals{{"a", 0.9, {"40"}, Aggregation::kMax},
                                                     {"b", 0.9, {"0"}, Aggregation::kMax}};
  const config::EmbeddingModel soft{.soft_threshold = 0.5, .soft_matching = true, .top_k = 0};
  EXPECT_FALSE(evaluate(signals, soft, "0").readings[0].matched);
  const Similarities out = evaluate(signals, soft, "-30");
  EXPECT_FALSE(out.readings[0].matched);
  EXPECT_TRUE(out.readings[1].matched);
  EXPECT_FALSE(evaluate(signals, {.soft_threshold = 0.5, .soft_matching = false}, "-30")
                   .readings[1]
                   .matched);
  EXPECT_FALSE(evaluate(signals, soft, "180").readings[1].matched);
}

TEST(Embedding, a_request_without_text_matches_nothing) {
  const Similarities out = evaluate({{"s", -1, {"0"}, Aggregation::kMax}}, {}, "");
  EXPECT_FALSE(out.readings[0].matched);
  EXPECT_TRUE(out.nearest.empty());
}

}  // namespace
}  // namespace signalbox::signals
