// Tests which requests share a key, a partition, or neither.

#include "router/cache/key.h"

#include <gtest/gtest.h>

#include <vector>

namespace signalbox::cache {
namespace {

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

Key key(std::string_view request, const Fields& apart = {}) {
  const auto document = json::Document::parse(std::string(request));
  EXPECT_TRUE(document) << request;
  return document ? key_of(document->root(), apart) : Key{};
}

std::string asking(std::string_view question) {
  return fmt::format(R"({{"model":"m","messages":[{{"role":"user","content":"{}"}}]}})", question);
}

TEST(CacheKey, leaves_the_last_question_out_of_the_partition) {
  const Key a = key(asking("hello")), b = key(asking("hello!"));
  EXPECT_EQ(a.partition, b.partition);
  EXPECT_NE(a.id, b.id);
  EXPECT_EQ(a.question, "hello");
}

TEST(CacheKey, does_not_depend_on_spelling_or_delivery_of_the_request) {
  const Key a = key(R"({"model":"m","temperature":0,"messages":[{"role":"user","content":"hi"}]})");
  const Key b = key(
      R"({ "stream" : true, "user":"u", "stream_options":{"include_usage":true}, "metadata":{"a":"b"},
          "messages" : [ {"role":"user","content":"h\u0069"} ], "temperature":0, "model":"m" })");
  EXPECT_EQ(a.id, b.id);
}

TEST(CacheKey, depends_on_everything_else) {
  const std::vector<std::string> requests = {
      asking("hi"),
      R"({"model":"n","messages":[{"role":"user","content":"hi"}]})",
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.1})",
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.10})",
      R"({"model":"m","messages":[{"role":"user","content":"hi","name":"x"}]})",
      R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]})",
      R"({"model":"m","messages":[{"role":"user","content":"s"},{"role":"user","content":"hi"}]})",
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]})",
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"a"}}]}]})",
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"b"}}]}]})",
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[]})",
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"tools":["s1:a"]})",
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"tools":["s","1:a"]})",
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"seed":1})",
      R"({"model":"m","messages":[{"role":"user","content":"hi"}],"seed":"1"})",
  };
  for (size_t i = 0; i < requests.size(); ++i) {
    for (size_t j = i + 1; j < requests.size(); ++j) {
      EXPECT_NE(key(requests[i]).id, key(requests[j]).id) << requests[i] << requests[j];
      EXPECT_NE(key(requests[i]).partition, key(requests[j]).partition)
          << requests[i] << requests[j];
    }
  }
}

TEST(CacheKey, separates_equal_questions_of_other_users_and_scopes) {
  const std::string request = asking("hi");
  const Key a = key(request, {{"user", "ann"}});
  EXPECT_NE(a.partition, key(request, {{"user", "bob"}}).partition);
  EXPECT_NE(a.partition, key(request).partition);
  EXPECT_NE(key(request, {{"user", "a"}, {"team", ""}}).partition,
            key(request, {{"user", ""}, {"team", "a"}}).partition);
}

TEST(CacheKey, reads_long_prompts_to_their_end) {
  const std::string common(100'000, 'a');
  EXPECT_NE(key(asking(common + "b")).id, key(asking(common + "c")).id);
}

TEST(CacheKey, has_no_question_if_the_last_message_is_not_of_the_user) {
  const Key of_tool =
      key(R"({"messages":[{"role":"user","content":"q"},{"role":"tool","content":"a"}]})");
  EXPECT_EQ(of_tool.question, "");
  EXPECT_NE(of_tool.partition,
            key(R"({"messages":[{"role":"user","content":"q"},{"role":"tool","content":"b"}]})")
                .partition);
  EXPECT_EQ(key(R"({"messages":[]})").question, "");
  EXPECT_EQ(key("{}").question, "");
  EXPECT_EQ(key(R"({"messages":[1]})").question, "");
}

}  // namespace
}  // namespace signalbox::cache
