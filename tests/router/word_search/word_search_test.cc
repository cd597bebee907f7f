// Tests the search by words and the fusion of searches, without vectors or a store.

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <cmath>
#include <numeric>

#include "router/word_search/hybrid.h"
#include "router/word_search/text_words.h"

namespace signalbox::word_search {
namespace {

using Texts = std::vector<std::string_view>;

Result<void> go_on() {
  return {};
}

std::vector<WordHit> find(std::span<const TextWords* const> lists, std::string_view query,
                          size_t most = 10) {
  const std::string_view queries[] = {query};
  auto found = find_words(lists, query_terms(queries), {}, most, go_on);
  EXPECT_TRUE(found.has_value());
  return found ? *std::move(found) : std::vector<WordHit>();
}

std::vector<size_t> found_texts(const Texts& texts, std::string_view query, size_t most = 10) {
  const TextWords words(texts);
  const TextWords* const lists[] = {&words};
  std::vector<size_t> out;
  for (const WordHit& each : find(lists, query, most)) out.push_back(each.text);
  return out;
}

using Numbers = std::vector<size_t>;

TEST(TextWords, find_exact_words_first) {
  const Texts texts = {"The pump reports a failure.", "E4711: the pump reports a failure.",
                       "Ask Mrs. Krüger about the pump.", "error e4712"};
  EXPECT_EQ(found_texts(texts, "What does E4711 mean?"), Numbers{1});
  EXPECT_EQ(found_texts(texts, "KRÜGER"), Numbers{2});
  EXPECT_EQ(found_texts(texts, "the pump e4711")[0], 1U);
  EXPECT_EQ(found_texts(texts, "nothing of it"), Numbers{});
  EXPECT_EQ(found_texts(texts, ""), Numbers{});
  EXPECT_EQ(found_texts({}, "pump"), Numbers{});
}

TEST(TextWords, decomposed_letters_are_those_of_the_composed_form) {
  const Texts texts = {"Mrs. Kru\u0308ger", "the pump", "\u1112\u1161\u11ab", "\u304b\u3099"};
  EXPECT_EQ(found_texts(texts, "Kr\u00fcger"), Numbers{0});
  EXPECT_EQ(found_texts(texts, "\ud55c"), Numbers{2});
  EXPECT_EQ(found_texts(texts, "\u304c"), Numbers{3});
  const Hybrid ngrams{.vector_weight = 0, .bm25_weight = 0, .ngram_weight = 1};
  const std::vector<Candidate> candidates = {{"Kru\u0308ger"}};
  EXPECT_EQ(scores_of(candidates, "kr\u00fcger", ngrams)[0], 1);
}

TEST(TextWords, scripts_without_spaces_are_searched_by_pairs) {
  const Texts texts = {"東京都に住む", "京都に住む", "犬"};
  EXPECT_EQ(found_texts(texts, "東京"), Numbers{0});
  EXPECT_EQ(found_texts(texts, "犬"), Numbers{2});
}

TEST(TextWords, rank_as_the_formula_does) {
  // "a" is in both texts, which have 3 and 1 words; "b" is in the first one twice.
  const Texts texts = {"b a b", "a"};
  const TextWords words(texts);
  const TextWords* const lists[] = {&words};
  const auto hits = find(lists, "a b");
  ASSERT_EQ(hits.size(), 2U);
  const auto part = [](double rarity, double count, double length) {
    return rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 2));
  };
  const double of_a = std::log(1 + 0.5 / 2.5), of_b = std::log(1 + 1.5 / 1.5);
  EXPECT_NEAR(hits[0].score, part(of_a, 1, 3) + part(of_b, 2, 3), 1e-5);
  EXPECT_NEAR(hits[1].score, part(of_a, 1, 1), 1e-5);
}

TEST(TextWords, many_lists_and_segments_are_one_corpus) {
  std::vector<std::string> own;
  for (size_t i = 0; i < 3000; ++i) own.push_back(fmt::format("part P{:05} of the machine", i));
  const std::vector<std::string_view> texts(own.begin(), own.end());
  const std::span<const std::string_view> all(texts);
  const TextWords whole(all), first(all.first(700)), second(all.subspan(700));
  EXPECT_EQ(whole.segments().size(), 3U);
  const TextWords* const one[] = {&whole};
  const TextWords* const two[] = {&first, &second};
  for (const size_t number : {0U, 699U, 700U, 1023U, 1024U, 2999U}) {
    const std::string query = fmt::format("the machine with part p{:05}", number);
    const auto in_one = find(one, query), in_two = find(two, query);
    ASSERT_EQ(in_one.size(), 10U);
    ASSERT_EQ(in_two.size(), 10U);
    EXPECT_EQ(in_one[0].text, number);
    EXPECT_EQ(in_two[0].list * 700 + in_two[0].text, number);
    EXPECT_EQ(in_one[0].score, in_two[0].score);
    EXPECT_TRUE(in_one[0].is_distinctive);
    EXPECT_FALSE(in_one[1].is_distinctive);
  }
}

TEST(TextWords, distinctive_are_rare_words_and_codes) {
  std::vector<std::string_view> texts(49, "the pump");
  texts.push_back("the pump of Krüger");
  const TextWords fifty(texts), few(Texts{"pump of Krüger", "valve X-200"});
  const TextWords* const of_fifty[] = {&fifty};
  const TextWords* const of_few[] = {&few};
  EXPECT_TRUE(find(of_fifty, "krüger")[0].is_distinctive);
  EXPECT_FALSE(find(of_fifty, "pump")[0].is_distinctive);
  EXPECT_FALSE(find(of_few, "krüger")[0].is_distinctive);
  EXPECT_TRUE(find(of_few, "x-200")[0].is_distinctive);
}

TEST(TextWords, take_a_bounded_size) {
  // No word occurs twice.
  std::string text;
  for (size_t i = 0; i < 1000; ++i) text += fmt::format("{:x} ", i);
  const TextWords words(Texts{text});
  EXPECT_LE(words.bytes(), 10 * 1000 + 256);
  const std::string spaces(100'000, ' ');
  EXPECT_LE(TextWords(Texts{spaces}).bytes(), 256U);
}

TEST(TextWords, any_bytes_are_texts) {
  std::string all(256, '\0');
  std::iota(all.begin(), all.end(), '\0');
  const Texts texts = {all, "\xff\xfe", "\xe4\xba", "abc"};
  EXPECT_EQ(found_texts(texts, "abc"), Numbers{3});
  EXPECT_NO_FATAL_FAILURE(found_texts(texts, all));
}

TEST(TextWords, a_search_ends_when_its_check_fails) {
  const TextWords words(Texts{"pump"});
  const TextWords* const lists[] = {&words};
  const std::string_view queries[] = {"pump"};
  const auto found = find_words(lists, query_terms(queries), {}, 10, []() -> Result<void> {
    return fail(Code::kCancelled, "nobody waits");
  });
  EXPECT_EQ(found.error().code, Code::kCancelled);
}

TEST(QueryTerms, are_different_and_bounded) {
  std::string text = "pump PUMP Pump";
  const std::string_view same[] = {text, "pump"};
  EXPECT_EQ(query_terms(same).size(), 1U);
  for (size_t i = 0; i < 10'000; ++i) text += fmt::format(" w{}", i);
  const std::string_view many[] = {text};
  EXPECT_EQ(query_terms(many).size(), kQueryTermsMax);
}

TEST(Hybrid, weighted_sums_are_shares_of_the_best) {
  const std::vector<Candidate> candidates = {{"near", 0.8, 0}, {"far", 0.1, 4}, {"both", 0.5, 2}};
  Hybrid hybrid{.vector_weight = 1, .bm25_weight = 1, .ngram_weight = 0};
  const auto scores = scores_of(candidates, "query", hybrid);
  EXPECT_NEAR(scores[0], 0.4, 1e-9);
  EXPECT_NEAR(scores[1], 0.55, 1e-9);
  EXPECT_NEAR(scores[2], 0.5, 1e-9);
  hybrid.vector_weight = 0;
  EXPECT_NEAR(scores_of(candidates, "query", hybrid)[1], 1, 1e-9);
}

TEST(Hybrid, ranks_join_the_orders) {
  Hybrid hybrid = ranks();
  hybrid.ngram_weight = 0;
  const std::vector<Candidate> candidates = {{"a", 0.9, 0}, {"b", 0.8, 3}, {"c", 0.1, 5}};
  const auto scores = scores_of(candidates, "query", hybrid);
  EXPECT_NEAR(scores[0], 0.5 * (61.0 / 61), 1e-9);
  EXPECT_NEAR(scores[1], 0.5 * (61.0 / 62 + 61.0 / 62), 1e-9);
  EXPECT_NEAR(scores[2], 0.5 * (61.0 / 63 + 61.0 / 61), 1e-9);
}

TEST(Hybrid, a_rare_word_ranks_before_common_ones) {
  Hybrid hybrid = ranks();
  hybrid.ngram_weight = 0;
  const std::vector<Candidate> candidates = {{"a", 0.9, 1}, {"b", 0.8, 1}, {"c", 0.1, 5}};
  const auto scores = scores_of(candidates, "query", hybrid);
  EXPECT_GT(scores[2], scores[0]);
  EXPECT_GT(scores[0], scores[1]);
}

TEST(Hybrid, ngrams_find_misspelt_words) {
  const Hybrid hybrid{.vector_weight = 0, .bm25_weight = 0, .ngram_weight = 1};
  const std::vector<Candidate> candidates = {{"Kruger"}, {"Krügler"}, {"pump"}, {""}};
  const auto scores = scores_of(candidates, "krüger", hybrid);
  EXPECT_GT(scores[1], 0.2);  // of 7 trigrams, "krü" and "rüg"
  EXPECT_EQ(scores[2], 0);
  EXPECT_EQ(scores[3], 0);
}

}  // namespace
}  // namespace signalbox::word_search
