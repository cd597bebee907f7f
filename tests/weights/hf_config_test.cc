// config.json: ranges are checked, and errors name the key and the value.

#include "weights/hf_config.h"

#include <gtest/gtest.h>

namespace signalbox::weights {
namespace {

TEST(HfConfig, reads_values_within_their_ranges) {
  const auto config =
      HfConfig::parse(R"({"hidden_size":384,"eps":1e-12,"act":"gelu","none":null})", "config.json");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->root().integer("hidden_size", 1, 1 << 16).value(), 384);
  EXPECT_EQ(config->root().number("eps", 0, 1).value(), 1e-12);
  EXPECT_EQ(config->root().string("act", "").value(), "gelu");
  EXPECT_EQ(config->root().string("none", "fallback").value(), "fallback");
  EXPECT_FALSE(config->root().has("absent"));
}

TEST(HfConfig, names_the_wrong_value) {
  const auto config = HfConfig::parse(R"({"hidden_size":"384","layers":0})", "config.json");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->root().integer("hidden_size", 1, 99).error().message,
            "config.json: hidden_size: expected an integer from 1 to 99, found \"384\"");
  EXPECT_EQ(config->root().integer("layers", 1, 99).error().message,
            "config.json: layers: expected an integer from 1 to 99, found 0");
  EXPECT_EQ(config->root().number("eps", 0, 1).error().message, "config.json: eps: missing");
  EXPECT_EQ(config->root().string("layers", "").error().message,
            "config.json: layers: expected a string, found 0");
  EXPECT_EQ(HfConfig::parse("[1]", "config.json").error().message,
            "config.json: expected a JSON object");
  EXPECT_EQ(HfConfig::parse("{", "config.json").error().code, Code::kCorrupt);
}

TEST(HfConfig, optional_values_may_be_absent) {
  const auto config = HfConfig::parse(R"({"bias":true,"types":["a","b"],"none":null})", "c.json");
  ASSERT_TRUE(config);
  const HfObject root = config->root();
  EXPECT_EQ(root.integer("none", 1, 9, 3).value(), 3);
  EXPECT_EQ(root.number("absent", 1, 9, 2.5).value(), 2.5);
  EXPECT_TRUE(root.boolean("bias", false).value());
  EXPECT_FALSE(root.boolean("none", false).value());
  EXPECT_EQ(root.strings("types").value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(root.strings("absent").value().empty());
  EXPECT_FALSE(root.object("none").value());
}

TEST(HfConfig, names_the_place_of_a_nested_value) {
  const auto config =
      HfConfig::parse(R"({"rope":{"full":{"factor":"x"},"types":["a",1]},"flag":1})", "c.json");
  ASSERT_TRUE(config);
  const HfObject rope = config->root().object("rope").value().value();
  EXPECT_EQ(rope.object("full").value()->number("factor", 1, 9, 2).error().message,
            "c.json: rope.full.factor: expected a number from 1 to 9, found \"x\"");
  EXPECT_EQ(rope.strings("types").error().message,
            "c.json: rope.types[1]: expected a string, found 1");
  EXPECT_EQ(config->root().boolean("flag", false).error().message,
            "c.json: flag: expected true or false, found 1");
  EXPECT_EQ(config->root().object("flag").error().message,
            "c.json: flag: expected an object, found 1");
  EXPECT_EQ(rope.where("full"), "c.json: rope.full");
}

}  // namespace
}  // namespace signalbox::weights
