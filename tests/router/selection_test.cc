// Tests the parts of selection that data files cannot express: trained models in their file
// formats, figures of running models over time, and times measured from the bytes of a reply.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "base/json.h"
#include "router/replies/reply_meter.h"
#include "router/routing/selection/algorithms.h"
#include "router/routing/selection/runtime_stats.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {
namespace {

using std::chrono::milliseconds;
using TimePoint = std::chrono::steady_clock::time_point;

class TwoModels : public ::testing::Test {
 protected:
  TwoModels() {
    for (const char* name : {"a", "b"}) {
      config::Model model;
      model.name = name;
      models_.push_back(model);
    }
    refs_.resize(2);
    for (size_t i = 0; i < 2; ++i) candidates_.push_back({&refs_[i], &models_[i], nullptr});
  }

  std::string choose(const Selector& selector, std::vector<float> query) const {
    const auto choice = selector.choose(candidates_, {.query = query});
    EXPECT_TRUE(choice) << choice.error().message;
    return choice ? candidates_[choice->candidate].model->name + ": " + choice->reason : "";
  }

  std::vector<config::Model> models_;
  std::vector<config::ModelRef> refs_;
  std::vector<Candidate> candidates_;
};

constexpr std::string_view kTrained = R"({
  "algorithm": "knn", "trained": true, "k": 3,
  "embeddings": [[1, 0], [1, 0.1], [0.9, 0], [0, 1], [0, 1]],
  "labels": ["a", "a", "b", "b", "gone"],
  "qualities": [0.3, 0.3, 0.95, 0.9, 1.0],
  "latencies": [100, 110, 200, 200, 100]})";

TEST_F(TwoModels, knn_weighs_neighbours_by_quality) {
  const auto selector = knn(std::string(kTrained), "m.json", 0, 2);
  ASSERT_TRUE(selector) << selector.error().message;
  EXPECT_EQ(choose(**selector, {0.95F, 0.05F}), "b: votes of 3 examples: a 0.73, b 0.855");
  EXPECT_EQ(choose(**selector, {0, 1}).substr(0, 1), "b");
  const auto nearest = knn(std::string(kTrained), "m.json", 1, 2);
  EXPECT_EQ(choose(**nearest, {1, 0.1F}).substr(0, 1), "a");
}

TEST_F(TwoModels, knn_looks_at_examples_of_candidates_only) {
  const auto selector = knn(R"({"embeddings": [[1, 0]], "labels": ["gone"]})", "m.json", 1, 2);
  ASSERT_TRUE(selector);
  EXPECT_EQ(choose(**selector, {1, 0}),
            "a: the first of its models: the selector has examples of none of them");
  EXPECT_EQ(choose(**selector, {}), "a: the first of its models: the request was not embedded");
}

TEST(Knn, refuses_an_invalid_trained_model) {
  const auto message = [](std::string json) {
    const auto made = knn(std::move(json), "m.json", 0, 2);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(message(R"({"labels": ["a"]})"), "m.json: embeddings: expected an array");
  EXPECT_EQ(message(R"({"labels": [], "embeddings": []})"),
            "m.json: labels: expected at least one");
  EXPECT_EQ(message(R"({"labels": [1], "embeddings": [[1, 0]]})"),
            "m.json: labels: expected strings");
  EXPECT_EQ(message(R"({"labels": ["a", "b"], "embeddings": [[1, 0]]})"),
            "m.json: embeddings: expected one for each label, 2, found 1");
  EXPECT_EQ(message(R"({"labels": ["a"], "embeddings": [[1, 0, 0]]})"),
            "m.json: embeddings[0]: expected 2 numbers, the embedding model's dimension, found 3");
  EXPECT_EQ(message(R"({"labels": ["a"], "embeddings": [[1, "0"]]})"),
            "m.json: embeddings: expected numbers");
  EXPECT_EQ(message(R"({"labels": ["a"], "embeddings": [[1, 1e300]]})"),
            "m.json: embeddings: expected numbers");
  EXPECT_EQ(message(R"({"labels": ["a"], "embeddings": [[1, 0]], "qualities": [1, 2]})"),
            "m.json: qualities: expected one for each label, 1, found 2");
  EXPECT_EQ(message(R"({"labels": ["a"], "embeddings": [[1, 0]], "k": 0})"),
            "m.json: k: expected an integer from 1 to 10000");
  EXPECT_TRUE(message("nothing").starts_with("m.json: ")) << message("nothing");
}

// Each line of trained.jsonl is the file of a model that the Semantic Router trained, and what it
// chooses of a and b for an embedding: {"name", "method", "file", "choices": [[[x, y], MODEL], ...]
// or "invalid"}.
TEST_F(TwoModels, trained_models_choose_by_their_scores) {
  std::ifstream file(std::string(SIGNALBOX_SOURCE_DIR) + "/tests/router/trained.jsonl");
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    const json::Value root = row->root();
    SCOPED_TRACE(root.find("name")->text());
    const auto made =
        trained(root.find("method")->text(), std::string(root.find("file")->raw()), "m.json", 2);
    if (const auto invalid = root.find("invalid")) {
      ASSERT_FALSE(made);
      EXPECT_NE(made.error().message.find(invalid->text()), std::string::npos)
          << made.error().message;
      continue;
    }
    ASSERT_TRUE(made) << made.error().message;
    for (const json::Value& choice : root.find("choices")->items()) {
      auto part = choice.items().begin();
      std::vector<float> query;
      for (const json::Value& each : (*part).items())
        query.push_back(static_cast<float>(*each.number()));
      ++part;
      EXPECT_EQ(choose(**made, query).substr(0, 1), (*part).text()) << choice.raw();
    }
  }
  EXPECT_GT(lines, 10U);
}

TEST(Scores, percentiles_are_by_nearest_rank) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(percentile(values, 1), 1);
  EXPECT_EQ(percentile(values, 50), 5);
  EXPECT_EQ(percentile(values, 95), 10);
  EXPECT_EQ(percentile(values, 100), 10);
  EXPECT_EQ(percentile({}, 50), std::nullopt);
}

TEST(Scores, known_scores_are_normalised) {
  const Scores scores{3, std::nullopt, 1, 2};
  EXPECT_EQ(normalised(scores), (Scores{1, std::nullopt, 0, 0.5}));
  EXPECT_EQ(inverted(scores), (Scores{0, std::nullopt, 1, 0.5}));
  EXPECT_EQ(normalised({5, 5}), (Scores{1, 1}));
  EXPECT_EQ(best_of({std::nullopt, 1, 1}), 1U);
  EXPECT_EQ(best_of({std::nullopt}), 0U);
}

TEST(RuntimeStats, keeps_only_recent_values) {
  RuntimeStats stats;
  const TimePoint start{};
  stats.started("m");
  stats.started("m");
  stats.ended("m");
  for (int i = 0; i < 300; ++i) stats.add_ttft("m", 300 - i, start + milliseconds(i));
  stats.add_tpot("m", 7, start);
  const Figures now = stats.figures("m", start + milliseconds(300));
  EXPECT_EQ(now.in_flight, 1U);
  EXPECT_EQ(now.ttft_ms.size(), RuntimeStats::kSamplesMax);
  EXPECT_EQ(now.ttft_ms.front(), 1);
  EXPECT_EQ(now.ttft_ms.back(), 256);
  EXPECT_EQ(now.tpot_ms, (std::vector<double>{7}));
  const Figures later = stats.figures("m", start + RuntimeStats::kAgeMax + milliseconds(1));
  EXPECT_TRUE(later.tpot_ms.empty());
  EXPECT_EQ(later.ttft_ms.size(), 256U);
  EXPECT_TRUE(stats.figures("m", start + RuntimeStats::kAgeMax * 2).ttft_ms.empty());
  EXPECT_EQ(stats.figures("other", start).in_flight, 0U);
}

TEST(RuntimeStats, serves_many_threads) {
  RuntimeStats stats;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&stats] {
      for (int i = 0; i < 500; ++i) {
        stats.started("m");
        stats.add_ttft("m", i, TimePoint{});
        EXPECT_GT(stats.figures("m", TimePoint{}).in_flight, 0U);
        stats.ended("m");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stats.figures("m", TimePoint{}).in_flight, 0U);
}

// A reply must give the same times when fed in pieces of any size.
replies::ReplyMeter::Times times_of(std::string_view bytes, bool events, size_t piece,
                                    bool at_once = false) {
  replies::ReplyMeter meter(TimePoint{}, events);
  for (size_t at = 0; at < bytes.size(); at += piece) {
    // One byte per millisecond, after the first hundred milliseconds.
    const auto end = static_cast<int64_t>(std::min(at + piece, bytes.size()));
    meter.feed(bytes.substr(at, piece), TimePoint{} + milliseconds(at_once ? 100 : 100 + end));
  }
  return meter.times();
}

TEST(ReplyMeter, times_a_stream_by_its_events) {
  const std::string event = "data: {\"x\":\"data:\"}\n\n";
  const std::string stream = event + event + event + event + event + "data: [DONE]\n\n";
  const auto fine = times_of(stream, true, 1);
  EXPECT_EQ(fine.ttft_ms, 105);  // when "data:" is complete
  ASSERT_TRUE(fine.tpot_ms);
  EXPECT_NEAR(*fine.tpot_ms, static_cast<double>(stream.size() - 5) / 4, 1e-9);
  for (const size_t piece : {2U, 7U, 64U}) EXPECT_TRUE(times_of(stream, true, piece).tpot_ms);
  EXPECT_FALSE(times_of(event + "data: [DONE]\n\n", true, 1).tpot_ms) << "one token has no pace";
  EXPECT_FALSE(times_of(": a comment\n\n", true, 1).ttft_ms);
}

TEST(ReplyMeter, takes_the_tokens_from_the_usage) {
  const std::string stream =
      "data: {}\n\ndata: {\"usage\":{\"completion_tokens\": 11,\"total_tokens\":12}}\n\ndata: "
      "[DONE]\n\n";
  for (const size_t piece : {1U, 3U, 500U}) {
    const auto times = times_of(stream, true, piece);
    ASSERT_TRUE(times.tpot_ms) << piece;
    const auto first = *times.ttft_ms - 100;
    EXPECT_NEAR(*times.tpot_ms, (static_cast<double>(stream.size()) - first) / 10, 1e-9);
  }
  const std::string whole =
      R"({"choices":[{"message":{"content":"\"completion_tokens\":1"}}],"usage":{"completion_tokens":4}})";
  const auto times = times_of(whole, false, 5);
  EXPECT_FALSE(times.ttft_ms);
  EXPECT_NEAR(times.tpot_ms.value_or(0), (100 + static_cast<double>(whole.size())) / 4, 1e-9);
  EXPECT_FALSE(times_of(R"({"usage":{"completion_tokens":0}})", false, 5).tpot_ms);
  EXPECT_FALSE(times_of(R"({"usage":{"completion_tokens":-1}})", false, 5).tpot_ms);
  EXPECT_FALSE(times_of("", false, 1).tpot_ms);
}

TEST(ReplyMeter, finds_the_usage_behind_much_text) {
  const std::string whole = fmt::format(R"({{"content":"{}","usage":{{"completion_tokens":5}}}})",
                                        std::string(9000, 'x'));
  for (const size_t piece : {1U, 100U, 1500U, 20'000U})
    EXPECT_TRUE(times_of(whole, false, piece, true).tpot_ms) << piece;
}

}  // namespace
}  // namespace signalbox::selection
