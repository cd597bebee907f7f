// Tests how overlapping findings of rules and of a model are merged.

#include "router/safety/pii/merge.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace signalbox::pii {
namespace {

const std::string kBlank(1000, 'x');  // where only positions matter

struct Finding {
  const char* type;
  size_t begin, end;
  double score = 0.9;
};

std::vector<PiiEntity> entities(std::initializer_list<Finding> findings, PiiSource source) {
  std::vector<PiiEntity> out;
  for (const Finding& each : findings)
    out.push_back({each.type, each.begin, each.end, each.score, source});
  return out;
}

std::string merged(std::initializer_list<Finding> rules, std::initializer_list<Finding> model,
                   std::string_view text = kBlank) {
  std::string out;
  for (const PiiEntity& each :
       merge_pii(text, entities(rules, PiiSource::kRule), entities(model, PiiSource::kModel))) {
    out += fmt::format("{}{} {}-{} {} {}", out.empty() ? "" : ", ", each.type, each.begin, each.end,
                       each.score, pii_source_name(each.source));
  }
  return out;
}

TEST(MergePii, KeepsFindingsOfRulesOrModelAlone) {
  EXPECT_EQ(merged({{"US_SSN", 10, 21, 1}}, {{"PERSON", 0, 5}}),
            "PERSON 0-5 0.9 model, US_SSN 10-21 1 rule");
  EXPECT_EQ(merged({}, {}), "");
}

TEST(MergePii, TakesTypeAndPlaceOfACheckedIdentifierFromTheRules) {
  EXPECT_EQ(merged({{"CREDIT_CARD", 5, 21, 1}}, {{"PHONE_NUMBER", 4, 15}}),
            "CREDIT_CARD 5-21 1 rule");
  EXPECT_EQ(merged({{"EMAIL_ADDRESS", 5, 21, 1}}, {{"EMAIL_ADDRESS", 0, 18}}),
            "EMAIL_ADDRESS 5-21 1 both");
}

TEST(MergePii, OneFindingOfTheModelConfirmsSeveralOfRules) {
  EXPECT_EQ(merged({{"IP_ADDRESS", 0, 7, 1}, {"IP_ADDRESS", 8, 15, 1}}, {{"IP_ADDRESS", 0, 15}}),
            "IP_ADDRESS 0-7 1 both, IP_ADDRESS 8-15 1 both");
}

TEST(MergePii, TakesTheTypeOfANumberInContextFromTheModel) {
  EXPECT_EQ(merged({{"PHONE_NUMBER", 5, 15, 0.95}}, {{"US_DRIVER_LICENSE", 4, 15, 0.6}}),
            "US_DRIVER_LICENSE 4-15 0.95 both");
  EXPECT_EQ(merged({{"ZIP_CODE", 30, 35, 0.95}}, {{"STREET_ADDRESS", 4, 35}}),
            "STREET_ADDRESS 4-35 0.95 both");
}

TEST(MergePii, TakesNoNumberOfTooFewDigitsForACard) {
  EXPECT_EQ(merged({{"PHONE_NUMBER", 3, 15, 0.95}}, {{"CREDIT_CARD", 3, 15}}, "is 07700 900386."),
            "PHONE_NUMBER 3-15 0.95 both");
}

TEST(MergePii, KeepsANumberWholeThatTheModelSplits) {
  EXPECT_EQ(
      merged({{"PHONE_NUMBER", 5, 17, 0.95}},
             {{"ZIP_CODE", 5, 8, 0.6}, {"PHONE_NUMBER", 8, 9, 0.55}, {"PHONE_NUMBER", 12, 17}}),
      "PHONE_NUMBER 5-17 0.95 both");
  EXPECT_EQ(merged({{"PHONE_NUMBER", 5, 15, 0.95}}, {{"IP_ADDRESS", 8, 12, 0.8}}),
            "PHONE_NUMBER 5-15 0.95 rule");
  EXPECT_EQ(merged({{"DATE_TIME", 5, 15, 0.95}}, {{"DATE_TIME", 5, 9}, {"DATE_TIME", 12, 15}}),
            "DATE_TIME 5-15 0.95 both");
  EXPECT_EQ(merged({{"PHONE_NUMBER", 20, 32, 0.95}}, {{"STREET_ADDRESS", 5, 24}}),
            "STREET_ADDRESS 5-20 0.9 model, PHONE_NUMBER 20-32 0.95 rule");
  EXPECT_EQ(merged({{"PHONE_NUMBER", 20, 32, 0.95}}, {{"AGE", 18, 24}, {"PHONE_NUMBER", 28, 40}}),
            "PHONE_NUMBER 20-40 0.95 both");
}

TEST(MergePii, KeepsANameThatTheModelJoinsToAnAddress) {
  constexpr std::string_view kText = "Wei Zhang <wei.zhang@example.com> Li Na";
  EXPECT_EQ(merged({{"EMAIL_ADDRESS", 11, 32, 1}}, {{"PERSON", 0, 14, 0.84}}, kText),
            "PERSON 0-9 0.84 model, EMAIL_ADDRESS 11-32 1 rule");
  EXPECT_EQ(merged({{"EMAIL_ADDRESS", 11, 32, 1}}, {{"PERSON", 0, 39, 0.84}}, kText),
            "PERSON 0-9 0.84 model, EMAIL_ADDRESS 11-32 1 rule, PERSON 34-39 0.84 model");
}

// A window ends inside a name, and the next window contains the whole name.
TEST(MergePii, KeepsFindingsOfTheLessSureOfTwoWindows) {
  EXPECT_EQ(merged({}, {{"PERSON", 0, 8, 0.9}, {"PERSON", 0, 12, 0.8}}),
            "PERSON 0-8 0.9 model, PERSON 8-12 0.8 model");
}

// For any overlaps: the result is in order and does not overlap; every byte of a rule's finding is
// covered with at least the rule's score; and every byte of the model's findings is covered, except
// slivers.
TEST(MergePii, LeavesNothingUncovered) {
  std::mt19937 random(5);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  constexpr auto kTypes =
      std::to_array<std::string_view>({"PHONE_NUMBER", "DATE_TIME", "US_SSN", "PERSON"});
  for (int i = 0; i < 5000; ++i) {
    std::vector<PiiEntity> rules, model;
    for (size_t at = below(8); at < 60; at += 1 + below(9)) {
      const size_t end = at + 3 + below(12);
      rules.push_back({std::string(kTypes[below(3)]), at, end, 0.95, PiiSource::kRule});
      at = end;
    }
    for (size_t n = below(6); n > 0; --n) {
      const size_t begin = below(60);
      model.push_back({std::string(kTypes[below(4)]), begin, begin + 3 + below(20),
                       static_cast<double>(1 + below(9)) / 10, PiiSource::kModel});
    }
    std::vector<double> score(100, 0);
    std::vector<std::string> type(100);
    size_t last = 0;
    for (const PiiEntity& each : merge_pii(kBlank, rules, model)) {
      ASSERT_LE(last, each.begin);
      ASSERT_LT(each.begin, each.end);
      last = each.end;
      std::fill(score.begin() + each.begin, score.begin() + each.end, each.score);
      std::fill(type.begin() + each.begin, type.begin() + each.end, each.type);
    }
    for (const PiiEntity& rule : rules) {
      for (size_t at = rule.begin; at < rule.end; ++at) {
        ASSERT_GE(score[at], rule.score);
        ASSERT_TRUE(rule.type != "US_SSN" || type[at] == rule.type);
      }
    }
    for (const PiiEntity& each : model) {
      const auto checked = [&](const PiiEntity& rule) {
        return rule.type == "US_SSN" && each.type == "US_SSN" && rule.begin < each.end &&
               each.begin < rule.end;
      };
      if (std::any_of(rules.begin(), rules.end(), checked)) continue;
      size_t bare = 0;
      for (size_t at = each.begin; at < each.end; ++at) {
        bare = score[at] > 0 ? 0 : bare + 1;
        ASSERT_LT(bare, 5U);  // slivers of two cuts
      }
    }
  }
}

TEST(MergePii, CoversBothFindingsOfTheSameType) {
  EXPECT_EQ(merged({{"PHONE_NUMBER", 5, 20, 0.95}}, {{"PHONE_NUMBER", 8, 15}}),
            "PHONE_NUMBER 5-20 0.95 both");
  EXPECT_EQ(merged({{"DATE_TIME", 5, 20, 0.6}}, {{"DATE_TIME", 0, 15}}), "DATE_TIME 0-20 0.9 both");
}

TEST(MergePii, DoesNotFollowAModelThatIsUnsure) {
  EXPECT_EQ(merged({{"PHONE_NUMBER", 5, 15, 0.95}}, {{"AGE", 4, 15, 0.3}}),
            "PHONE_NUMBER 5-15 0.95 rule");
  EXPECT_EQ(merged({}, {{"AGE", 4, 15, 0.3}}), "AGE 4-15 0.3 model");
}

TEST(MergePii, TakesTheSurerOfTwoWindows) {
  EXPECT_EQ(merged({}, {{"PERSON", 4, 9, 0.7}, {"PERSON", 4, 15, 0.8}, {"GPE", 10, 15, 0.6}}),
            "PERSON 4-15 0.8 model");
}

TEST(MergePii, EndsAFindingOfAModelAtTheLineUnlessItIsAnAddress) {
  constexpr std::string_view kSignature = "Ada Lovelace \r\n  Engines Ltd\n12 Main St\nLondon";
  EXPECT_EQ(merged({}, {{"PERSON", 0, 28}, {"STREET_ADDRESS", 29, 46}}, kSignature),
            "PERSON 0-12 0.9 model, PERSON 17-28 0.9 model, STREET_ADDRESS 29-46 0.9 model");
  EXPECT_EQ(merged({}, {{"PERSON", 12, 15}}, kSignature), "");
}

TEST(MergePii, EndsAFindingOfAModelAtTheCell) {
  EXPECT_EQ(merged({}, {{"PERSON", 0, 24}}, "Ada Lovelace\tAlan Turing"),
            "PERSON 0-12 0.9 model, PERSON 13-24 0.9 model");
}

TEST(MergePii, MakesOneNameOfNamesWithASpaceBetween) {
  EXPECT_EQ(merged({}, {{"PERSON", 0, 3, 0.9}, {"PERSON", 4, 12, 0.8}, {"PERSON", 0, 3, 0.7}},
                   "Ada Lovelace"),
            "PERSON 0-12 0.9 model");
  EXPECT_EQ(merged({}, {{"PERSON", 0, 3}, {"PERSON", 4, 7}}, "Ada,Bob"),
            "PERSON 0-3 0.9 model, PERSON 4-7 0.9 model");
  EXPECT_EQ(merged({}, {{"PERSON", 0, 3}, {"GPE", 4, 10}}, "Ada London"),
            "PERSON 0-3 0.9 model, GPE 4-10 0.9 model");
}

// At the lower score, a sure name would share its span with the doubtful one next to it.
TEST(MergePii, FindsANameAsSurelyAsItsSurestPart) {
  constexpr std::string_view kText = "Please ask Margaret Hope Carter about it.";
  EXPECT_EQ(merged({}, {{"PERSON", 11, 24, 0.98}, {"PERSON", 25, 31, 0.33}}, kText),
            "PERSON 11-31 0.98 model");
  EXPECT_EQ(merged({}, {{"PERSON", 11, 19, 0.33}, {"PERSON", 20, 31, 0.98}}, kText),
            "PERSON 11-31 0.98 model");
  EXPECT_EQ(merged({}, {{"PERSON", 11, 19, 0.4}, {"PERSON", 20, 24, 0.98}, {"PERSON", 25, 31, 0.3}},
                   kText),
            "PERSON 11-31 0.98 model");
}

}  // namespace
}  // namespace signalbox::pii
