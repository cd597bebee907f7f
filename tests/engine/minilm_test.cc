// The real all-MiniLM-L6-v2 compared with embeddings computed by ONNX Runtime, and its rank
// correlation on STS dev. Needs models/minilm (signalbox models pull) and the shared material. A
// skip names the missing item.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "engine/engine.h"
#include "kernels/kernels.h"
#include "tests/engine/sts.h"

namespace signalbox::engine {
namespace {

const std::filesystem::path kSource = SIGNALBOX_SOURCE_DIR;

// A text takes fifty times as long under a sanitizer, and a few texts cover the same code. g++
// defines macros for each sanitizer; clang has feature checks.
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || \
    defined(SIGNALBOX_THREAD_SANITIZER)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class MiniLm : public testing::Test {
 protected:
  void SetUp() override {
    const auto directory = kSource / "models/minilm";
    if (!std::filesystem::exists(directory)) GTEST_SKIP() << "models/minilm is not pulled";
    if (!kernels::active_table()) GTEST_SKIP() << kernels::active_table().error().message;
    auto model = TextModel::open(directory);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
  }

  std::vector<float> embed(std::string_view text) const {
    std::vector<float> out(model_->dim());
    EXPECT_TRUE(model_->embed({&text, 1}, out));
    return out;
  }

  std::unique_ptr<const TextModel> model_;
};

double cosine(const std::vector<float>& a, const std::vector<double>& b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += a[i] * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += b[i] * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

TEST_F(MiniLm, embeddings_match_onnx_runtime) {
  const auto path = kSource / "../shared/goldens/minilm-l6-embeddings.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " does not exist";
  const auto lines = read_lines(path);
  ASSERT_FALSE(lines.empty());
  for (size_t i = 0; i < lines.size(); i += kSanitized ? 10 : 1) {
    const json::Document& line = lines[i];
    std::vector<double> expected;
    for (const json::Value& x : line.root().find("embedding")->items())
      expected.push_back(x.number().value());
    const std::string_view text = line.root().find("text")->text();
    EXPECT_GE(cosine(embed(text), expected), 0.9999) << text.substr(0, 80);
    EXPECT_EQ(static_cast<int64_t>(model_->encode(text).value().size()),
              std::min<int64_t>(512, line.root().find("tokens")->integer().value()));
  }
}

TEST_F(MiniLm, spearman_on_sts_dev_is_that_of_the_reference) {
  const auto path = kSource / "../shared/data/sts_dev.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " does not exist";
  EXPECT_NEAR(spearman_on_sts(*model_, path), 0.8672, 0.0003);
}

TEST_F(MiniLm, eight_bits_keep_the_rank_correlation) {
  const auto path = kSource / "../shared/data/sts_dev.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " does not exist";
  const auto model = TextModel::open(kSource / "models/minilm", {.precision = Precision::kI8});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_NEAR(spearman_on_sts(**model, path), 0.8672, 0.002);
}

TEST_F(MiniLm, a_batch_gives_each_text_the_bits_it_gets_alone) {
  std::vector<std::string> texts;
  for (int i = 1; i <= (kSanitized ? 4 : 14); ++i) {
    std::string text;
    for (int k = 0; k < i * 3; ++k) text += fmt::format("word{} ", k * 7 % 11);
    texts.push_back(text);
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<float> together(views.size() * model_->dim());
  ASSERT_TRUE(model_->embed(views, together));
  for (size_t i = 0; i < views.size(); ++i) {
    const auto alone = embed(views[i]);
    EXPECT_EQ(
        std::memcmp(alone.data(), together.data() + i * alone.size(), alone.size() * sizeof(float)),
        0)
        << i;
  }
}

}  // namespace
}  // namespace signalbox::engine
