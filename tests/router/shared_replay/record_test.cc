// Tests the names and texts of records that routers share.

#include "router/shared_replay/record.h"

#include <gtest/gtest.h>

namespace signalbox::shared_replay {
namespace {

TEST(ReplayRecord, has_an_id_of_one_form) {
  EXPECT_TRUE(is_record_id("replay-0123456789abcdef"));
  for (const char* each : {"", "replay-", "replay-0123456789abcde", "replay-0123456789abcdefa",
                           "replay-0123456789abcdeg", "replay-0123456789ABCDEF"})
    EXPECT_FALSE(is_record_id(each)) << each;
}

TEST(ReplayRecord, is_an_object_with_members) {
  EXPECT_EQ(read_object(" {\"a\": [1]} ").value(), "{\"a\": [1]}");
  for (const char* each : {"", "{}", "[1]", "{\"a\":1}}", "{\"a\":", "1", "{\"a\":\"\xff\"}"})
    EXPECT_FALSE(read_object(each)) << each;
  EXPECT_FALSE(read_object("{\"a\":\"" + std::string(kTextBytesMax, 'x') + "\"}"));
  EXPECT_FALSE(read_object("{\"a\":" + std::string(99, '[') + std::string(99, ']') + "}"));
}

TEST(ReplayRecord, names_the_answer_of_an_outcome) {
  const auto answered =
      read_answered(R"({"id":"x","recipe":"r","decision":"d","selected_model":"m"})").value();
  EXPECT_EQ(answered.recipe, "r");
  EXPECT_EQ(answered.decision, "d");
  EXPECT_EQ(answered.model, "m");
  EXPECT_EQ(answered.features, "") << "records of a time without features have none";
  EXPECT_EQ(read_answered(R"({"learning_features":"1:80"})").value().features, "1:80");
  EXPECT_EQ(read_answered(R"({"decision":1})").value().decision, "");
  EXPECT_EQ(read_answered(R"({"learning_features":[]})").value().features, "");
  EXPECT_FALSE(read_answered("no"));
}

TEST(ReplayDeletion, is_read_as_it_was_written) {
  const std::string ada = index_name(Property::kUser, "ada"), k1 = index_name(Property::kKey, "k1");
  EXPECT_EQ(ada.size(), 33u);
  EXPECT_EQ(ada.find("ada"), std::string::npos);
  for (const Deletion& each : {Deletion{"", "", 7}, Deletion{ada, "", 7}, Deletion{"", k1, 7},
                               Deletion{ada, k1, kMomentMax}}) {
    const Deletion read = read_deletion(each.name());
    EXPECT_EQ(read.user, each.user);
    EXPECT_EQ(read.key, each.key);
    EXPECT_EQ(read.moment, each.moment);
  }
  const std::vector<std::string> others{"",
                                        "7",
                                        "7 ",
                                        "0 *",
                                        "7 +",
                                        "7 " + k1 + "+" + ada,
                                        "7 " + ada + "+",
                                        "7 *" + ada,
                                        "7  *",
                                        "9007199254740993 *",
                                        "7 " + index_name(Property::kModel, "m")};
  for (const std::string& each : others) EXPECT_EQ(read_deletion(each).moment, 0u) << each;
}

}  // namespace
}  // namespace signalbox::shared_replay
