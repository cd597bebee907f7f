// What becomes of findings of rules and of a model that overlap.

#include "router/guard/pii_merge.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace signalbox::router {
namespace {

const std::string kBlank(1000, 'x');  // where only places matter

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

TEST(MergePii, KeepsWhatOnlyOneHasFound) {
  EXPECT_EQ(merged({{"US_SSN", 10, 21, 1}}, {{"PERSON", 0, 5}}),
            "PERSON 0-5 0.9 model, US_SSN 10-21 1 rule");
  EXPECT_EQ(merged({}, {}), "");
}

TEST(MergePii, LetsRulesSayWhatAndWhereACheckedIdentifierIs) {
  EXPECT_EQ(merged({{"CREDIT_CARD", 5, 21, 1}}, {{"PHONE_NUMBER", 4, 15}}),
            "CREDIT_CARD 5-21 1 rule");
  EXPECT_EQ(merged({{"EMAIL_ADDRESS", 5, 21, 1}}, {{"EMAIL_ADDRESS", 0, 18}}),
            "EMAIL_ADDRESS 5-21 1 both");
}

TEST(MergePii, HasOneFindingOfTheModelConfirmSeveralOfRules) {
  EXPECT_EQ(merged({{"IP_ADDRESS", 0, 7, 1}, {"IP_ADDRESS", 8, 15, 1}}, {{"IP_ADDRESS", 0, 15}}),
            "IP_ADDRESS 0-7 1 both, IP_ADDRESS 8-15 1 both");
}

TEST(MergePii, LetsTheModelSayWhatANumberInContextIs) {
  EXPECT_EQ(merged({{"PHONE_NUMBER", 5, 15, 0.95}}, {{"US_DRIVER_LICENSE", 4, 15, 0.6}}),
            "US_DRIVER_LICENSE 4-15 0.6 model");
  EXPECT_EQ(merged({{"ZIP_CODE", 30, 35, 0.95}}, {{"STREET_ADDRESS", 4, 35}}),
            "STREET_ADDRESS 4-35 0.9 model");
}

TEST(MergePii, CoversWhatBothCallTheSame) {
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

TEST(MergePii, EndsWhatAModelHasFoundWithTheLineUnlessItIsAnAddress) {
  constexpr std::string_view kSignature = "Ada Lovelace \r\n  Engines Ltd\n12 Main St\nLondon";
  EXPECT_EQ(merged({}, {{"PERSON", 0, 28}, {"STREET_ADDRESS", 29, 46}}, kSignature),
            "PERSON 0-12 0.9 model, PERSON 17-28 0.9 model, STREET_ADDRESS 29-46 0.9 model");
  EXPECT_EQ(merged({}, {{"PERSON", 12, 15}}, kSignature), "");
}

TEST(MergePii, MakesOneNameOfNamesWithASpaceBetween) {
  EXPECT_EQ(merged({}, {{"PERSON", 0, 3, 0.9}, {"PERSON", 4, 12, 0.8}, {"PERSON", 0, 3, 0.7}},
                   "Ada Lovelace"),
            "PERSON 0-12 0.8 model");
  EXPECT_EQ(merged({}, {{"PERSON", 0, 3}, {"PERSON", 4, 7}}, "Ada,Bob"),
            "PERSON 0-3 0.9 model, PERSON 4-7 0.9 model");
  EXPECT_EQ(merged({}, {{"PERSON", 0, 3}, {"GPE", 4, 10}}, "Ada London"),
            "PERSON 0-3 0.9 model, GPE 4-10 0.9 model");
}

}  // namespace
}  // namespace signalbox::router
