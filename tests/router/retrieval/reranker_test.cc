// Tests the order of documents by a model, and what is left of a search if the model fails.

#include "router/retrieval/reranker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/router/fake_classifier.h"

namespace signalbox::retrieval {
namespace {

using Documents = std::vector<std::string>;

/// The raw score of a document is its length.
class LengthRanker final : public test::FakeClassifier {
 public:
  explicit LengthRanker(bool fails)
      : FakeClassifier({"relevance"}, engine::HeadKind::kSequence, fails,
                       engine::Scores::kSigmoid) {}
  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    SIGNALBOX_TRY_VOID(FakeClassifier::answer(std::span<const engine::Input>()));
    std::vector<engine::Answer> out;
    for (const engine::Input& input : inputs) {
      longest = std::max({longest, input.text.size(), input.pair->size()});
      out.emplace_back().scores = {static_cast<float>(input.pair->size())};
    }
    return out;
  }
  Result<std::vector<engine::Answer>> answer_within(
      const engine::Patience& patience, std::span<const engine::Input> inputs) const override {
    deadline = patience.deadline;
    return answer(inputs);
  }

  mutable size_t longest = 0;  // bytes of a text
  mutable std::chrono::steady_clock::time_point deadline;
};

class Found final : public Retriever {
 public:
  explicit Found(Result<Documents> documents) : documents_(std::move(documents)) {}
  bool needs_vector() const override { return true; }
  Result<Documents> find(const Query&, const engine::Patience&) const override {
    return documents_;
  }

 private:
  const Result<Documents> documents_;
};

Result<Documents> find(std::shared_ptr<const engine::TextModel> model, uint32_t top_k,
                       std::string_view on_failure, Result<Documents> found,
                       std::string_view question = "a question") {
  config::RagPlugin plugin;
  plugin.on_failure = on_failure;
  plugin.rerank = config::RagPlugin::Rerank{top_k};
  const auto made =
      rerank(std::make_unique<const Found>(std::move(found)), plugin, std::move(model), "/tmp");
  if (!made) return tl::unexpected<Error>(made.error());
  EXPECT_TRUE((*made)->needs_vector());
  return (*made)->find({question}, {});
}

const Documents kFound = {"bb", "a", "cccc", "dd"};

TEST(Reranker, orders_documents_and_keeps_the_best) {
  const auto ranker = std::make_shared<const LengthRanker>(false);
  EXPECT_EQ(find(ranker, 0, "skip", kFound).value(), (Documents{"cccc", "bb", "dd", "a"}));
  EXPECT_EQ(find(ranker, 2, "block", kFound).value(), (Documents{"cccc", "bb"}));
}

TEST(Reranker, leaves_the_order_of_the_search_if_the_model_fails_or_is_missing) {
  const auto failing = std::make_shared<const LengthRanker>(true);
  EXPECT_EQ(find(failing, 3, "warn", kFound).value(), (Documents{"bb", "a", "cccc"}));
  EXPECT_EQ(find(nullptr, 1, "skip", kFound).value(), (Documents{"bb"}));
}

TEST(Reranker, fails_with_its_model_if_the_request_needs_documents) {
  const auto failing = std::make_shared<const LengthRanker>(true);
  EXPECT_FALSE(find(failing, 3, "block", kFound));
  EXPECT_FALSE(find(nullptr, 3, "block", kFound));
}

TEST(Reranker, reads_long_texts_only_as_far_as_the_model_might) {
  const auto ranker = std::make_shared<const LengthRanker>(false);
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(find(ranker, 1, "skip", Documents{"b", text}, text).value(), Documents{text});
  EXPECT_LE(ranker->longest, 64U * 512);
}

TEST(Reranker, has_the_time_of_a_search) {
  const auto ranker = std::make_shared<const LengthRanker>(false);
  ASSERT_TRUE(find(ranker, 0, "skip", kFound));
  EXPECT_LE(ranker->deadline, std::chrono::steady_clock::now() + std::chrono::seconds(5));
}

TEST(Reranker, does_not_change_a_search_that_fails) {
  const auto ranker = std::make_shared<const LengthRanker>(false);
  const auto nothing = find(ranker, 3, "skip", fail(Code::kNotFound, "nothing"));
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::kNotFound);
}

TEST(Reranker, must_have_one_label) {
  const auto classifier = std::make_shared<const test::FakeClassifier>(
      std::vector<std::string>{"a", "b"}, engine::HeadKind::kSequence, false);
  const auto made = find(classifier, 0, "skip", kFound);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("has 2 labels"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace signalbox::retrieval
