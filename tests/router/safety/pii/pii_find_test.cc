// Tests what remains of a model's findings, and which names are marked again.

#include "router/safety/pii/find.h"

#include <gtest/gtest.h>

#include "router/safety/pii/form.h"

namespace signalbox::pii {
namespace {

struct Marked {
  const char* type;
  const char* value;
};

// Returns "TYPE value" of each finding, where the model has marked the first occurrence of each
// value.
std::string found(const std::string& text, std::initializer_list<Marked> marked) {
  std::vector<PiiEntity> model;
  for (const auto& [type, value] : marked) {
    const size_t at = text.find(value);
    model.push_back({type, at, at + std::string_view(value).size(), 0.9, PiiSource::kModel});
  }
  std::string out;
  for (const PiiEntity& each : find_pii(text, std::move(model))) {
    out += out.empty() ? "" : ", ";
    out += each.type + " " + text.substr(each.begin, each.end - each.begin);
  }
  return out;
}

TEST(FindPii, DropsFindingsWithoutTheFormOfTheirType) {
  EXPECT_EQ(found("the mailer daemon", {{"EMAIL_ADDRESS", "mailer"}}), "");
  EXPECT_EQ(found("host 10 is up", {{"IP_ADDRESS", "10"}}), "");
  EXPECT_EQ(found("at 00:1b:44:11:3a:b7", {{"IP_ADDRESS", "00:1b:44:11:3a:b7"}}), "");
  EXPECT_EQ(found("since 1700000000", {{"PHONE_NUMBER", "1700000000"}}), "");
  EXPECT_EQ(found("application no. 36022/97", {{"PHONE_NUMBER", "36022/97"}}), "");
  EXPECT_EQ(found("area 90210", {{"ZIP_CODE", "90210"}}), "ZIP_CODE 90210");
  EXPECT_EQ(found("see you in May", {{"DATE_TIME", "May"}}), "DATE_TIME May");
  EXPECT_EQ(found("ring 020 7946 0018", {{"PHONE_NUMBER", "020 7946 0018"}}),
            "PHONE_NUMBER 020 7946 0018");
}

TEST(FindPii, MarksANameWhereverItRecurs) {
  EXPECT_EQ(
      found("Ada Lovelace wrote. Lovelace, said Ada Lovelace, won.", {{"PERSON", "Ada Lovelace"}}),
      "PERSON Ada Lovelace, PERSON Lovelace, PERSON Ada Lovelace");
  EXPECT_EQ(found("Initech sued. Initechs and INITECH did not; Initech did.",
                  {{"ORGANIZATION", "Initech"}}),
            "ORGANIZATION Initech, ORGANIZATION Initech");
}

TEST(FindPii, MarksNoNameThatMayBeAWord) {
  EXPECT_EQ(found("Al met all of us, and Al left.", {{"PERSON", "Al"}}), "PERSON Al");
  EXPECT_EQ(found("mark my words, mark", {{"PERSON", "mark"}}), "PERSON mark");
}

TEST(FindPii, LeavesOtherFindingsWhole) {
  EXPECT_EQ(found("Ada Lovelace <lovelace@example.org>, Lovelace", {{"PERSON", "Ada Lovelace"}}),
            "PERSON Ada Lovelace, EMAIL_ADDRESS lovelace@example.org, PERSON Lovelace");
}

TEST(PiiForm, EachTypeHasItsForm) {
  EXPECT_TRUE(has_form("EMAIL_ADDRESS", "ada (at) example dot org"));
  EXPECT_TRUE(has_form("US_SSN", "219-09-9999"));
  EXPECT_FALSE(has_form("US_SSN", "9999"));
  EXPECT_FALSE(has_form("CREDIT_CARD", "4111"));
  EXPECT_TRUE(has_form("IP_ADDRESS", "fe80::1"));
  EXPECT_TRUE(has_form("PERSON", "1700000000"));
  EXPECT_FALSE(has_form("DATE_TIME", "1700000000000"));
}

}  // namespace
}  // namespace signalbox::pii
