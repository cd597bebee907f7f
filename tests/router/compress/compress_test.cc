// Tests sentences and skeletons from data, one case per line, and the properties of every skeleton:
//
//   sentences.jsonl  {"name", "text", "tokens_max"?, "sentences": [...]}
//   skeletons.jsonl  {"name", "text", member of Options?: value, "skeleton": text?}
//
// Without "skeleton", the text stays as it is. "kept" is the number of ranges.

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/json.h"
#include "base/utf8.h"
#include "router/compress/compress.h"
#include "router/compress/sentences.h"
#include "tests/router/compress/skeleton_check.h"

namespace signalbox::compress {
namespace {

void each_case(std::string_view file, const std::function<void(const json::Value&)>& run) {
  const auto path = std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/router/compress" / file;
  std::ifstream in(path);
  std::string line;
  int cases = 0;
  for (; std::getline(in, line); ++cases) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << file << ":" << cases + 1 << ": " << row.error().message;
    SCOPED_TRACE(row->root().find("name")->text());
    run(row->root());
  }
  EXPECT_GT(cases, 0);
}

std::vector<std::string> sentences_of(std::string_view text, float tokens_max) {
  const Stretch all{0, text.size()};
  const Sentences split = split_sentences(text, {&all, 1}, tokens_max);
  std::vector<std::string> out;
  for (const Sentence& each : split.sentences)
    out.emplace_back(text.substr(each.begin, each.end - each.begin));
  return out;
}

TEST(Sentences, end_as_listed) {
  each_case("sentences.jsonl", [](const json::Value& row) {
    const auto tokens_max = row.find("tokens_max");
    std::vector<std::string> expected;
    for (const json::Value& each : row.find("sentences")->items())
      expected.emplace_back(each.text());
    const float limit = tokens_max ? static_cast<float>(*tokens_max->number()) : 64;
    EXPECT_EQ(sentences_of(row.find("text")->text(), limit), expected);
  });
}

Options options_of(const json::Value& row) {
  Options out;
  const auto read = [&](std::string_view key, auto& value) {
    if (const auto found = row.find(key))
      value = static_cast<std::remove_reference_t<decltype(value)>>(*found->number());
  };
  read("tokens_max", out.tokens_max);
  read("bytes_min", out.bytes_min);
  read("textrank", out.textrank);
  read("position", out.position);
  read("tfidf", out.tfidf);
  read("novelty", out.novelty);
  read("first", out.first);
  read("last", out.last);
  return out;
}

TEST(Skeleton, matches_the_listed_ones) {
  each_case("skeletons.jsonl", [](const json::Value& row) {
    const auto text = row.find("text")->text();
    const Options options = options_of(row);
    const auto skeleton = shorten(text, options);
    const auto expected = row.find("skeleton"), holds = row.find("holds"),
               lacks = row.find("lacks");
    ASSERT_EQ(skeleton.has_value(), expected || holds) << (skeleton ? skeleton->text : "");
    if (!skeleton) return;
    EXPECT_EQ(skeleton->text, expected ? expected->text() : skeleton->text);
    const auto has = [&](const json::Value& part) {
      return skeleton->text.find(part.text()) != std::string::npos;
    };
    for (const json::Value& part : holds ? holds->items() : row.items())
      EXPECT_TRUE(has(part)) << part.text() << "\n" << skeleton->text;
    for (const json::Value& part : lacks ? lacks->items() : row.items())
      EXPECT_FALSE(has(part)) << part.text() << "\n" << skeleton->text;
    EXPECT_EQ(what_is_wrong(text, options, *skeleton), "");
  });
}

TEST(Skeleton, has_the_profiles_of_the_configuration) {
  for (const std::string_view name : {"default", "coding", "medical", "security", "multi_turn"})
    EXPECT_TRUE(profile(name)) << name;
  EXPECT_FALSE(profile("legal"));
  const Options usual = *profile("default");
  EXPECT_EQ(usual.textrank + usual.position + usual.tfidf + usual.novelty, 1.0);
  EXPECT_EQ(usual.tokens_max, 512u);
  EXPECT_EQ(profile("multi-turn")->last, 5u);
  EXPECT_EQ(profile("coding")->position_depth, 0.6);
}

std::string repeated(std::string_view piece, size_t bytes) {
  std::string out;
  out.reserve(bytes + piece.size());
  while (out.size() < bytes) out += piece;
  return out;
}

double seconds_of_this_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Each text would take minutes if any step were quadratic; it must take well under a second.
TEST(Skeleton, takes_linear_time_whatever_the_text) {
  constexpr double kSecondsMax = 10;  // allows for a sanitizer on a busy machine
  constexpr size_t kBytes = size_t{1} << 20;
  std::string different;
  for (int i = 0; different.size() < kBytes; ++i)
    different += fmt::format("w{} x{} y{}. ", i, i * 7, i * 13);
  std::string letters;
  for (int i = 0; i < 1'000'000; ++i) {
    letters += static_cast<char>('a' + i % 26);
    letters += ". ";
  }
  const std::vector<std::string> texts = {repeated("x", kBytes),
                                          repeated(" ", kBytes) + "end",
                                          repeated("!", kBytes),
                                          repeated("\n", kBytes) + "a",
                                          repeated("\xFF", kBytes),
                                          repeated("\xE4\xB8", kBytes),
                                          repeated("漢", kBytes),
                                          repeated("ไ", kBytes),
                                          repeated("a'", kBytes),
                                          repeated("a.b.", kBytes),
                                          repeated("word ", kBytes),
                                          std::string(kBytes, 0),
                                          repeated("\xCC\x81", kBytes),
                                          different,
                                          letters};
  for (const std::string& text : texts) {
    const double begin = seconds_of_this_thread();
    const auto skeleton = shorten(text, {});
    EXPECT_LT(seconds_of_this_thread() - begin, kSecondsMax) << text.substr(0, 8);
    const std::string wrong = skeleton ? what_is_wrong(text, {}, *skeleton) : "";
    EXPECT_EQ(wrong, "") << text.substr(0, 8);
  }
}

TEST(Skeleton, keeps_both_ends_and_some_middle_sentences_of_a_huge_text) {
  std::string text = "The very first sentence of all. ";
  for (int64_t i = 0; text.size() < 4 * kBytesRead; ++i)
    text += fmt::format("Sentence number s{} speaks of matter m{}. ", i, i * i % 9973);
  text += "And this is the last one.";
  const auto skeleton = shorten(text, {});
  ASSERT_TRUE(skeleton);
  EXPECT_EQ(what_is_wrong(text, {}, *skeleton), "");
  EXPECT_TRUE(skeleton->text.starts_with("The very first sentence of all."));
  EXPECT_TRUE(skeleton->text.ends_with("And this is the last one."));
  EXPECT_GT(skeleton->tokens_source, 1e6);
}

}  // namespace
}  // namespace signalbox::compress
