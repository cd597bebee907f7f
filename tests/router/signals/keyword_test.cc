// Tests keywords: where they match, with which confidence, and that one pass finds what a naive
// search finds.

#include "router/signals/keyword.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/json_writer.h"
#include "router/signals/matching/keyword_automaton.h"
#include "router/signals/matching/keyword_matcher.h"
#include "router/text/normalize.h"

namespace signalbox::signals {
namespace {

using Operator = config::KeywordSignal::Operator;

request::ChatRequest request_with(std::string_view text) {
  json::Writer out;
  out.begin_object().member("model", "auto").key("messages").begin_array();
  out.begin_object().member("role", "user").member("content", text).end_object();
  auto request = request::ChatRequest::parse(out.end_array().end_object().take());
  EXPECT_TRUE(request) << request.error().message;
  return *std::move(request);
}

struct Matches {
  std::vector<Reading> readings;
  std::vector<std::string> found;  // keywords in the order of their ends
};

Matches evaluate(const std::vector<config::KeywordSignal>& signals, std::string_view text) {
  const auto type = KeywordSignals::create(signals);
  EXPECT_TRUE(type) << type.error().message;
  Matches out;
  out.readings.resize((*type)->size());
  std::vector<Evidence> evidence;
  const request::ChatRequest request = request_with(text);
  Inputs inputs(request, {}, nullptr);
  EXPECT_TRUE((*type)->evaluate(inputs, out.readings, evidence));
  for (const Evidence& each : evidence) out.found.emplace_back(each.text);
  return out;
}

Reading read(Operator op, std::vector<std::string> keywords, std::string_view text,
             bool case_sensitive = false) {
  return evaluate({{"s", op, std::move(keywords), case_sensitive}}, text).readings[0];
}

bool occurs(std::string keyword, std::string_view text, bool case_sensitive = false) {
  return read(Operator::kOr, {std::move(keyword)}, text, case_sensitive).matched;
}

TEST(KeywordText, holds_one_form_of_a_long_text_and_gives_it_back) {
  std::string text;
  while (text.size() < 8 * kNearBytesMax) text += "One  \xC3\x84pfel\n";
  size_t before = 0;
  {
    const LentKeywordText lent("short");
    before = (*lent).memory_bytes();
  }
  {
    const LentKeywordText lent(text);
    for (const bool lower : {true, false, true}) {
      std::string expected;
      text::normalize(text, lower, expected);
      EXPECT_EQ((*lent).normalized(lower), expected);
      EXPECT_LE((*lent).memory_bytes(), before + text.size() + 3 * kNearBytesMax);
      EXPECT_EQ((*lent).beginning(lower), std::string_view(expected).substr(0, kNearBytesMax));
    }
    EXPECT_TRUE((*lent).beginning(false).starts_with("One \xC3\x84pfel One"));
    EXPECT_TRUE((*lent).beginning(true).starts_with("one \xC3\xA4pfel one"));
  }
  const LentKeywordText lent("short");
  EXPECT_LE((*lent).memory_bytes(), before + 2 * kNearBytesMax);
  EXPECT_EQ((*lent).normalized(true), "short");
}

TEST(Keyword, operators_count_the_keywords_that_occur) {
  const std::vector<std::string> words{"red", "green", "blue", "grey"};
  Reading any = read(Operator::kOr, words, "a red and a blue one");
  EXPECT_TRUE(any.matched);
  EXPECT_EQ(any.confidence, 0.75);
  EXPECT_EQ(any.score, 0.5);
  EXPECT_FALSE(read(Operator::kOr, words, "nothing").matched);
  EXPECT_EQ(read(Operator::kOr, words, "nothing").confidence, 0);
  EXPECT_FALSE(read(Operator::kAnd, words, "red green blue").matched);
  const Reading all = read(Operator::kAnd, words, "grey blue green red");
  EXPECT_TRUE(all.matched);
  EXPECT_EQ(all.confidence, 1);
  EXPECT_FALSE(read(Operator::kNor, words, "blue").matched);
  const Reading none = read(Operator::kNor, words, "white");
  EXPECT_TRUE(none.matched);
  EXPECT_EQ(none.confidence, 1);
}

TEST(Keyword, an_occurrence_counts_once) {
  EXPECT_EQ(read(Operator::kOr, {"red", "blue"}, "red red red").confidence, 0.75);
}

TEST(Keyword, matches_whole_words) {
  EXPECT_TRUE(occurs("proof", "Give a proof."));
  EXPECT_TRUE(occurs("proof", "proof"));
  EXPECT_TRUE(occurs("proof", "(proof)"));
  EXPECT_FALSE(occurs("proof", "waterproof"));
  EXPECT_FALSE(occurs("proof", "proofs"));
  EXPECT_FALSE(occurs("proof", "proof_of_stake"));
  EXPECT_FALSE(occurs("proof", "proof2"));
  EXPECT_FALSE(occurs("caf", "caf\xC3\xA9"));
  EXPECT_TRUE(occurs("proof", "waterproof proof"));
  EXPECT_TRUE(occurs("what's", "so what's up"));
}

TEST(Keyword, a_boundary_is_required_only_if_the_keyword_ends_in_a_word) {
  EXPECT_TRUE(occurs("c++", "is c++20 faster"));
  EXPECT_FALSE(occurs("c++", "objc++"));
  EXPECT_TRUE(occurs(".net", "asp.net core"));
  EXPECT_FALSE(occurs(".net", "asp.nets"));
}

TEST(Keyword, ignores_case_unless_configured_otherwise) {
  EXPECT_TRUE(occurs("Proof", "PROOF"));
  EXPECT_TRUE(
      occurs("\xC3\x9C"
             "ber",
             "\xC3\xBC"
             "BER"));  // Ü, ü
  EXPECT_TRUE(occurs("\xCE\xA9\xCE\xBC\xCE\xAD\xCE\xB3\xCE\xB1",
                     "\xCF\x89\xCE\x9C\xCE\x88\xCE\x93\xCE\x91"));  // Ωμέγα
  EXPECT_TRUE(occurs("k", "5 \xE2\x84\xAA"));       // the Kelvin sign lower-cases to k
  EXPECT_TRUE(occurs("\xC8\xBA", "\xE2\xB1\xA5"));  // U+023A: its lower case is one byte longer
  EXPECT_TRUE(occurs("SQL", "in SQL", true));
  EXPECT_FALSE(occurs("SQL", "in sql", true));
}

TEST(Keyword, scripts_without_spaces_need_no_boundary) {
  EXPECT_TRUE(occurs(
      "\xE6\xA0\xB9\xE5\x9B\xA0",
      "\xE5\x81\x9A\xE6\xA0\xB9\xE5\x9B\xA0\xE5\x88\x86\xE6\x9E\x90"));  // 根因 in 做根因分析
  EXPECT_TRUE(occurs("python", "\xE7\x94\xA8python\xE7\xBC\x96\xE7\xA8\x8B"));  // 用python编程
  EXPECT_TRUE(occurs("\xEC\x84\x9C\xEB\xB2\x84",
                     "\xEC\x84\x9C\xEB\xB2\x84\xEA\xB0\x80"));  // 서버 in 서버가
  EXPECT_FALSE(occurs("python", "micropython"));
}

TEST(Keyword, white_space_in_a_phrase_is_any_white_space) {
  EXPECT_TRUE(occurs("machine  learning", "machine\n\tlearning"));
  EXPECT_TRUE(occurs("machine learning", "Machine\xC2\xA0Learning"));
  EXPECT_TRUE(occurs(" machine learning ", "machine learning"));
  EXPECT_FALSE(occurs("machine learning", "machinelearning"));
}

TEST(Keyword, a_keyword_may_serve_several_signals_and_be_part_of_another) {
  const Matches out = evaluate({{"a", Operator::kOr, {"new york", "york"}, false},
                                {"b", Operator::kOr, {"York"}, false},
                                {"c", Operator::kOr, {"York"}, true},
                                {"d", Operator::kOr, {"york"}, true}},
                               "in New York");
  EXPECT_TRUE(out.readings[0].matched && out.readings[1].matched && out.readings[2].matched);
  EXPECT_FALSE(out.readings[3].matched);
  EXPECT_EQ(out.readings[0].confidence, 1);
  EXPECT_EQ(out.found, (std::vector<std::string>{"new york", "york", "York", "York"}));
}

TEST(Keyword, refuses_keywords_that_could_never_match) {
  EXPECT_EQ(KeywordSignals::create({{"s", Operator::kOr, {" \n"}, false}}).error().message,
            "keyword signal \"s\": expected a keyword, found nothing but white space");
  std::vector<std::string> huge;
  for (int i = 0; i < 3; ++i) huge.push_back(std::string(100'000, static_cast<char>('a' + i)));
  for (char c = '!'; c < '~'; ++c) huge.push_back(std::string(1, c));
  EXPECT_EQ(KeywordSignals::create({{"s", Operator::kOr, huge, false}}).error().code,
            Code::kTooLarge);
}

TEST(Keyword, without_signals_or_text_nothing_matches) {
  EXPECT_TRUE(evaluate({}, "text").readings.empty());
  EXPECT_FALSE(occurs("x", ""));
}

TEST(Fold, bad_utf8_is_replaced) {
  std::string out;
  text::normalize("A\xFF\xC3", true, out);
  EXPECT_EQ(out, "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(KeywordAutomaton, agrees_with_a_naive_search) {
  std::mt19937 random(7);
  const auto word = [&](int length_max) {
    std::string out;
    for (int n = 1 + static_cast<int>(random() % static_cast<uint32_t>(length_max)); n > 0; --n) {
      out.push_back("ab\xC3"[random() % 3]);
    }
    return out;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> patterns;
    for (int n = static_cast<int>(random() % 8); n > 0; --n) {
      std::string pattern = word(4);
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end())
        patterns.push_back(pattern);
    }
    const std::string text = word(30);
    std::multimap<size_t, uint32_t> expected;
    for (uint32_t p = 0; p < patterns.size(); ++p) {
      for (size_t at = text.find(patterns[p]); at != std::string::npos;
           at = text.find(patterns[p], at + 1)) {
        expected.emplace(at + patterns[p].size(), p);
      }
    }
    std::multimap<size_t, uint32_t> actual;
    const auto automaton = KeywordAutomaton::build(patterns);
    ASSERT_TRUE(automaton);
    automaton->scan(text, [&](uint32_t pattern, size_t end) { actual.emplace(end, pattern); });
    const std::set<std::pair<size_t, uint32_t>> expected_set(expected.begin(), expected.end());
    const std::set<std::pair<size_t, uint32_t>> actual_set(actual.begin(), actual.end());
    ASSERT_EQ(actual_set, expected_set);
    ASSERT_EQ(actual.size(), expected.size());
  }
}

size_t naive_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const size_t changed = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({changed, table[i - 1][j] + 1, table[i][j - 1] + 1});
    }
  }
  return table[a.size()][b.size()];
}

// Returns whether a sequence of about as many words is as similar as the threshold requires.
bool naive_fuzzy(const std::string& keyword, const std::string& text, double threshold) {
  std::vector<text::TextUnit> own, units;
  text::split_units(keyword, own);
  text::split_units(text, units);
  const size_t least = std::max<size_t>(own.size(), 2) - 1;
  for (size_t count = least; count <= own.size() + 1; ++count) {
    for (size_t first = 0; first + count <= units.size(); ++first) {
      const std::string window =
          text.substr(units[first].begin, units[first + count - 1].end - units[first].begin);
      const auto longer = static_cast<double>(std::max(keyword.size(), window.size()));
      const auto edits = static_cast<double>(naive_distance(keyword, window));
      if (1 - edits / longer + 1e-9 >= threshold) return true;
    }
  }
  return false;
}

TEST(Keyword, fuzzy_matching_agrees_with_a_naive_search) {
  std::mt19937 source(11);
  const auto random = [&] { return static_cast<uint32_t>(source()); };
  const auto words = [&](uint32_t count_max, uint32_t letters_max) {
    std::string out;
    for (uint32_t n = 1 + random() % count_max; n > 0; --n) {
      if (!out.empty()) out.push_back(' ');
      for (uint32_t l = 1 + random() % letters_max; l > 0; --l) out.push_back("abc"[random() % 3]);
    }
    return out;
  };
  size_t found = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string keyword = words(3, 8);
    const std::string text = words(8, 9);
    const double percent = 45 + random() % 55;
    config::KeywordSignal signal{.name = "s", .keywords = {keyword}};
    signal.method = config::KeywordSignal::Method::kFuzzy;
    signal.fuzzy_threshold = percent;
    const bool expected = naive_fuzzy(keyword, text, percent / 100);
    ASSERT_EQ(evaluate({signal}, text).readings[0].matched, expected)
        << keyword << " | " << text << " | " << percent;
    found += expected ? 1 : 0;
  }
  EXPECT_GT(found, 300U);
}

}  // namespace
}  // namespace signalbox::signals
