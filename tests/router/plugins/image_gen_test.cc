// Tests answers that are a text with an image.

#include "router/plugins/image_gen/image_gen.h"

#include <gtest/gtest.h>

namespace signalbox::plugins {
namespace {

constexpr std::string_view kUrl = "https://i.example/1.png";
constexpr std::string_view kList =
    R"([{"type":"image_url","image_url":{"url":"https://i.example/1.png"}}])";

std::string completion(std::string_view content) {
  return fmt::format(
      R"({{"id": "c", "model": "w", "choices": [{{"index": 0, "message": {{"role": "assistant", "content": {}, "more": 1}}, "finish_reason": "length"}}], "usage": {{"total_tokens": 3}}}})",
      content);
}

std::string joined(std::string_view content, bool with_image, bool as_text) {
  config::ImageGenPlugin plugin;
  plugin.backend = "openai";
  std::string drawn;
  if (with_image) {
    const auto read =
        read_image_reply(plugin, fmt::format(R"({{"data": [{{"url": "{}"}}]}})", kUrl),
                         {.id = "c", .created = 1, .model = "p", .as_text = as_text});
    EXPECT_TRUE(read) << read.error().message;
    drawn = *read;
  }
  const auto out = join_text_and_image(completion(content), drawn, as_text);
  return out ? *out : out.error().message;
}

TEST(TextAndImage, becomes_a_list_of_parts) {
  EXPECT_EQ(
      joined(R"("A \"ship\"")", true, false),
      completion(fmt::format(R"([{{"type":"text","text":"A \"ship\""}},{})", kList.substr(1))));
}

TEST(TextAndImage, becomes_markdown_for_clients_without_parts) {
  EXPECT_EQ(joined(R"("A \"ship\"")", true, true),
            completion(fmt::format(R"x("A \"ship\"\n\n![image]({})")x", kUrl)));
}

TEST(TextAndImage, stays_a_list_without_an_image) {
  EXPECT_EQ(joined(R"("A ship")", false, false),
            completion(R"([{"type":"text","text":"A ship"}])"));
  EXPECT_EQ(joined(R"("A ship")", false, true), completion(R"("A ship")"));
}

TEST(TextAndImage, is_the_image_alone_if_the_text_is_blank) {
  for (const char* blank : {R"("")", R"(" \n")", "null", "[]", "7"}) {
    EXPECT_EQ(joined(blank, true, false), completion(kList)) << blank;
    EXPECT_EQ(joined(blank, true, true), completion(fmt::format(R"x("![image]({})")x", kUrl)));
    EXPECT_EQ(joined(blank, false, false), completion(blank));
  }
}

TEST(TextAndImage, reads_a_text_in_parts) {
  const char* parts = R"([{"type": "text", "text": "A "}, 7, {"type": "text", "text": "ship"}])";
  EXPECT_EQ(joined(parts, false, true), completion(R"("A ship")"));
}

TEST(TextAndImage, needs_a_message) {
  for (const char* body :
       {"{}", R"({"choices": []})", R"({"choices": [7]})", R"({"choices": [{"message": 7}]})"}) {
    const auto out = join_text_and_image(body, "", false);
    ASSERT_FALSE(out) << body;
    EXPECT_EQ(out.error().code, Code::kUpstream);
  }
  EXPECT_FALSE(join_text_and_image("no JSON", "", false));
}

}  // namespace
}  // namespace signalbox::plugins
