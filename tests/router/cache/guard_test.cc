// Tests the guard with lines of data: changed pairs must never share an answer, and most
// paraphrases must. Similarities come from the real model if it is available.

#include "router/cache/guard.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>

#include "base/json.h"
#include "engine/engine.h"

namespace signalbox::cache {
namespace {

const std::filesystem::path kData = SIGNALBOX_SOURCE_DIR "/tests/router/cache/data";
constexpr double kSimilarity = 0.8;  // the threshold of decisions that set none

struct Pair {
  std::string kind, a, b, expect;
};

std::vector<Pair> read_pairs(std::string_view name) {
  std::vector<Pair> out;
  std::ifstream file(kData / name);
  for (std::string line; std::getline(file, line);) {
    const auto row = json::Document::parse(line);
    EXPECT_TRUE(row) << name << ":" << out.size() + 1;
    if (!row) continue;
    const auto text = [&](std::string_view key) {
      const auto found = row->root().find(key);
      return found ? std::string(found->text()) : std::string();
    };
    out.push_back({text("kind"), text("a"), text("b"), text("expect")});
  }
  EXPECT_FALSE(out.empty()) << name;
  return out;
}

TEST(CacheGuard, names_the_difference_of_two_questions) {
  for (const Pair& each : read_pairs("guard.jsonl")) {
    EXPECT_EQ(difference_name(difference(each.a, each.b)), each.expect)
        << each.a << " | " << each.b;
    EXPECT_EQ(difference_name(difference(each.b, each.a)), each.expect)
        << each.b << " | " << each.a;
  }
}

TEST(CacheGuard, finds_the_difference_of_500_changed_questions) {
  const auto pairs = read_pairs("changed.jsonl");
  EXPECT_EQ(pairs.size(), 500U);
  for (const Pair& each : pairs) {
    EXPECT_NE(difference(each.a, each.b), Difference::kNone)
        << each.kind << ": " << each.a << " | " << each.b;
    EXPECT_NE(difference(each.b, each.a), Difference::kNone)
        << each.kind << ": " << each.b << " | " << each.a;
    EXPECT_EQ(difference(each.a, each.a), Difference::kNone);
  }
}

TEST(CacheGuard, treats_texts_over_the_limit_as_different) {
  const std::string text(kQuestionBytesMax + 1, 'a');
  EXPECT_EQ(difference(text, text + "b"), Difference::kWords);
}

class WithModel : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path directory = SIGNALBOX_SOURCE_DIR "/models/minilm";
    if (!std::filesystem::exists(directory)) GTEST_SKIP() << "models/minilm is not pulled";
    auto model = engine::TextModel::open(directory);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
  }

  double similarity(const std::string& a, const std::string& b) const {
    const std::string_view texts[2] = {a, b};
    const auto dim = static_cast<size_t>(model_->dim());
    std::vector<float> out(2 * dim);
    EXPECT_TRUE(model_->embed(texts, out));
    return std::inner_product(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(dim),
                              out.begin() + static_cast<std::ptrdiff_t>(dim), 0.0);
  }

  std::unique_ptr<const engine::TextModel> model_;
};

TEST_F(WithModel, most_paraphrases_are_hits_and_no_changed_question_is) {
  struct Count {
    int pairs = 0, near = 0, hits = 0;
  };
  std::map<std::string, Count> counts;
  for (const char* name : {"changed.jsonl", "paraphrases.jsonl"}) {
    for (const Pair& each : read_pairs(name)) {
      Count& count = counts[each.kind];
      const bool near = similarity(each.a, each.b) >= kSimilarity;
      const bool same = difference(each.a, each.b) == Difference::kNone;
      ++count.pairs;
      count.near += near;
      count.hits += near && same;
      if (std::getenv("SIGNALBOX_SHOW_MISSES") != nullptr && each.kind == "framed" &&
          !(near && same))
        fmt::print("{} {}: {} | {}\n", near, same, each.a, each.b);
      if (std::getenv("SIGNALBOX_SHOW_MISSES") != nullptr && each.kind == "free" && !(near && same))
        fmt::print("{} {}: {} | {}\n", near, same, each.a, each.b);
    }
  }
  for (const auto& [kind, count] : counts) {
    fmt::print("{}: {} pairs, {} near, {} hits\n", kind, count.pairs, count.near, count.hits);
    if (kind == "framed" || kind == "free") continue;
    EXPECT_EQ(count.hits, 0) << kind;
  }
  EXPECT_GE(counts["framed"].hits, 0.7 * counts["framed"].pairs);
}

}  // namespace
}  // namespace signalbox::cache
