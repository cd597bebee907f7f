// The texts that a reranker reads, their tokens, and the requests that end before it runs.

#include "engine/rerank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

std::string words(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "g ";
  return out;
}

// A network that reads 600 tokens. A pair has three marks or, as in RoBERTa's models, four.
class Rerank : public testing::TestWithParam<int> {
 protected:
  static std::string config() {
    std::string out = small_modern_bert("ModernBertForSequenceClassification");
    constexpr std::string_view kClasses = R"("num_labels":5)";
    return "{" + out.replace(out.find(kClasses), kClasses.size(), R"("num_labels":1)") + "}";
  }

  void SetUp() override {
    if (GetParam() == 4) {
      const auto path = network_.directory() / "tokenizer.json";
      std::ifstream in(path);
      std::string text{std::istreambuf_iterator<char>(in), {}};
      const size_t at = text.find(R"({"Sequence":{"id":"B")");
      ASSERT_NE(at, std::string::npos);
      std::ofstream(path) << text.insert(at, R"({"SpecialToken":{"id":"[SEP]","type_id":0}},)");
    }
    auto model = TextModel::open(network_.directory());
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
    ASSERT_EQ(model_->tokens({.text = "a", .pair = "b"}).value(), 2 + GetParam());
  }

  Result<std::vector<RankedDocument>> ranked(std::string_view query,
                                             std::vector<std::string_view> documents,
                                             const RankOptions& options = {},
                                             const Patience& patience = {}) const {
    return rerank(*model_, 0, query, documents, options, patience);
  }

  const RandomNetwork network_{config(), true};
  std::unique_ptr<const TextModel> model_;
};

INSTANTIATE_TEST_SUITE_P(Marks, Rerank, testing::Values(3, 4));

TEST_P(Rerank, the_tokens_are_those_of_the_pairs_that_the_model_reads) {
  const std::string query = words(7), lengthy = words(1500);
  for (const int count : {0, 1, 585, 593 - GetParam()}) {
    const std::string document = words(count);
    const auto found = ranked(query, {document}).value();
    EXPECT_EQ(found[0].tokens, model_->tokens({.text = query, .pair = document}).value()) << count;
    EXPECT_TRUE(found[0].whole) << count;
  }
  const std::string over = words(594 - GetParam());  // by one token
  EXPECT_GT(ranked(query, {over}).value()[0].tokens, 600);
  int64_t expected = 0;
  const int32_t room = 600 - model_->tokens({.text = query}).value();
  const auto windows = model_->windows(lengthy, room, room / 8).value();
  for (const std::string_view window : windows)
    expected += model_->tokens({.text = query, .pair = window}).value();
  const auto found = ranked(query, {lengthy}).value();
  EXPECT_EQ(found[0].tokens, expected);
  EXPECT_TRUE(found[0].whole);
}

TEST_P(Rerank, a_document_without_tokens_has_a_score_beside_any_query) {
  for (const int count : {0, 1, 290, 300, 595, 596, 597, 598, 599, 700}) {
    for (const char* document : {"", " "}) {
      const std::string query = words(count);
      const auto found = ranked(query, {document}, {.raw = true}).value();
      EXPECT_TRUE(std::isfinite(found[0].score)) << count;
      EXPECT_GT(found[0].tokens, 0) << count;
      EXPECT_EQ(found[0].whole, count + GetParam() <= 600) << count;
    }
  }
}

TEST_P(Rerank, the_first_document_that_is_not_whole_ends_a_request_for_whole_ones) {
  const std::string short_text = words(3), lengthy = words(60'000), longer = words(70'000);
  const RankOptions options{.only_whole = true};
  EXPECT_EQ(ranked("g", {short_text, short_text}, options).value().size(), 2u);
  const auto found = ranked("g", {short_text, longer, lengthy}, options).value();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 1u);
  EXPECT_FALSE(found[0].whole);
}

TEST_P(Rerank, documents_are_not_split_for_a_caller_who_does_not_wait) {
  std::stop_source source;
  EXPECT_TRUE(ranked("g", {"a"}, {}, {.stop = source.get_token()}));
  source.request_stop();
  EXPECT_EQ(ranked("g", {"a"}, {}, {.stop = source.get_token()}).error().code, Code::kCancelled);
  const Patience late{.deadline = std::chrono::steady_clock::now()};
  EXPECT_EQ(ranked("g", {"a"}, {}, late).error().code, Code::kDeadline);
}

}  // namespace
}  // namespace signalbox::engine
