// The C interface compared with the C++ one, and its errors for wrong arguments.

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "engine/engine.h"
#include "engine/rerank.h"
#include "engine/signalbox.h"
#include "tests/engine/random_adapter.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

signalbox_text text_of(const char* text) {
  return {text, std::strlen(text), 0};
}

std::string config(std::string_view architecture) {
  return fmt::format("{{{}}}", small_modern_bert(architecture));
}

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string head = tagger_.directory().string();
    const char* heads[] = {head.c_str()};
    signalbox_options options{};
    options.heads = heads;
    options.heads_count = 1;
    ASSERT_EQ(signalbox_open(classifier_.directory().c_str(), &options, &model_), SIGNALBOX_OK)
        << signalbox_last_error();
    auto own = TextModel::open(classifier_.directory(), {.heads = {tagger_.directory()}});
    ASSERT_TRUE(own) << own.error().message;
    own_ = *std::move(own);
  }
  void TearDown() override { signalbox_close(model_); }

  const RandomNetwork classifier_{config("ModernBertForSequenceClassification"), true};
  const RandomNetwork tagger_{config("ModernBertForTokenClassification"), true};
  signalbox_model* model_ = nullptr;
  std::unique_ptr<const TextModel> own_;
};

TEST_F(CApi, describes_the_model) {
  EXPECT_EQ(signalbox_dim(model_), own_->dim());
  EXPECT_EQ(signalbox_layers(model_), own_->layers());
  EXPECT_EQ(signalbox_tokens_max(model_), own_->tokens_max());
  size_t count = 0;
  const signalbox_head* heads = signalbox_heads(model_, &count);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(heads[0].kind, SIGNALBOX_SEQUENCE);
  EXPECT_EQ(heads[1].kind, SIGNALBOX_TOKENS);
  for (size_t h = 0; h < count; ++h) {
    const HeadInfo& own = own_->heads()[h];
    EXPECT_EQ(heads[h].name, own.name);
    EXPECT_EQ(heads[h].scores, static_cast<int32_t>(own.scores));
    EXPECT_EQ(std::vector<std::string>(heads[h].labels, heads[h].labels + heads[h].labels_count),
              own.labels);
  }
  EXPECT_STREQ(signalbox_version(), SIGNALBOX_VERSION);
}

TEST_F(CApi, embeds_as_the_engine_does) {
  const signalbox_text texts[] = {text_of("abc def"), text_of(""), text_of("a longer text")};
  const std::string_view views[] = {"abc def", "", "a longer text"};
  const signalbox_embed_options options{2, 8, SIGNALBOX_POOL_LAST, 0};
  std::vector<float> found(24), expected(24);
  ASSERT_EQ(signalbox_embed(model_, texts, 3, &options, found.data(), 24), SIGNALBOX_OK)
      << signalbox_last_error();
  ASSERT_TRUE(own_->embed(views, {2, 8, Pooling::kLast}, expected));
  EXPECT_EQ(found, expected);
  found.resize(3 * own_->dim());
  expected.resize(found.size());
  ASSERT_EQ(signalbox_embed(model_, texts, 3, nullptr, found.data(), found.size()), SIGNALBOX_OK);
  ASSERT_TRUE(own_->embed(views, expected));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(signalbox_embed(model_, nullptr, 0, nullptr, nullptr, 0), SIGNALBOX_OK);
}

TEST_F(CApi, answers_as_the_engine_does) {
  const signalbox_text texts[] = {text_of("hello there, you"), text_of("x y z")};
  const signalbox_text pairs[] = {text_of("abc"), text_of("")};
  const std::vector<Input> inputs{{"hello there, you", "abc"}, {"x y z", ""}};
  signalbox_answers* answers = nullptr;
  ASSERT_EQ(signalbox_answer(model_, texts, pairs, 2, &answers), SIGNALBOX_OK)
      << signalbox_last_error();
  const auto expected = own_->answer(inputs).value();
  size_t marked = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    size_t count = 0;
    const float* scores = signalbox_scores(answers, i / 2, i % 2, &count);
    EXPECT_EQ(std::vector<float>(scores, scores + count), expected[i].scores);
    const signalbox_entity* entities = signalbox_entities(answers, i / 2, i % 2, &count);
    ASSERT_EQ(count, expected[i].entities.size());
    marked += count;
    for (size_t e = 0; e < count; ++e) {
      const Entity& entity = expected[i].entities[e];
      EXPECT_EQ(entities[e].type, entity.type);
      EXPECT_EQ(entities[e].begin, entity.begin);
      EXPECT_EQ(entities[e].end, entity.end);
      EXPECT_EQ(entities[e].score, entity.score);
    }
  }
  EXPECT_GT(marked, 0u);
  size_t count = 1;
  EXPECT_EQ(signalbox_scores(answers, 2, 0, &count), nullptr);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(signalbox_entities(answers, 0, 2, &count), nullptr);
  signalbox_answers_free(answers);
  signalbox_answers_free(nullptr);
}

TEST_F(CApi, reports_a_text_that_is_cut_and_splits_it_into_windows) {
  std::string text;
  while (text.size() < 4000) text += "abc def ";
  const signalbox_text texts[] = {{text.data(), text.size(), 0}, text_of("abc")};
  signalbox_answers* answers = nullptr;
  ASSERT_EQ(signalbox_answer(model_, texts, nullptr, 2, &answers), SIGNALBOX_OK);
  EXPECT_EQ(signalbox_is_truncated(answers, 0), 1);
  EXPECT_EQ(signalbox_is_truncated(answers, 1), 0);
  EXPECT_EQ(signalbox_is_truncated(answers, 2), 0);
  EXPECT_EQ(signalbox_is_truncated(nullptr, 0), 0);
  signalbox_answers_free(answers);
  ASSERT_EQ(signalbox_answer(model_, &texts[1], &texts[0], 1, &answers), SIGNALBOX_OK);
  EXPECT_EQ(signalbox_is_truncated(answers, 0), 1) << "a pair";
  signalbox_answers_free(answers);

  size_t count = 0;
  ASSERT_EQ(signalbox_windows(model_, texts, 0, nullptr, 0, &count), SIGNALBOX_OK);
  const auto expected = own_->windows(text, 256, 32).value();
  ASSERT_EQ(count, expected.size());
  std::vector<signalbox_text> windows(count);
  ASSERT_EQ(signalbox_windows(model_, texts, 256, windows.data(), count, nullptr), SIGNALBOX_OK);
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(std::string_view(windows[i].bytes, windows[i].size), expected[i]);
  ASSERT_EQ(signalbox_answer(model_, windows.data(), nullptr, count, &answers), SIGNALBOX_OK);
  for (size_t i = 0; i < count; ++i) EXPECT_EQ(signalbox_is_truncated(answers, i), 0);
  signalbox_answers_free(answers);
  EXPECT_EQ(signalbox_windows(model_, texts, 15, nullptr, 0, &count), SIGNALBOX_INVALID);
  EXPECT_EQ(std::string(signalbox_last_error()),
            fmt::format("windows of 15 tokens, expected 16 to the model's {}", own_->tokens_max()));
  EXPECT_EQ(count, 0u);
}

TEST_F(CApi, reranks_as_the_engine_does_and_reports_a_document_that_is_cut) {
  std::string settings = config("ModernBertForSequenceClassification");
  constexpr std::string_view kLabels = R"("num_labels":5)";
  settings.replace(settings.find(kLabels), kLabels.size(), R"("num_labels":1)");
  const RandomNetwork network(settings, true);
  signalbox_model* model = nullptr;
  ASSERT_EQ(signalbox_open(network.directory().c_str(), nullptr, &model), SIGNALBOX_OK);
  std::string lengthy;
  while (lengthy.size() < 200'000) lengthy += "g h ";
  signalbox_text query = text_of("abc"),
                 documents[] = {text_of("d e"), text_of("f"), {lengthy.data(), 200'000, 0}};
  const std::string_view views[] = {"d e", "f", lengthy};
  signalbox_ranked ranked[3];
  ASSERT_EQ(signalbox_rerank(model, 0, &query, documents, 3, ranked), SIGNALBOX_OK)
      << signalbox_last_error();
  const auto own = TextModel::open(network.directory()).value();
  const auto expected = rerank(*own, 0, "abc", views).value();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ranked[i].index, expected[i].index);
    EXPECT_EQ(ranked[i].score, expected[i].score);
    EXPECT_EQ(ranked[i].is_truncated, ranked[i].index == 2 ? 1 : 0);
  }
  for (signalbox_text* const text : {&query, &documents[1]}) {
    text->adapter = 1;
    EXPECT_EQ(signalbox_rerank(model, 0, &query, documents, 3, ranked), SIGNALBOX_INVALID);
    EXPECT_STREQ(signalbox_last_error(), fmt::format("{}.adapter 1, expected 0 or the head's 0",
                                                     text == &query ? "query" : "documents[]")
                                             .c_str());
    text->adapter = 0;
  }
  signalbox_close(model);
  EXPECT_EQ(signalbox_rerank(model_, 0, &query, documents, 3, ranked), SIGNALBOX_INVALID);
  EXPECT_NE(std::string(signalbox_last_error()).find("a reranker has one label"),
            std::string::npos);
  EXPECT_EQ(signalbox_rerank(model_, 2, &query, documents, 3, ranked), SIGNALBOX_INVALID);
  EXPECT_STREQ(signalbox_last_error(), "head 2, the model has 2");
}

// Each text runs with its own adapter or none in one call; another model has the adapter merged.
TEST_F(CApi, runs_adapters_side_by_side_and_merged) {
  const auto row = json::Document::parse(
      R"({"adapter":{"peft_type":"LORA","task_type":"SEQ_CLS","r":4,"lora_alpha":8},)"
      R"("targets":{"Wqkv":{"rank":4,"scale":2}},)"
      R"("saved":{"classifier.weight":[3,48],"classifier.bias":[3]}})");
  const RandomAdapter adapter(row->root(), classifier_.tensors(), 3);
  const std::string directory = adapter.directory().string();
  const char* directories[] = {directory.c_str()};
  signalbox_options beside{}, merged{};
  beside.adapters = directories;
  beside.adapters_count = 1;
  merged.adapter = directory.c_str();
  signalbox_model *two = nullptr, *one = nullptr;
  ASSERT_EQ(signalbox_open(classifier_.directory().c_str(), &beside, &two), SIGNALBOX_OK)
      << signalbox_last_error();
  ASSERT_EQ(signalbox_open(classifier_.directory().c_str(), &merged, &one), SIGNALBOX_OK)
      << signalbox_last_error();
  size_t count = 0;
  const signalbox_head* heads = signalbox_heads(two, &count);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(heads[0].adapter, 0);
  EXPECT_EQ(heads[1].adapter, 1);

  signalbox_text texts[] = {text_of("abc def"), text_of("abc def")};
  texts[1].adapter = 1;
  signalbox_answers *both = nullptr, *alone = nullptr;
  ASSERT_EQ(signalbox_answer(two, texts, nullptr, 2, &both), SIGNALBOX_OK);
  ASSERT_EQ(signalbox_answer(one, texts, nullptr, 1, &alone), SIGNALBOX_OK);
  EXPECT_NE(signalbox_scores(both, 0, 0, &count), nullptr);
  EXPECT_EQ(signalbox_scores(both, 0, 1, &count), nullptr);
  EXPECT_EQ(signalbox_scores(both, 1, 0, &count), nullptr);
  const float* found = signalbox_scores(both, 1, 1, &count);
  ASSERT_EQ(count, 3u);
  const float* expected = signalbox_scores(alone, 0, 0, &count);
  ASSERT_EQ(count, 3u);
  for (size_t i = 0; i < count; ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);

  texts[0].adapter = 2;
  signalbox_answers* none = nullptr;
  EXPECT_EQ(signalbox_answer(two, texts, nullptr, 1, &none), SIGNALBOX_INVALID);
  texts[0].adapter = -1;
  EXPECT_EQ(signalbox_answer(two, texts, nullptr, 1, &none), SIGNALBOX_INVALID);
  EXPECT_EQ(none, nullptr);
  signalbox_answers_free(both);
  signalbox_answers_free(alone);
  signalbox_close(one);
  signalbox_close(two);
}

TEST_F(CApi, names_the_wrong_argument) {
  const signalbox_text text = text_of("abc"), null{nullptr, 1, 0};
  std::vector<float> out(own_->dim());
  const auto embedding = [&](const signalbox_text* texts, const signalbox_embed_options& options,
                             size_t size) {
    EXPECT_EQ(signalbox_embed(model_, texts, 1, &options, out.data(), size), SIGNALBOX_INVALID);
    return std::string(signalbox_last_error());
  };
  EXPECT_EQ(embedding(&text, {}, 3),
            fmt::format("out_size 3, expected 1 texts x {} numbers", own_->dim()));
  EXPECT_EQ(embedding(&text, {0, -1, 0, 0}, 1),
            fmt::format("-1 dimensions, the model has {}", own_->dim()));
  EXPECT_EQ(embedding(&text, {99, 0, 0, 0}, out.size()), "99 layers, the model has 4");
  EXPECT_EQ(embedding(&text, {0, 0, 5, 0}, out.size()), "pooling 5, expected 0 to 4");
  EXPECT_EQ(embedding(nullptr, {}, out.size()), "texts is NULL");
  EXPECT_EQ(embedding(&null, {}, out.size()), "texts[0].bytes is NULL, its size 1");
  signalbox_answers* answers = nullptr;
  EXPECT_EQ(signalbox_answer(nullptr, &text, nullptr, 1, &answers), SIGNALBOX_INVALID);
  EXPECT_STREQ(signalbox_last_error(), "model is NULL");
  EXPECT_EQ(signalbox_answer(model_, &text, &null, 1, &answers), SIGNALBOX_INVALID);
  EXPECT_STREQ(signalbox_last_error(), "pairs[0].bytes is NULL, its size 1");
  EXPECT_EQ(answers, nullptr);
  std::thread([] { EXPECT_STREQ(signalbox_last_error(), ""); }).join();
}

TEST_F(CApi, queries_about_no_handle_find_nothing) {
  EXPECT_EQ(signalbox_dim(nullptr), 0);
  EXPECT_EQ(signalbox_layers(nullptr), 0);
  EXPECT_EQ(signalbox_tokens_max(nullptr), 0);
  size_t count = 7;
  EXPECT_EQ(signalbox_heads(nullptr, &count), nullptr);
  EXPECT_EQ(count, 0u);
  for (size_t* const at : {&(count = 7), static_cast<size_t*>(nullptr)}) {
    EXPECT_EQ(signalbox_scores(nullptr, 0, 0, at), nullptr);
    EXPECT_EQ(signalbox_entities(nullptr, 0, 0, at), nullptr);
    EXPECT_EQ(count, 0u);
  }
  EXPECT_NE(signalbox_heads(model_, nullptr), nullptr);
  signalbox_answers* answers = nullptr;
  const signalbox_text text = text_of("abc");
  ASSERT_EQ(signalbox_answer(model_, &text, nullptr, 1, &answers), SIGNALBOX_OK);
  EXPECT_NE(signalbox_scores(answers, 0, 0, nullptr), nullptr);
  EXPECT_EQ(signalbox_scores(answers, 1, 0, nullptr), nullptr);
  signalbox_answers_free(answers);
}

TEST_F(CApi, returns_the_reason_why_a_directory_does_not_open) {
  signalbox_model* model = model_;
  EXPECT_EQ(signalbox_open("/nowhere/at/all", nullptr, &model), SIGNALBOX_NOT_FOUND);
  EXPECT_STREQ(signalbox_last_error(), "/nowhere/at/all/config.json: No such file or directory");
  EXPECT_EQ(model, nullptr);
  const signalbox_options threads{SIGNALBOX_F32, 1000, nullptr, 0, nullptr, nullptr, 0},
      precision{7, 0, nullptr, 0, nullptr, nullptr, 0},
      heads{SIGNALBOX_F32, 0, nullptr, 1, nullptr, nullptr, 0};
  for (const auto* options : {&threads, &precision, &heads})
    EXPECT_EQ(signalbox_open(classifier_.directory().c_str(), options, &model), SIGNALBOX_INVALID);
  EXPECT_STREQ(signalbox_last_error(), "heads is NULL");
  EXPECT_STREQ(signalbox_status_name(SIGNALBOX_NOT_FOUND), "not_found");
  EXPECT_STREQ(signalbox_status_name(static_cast<signalbox_status>(8)), "unknown");
}

}  // namespace
}  // namespace signalbox::engine
