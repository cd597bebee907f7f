// config.json: ranges are checked and errors name key and value.

#include "weights/hf_config.h"

#include <gtest/gtest.h>

namespace signalbox::weights {
namespace {

TEST(HfConfig, reads_values_within_their_ranges) {
  const auto config =
      HfConfig::parse(R"({"hidden_size":384,"eps":1e-12,"act":"gelu","none":null})", "config.json");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->integer("hidden_size", 1, 1 << 16).value(), 384);
  EXPECT_EQ(config->number("eps", 0, 1).value(), 1e-12);
  EXPECT_EQ(config->string("act", "").value(), "gelu");
  EXPECT_EQ(config->string("none", "fallback").value(), "fallback");
  EXPECT_FALSE(config->has("absent"));
}

TEST(HfConfig, names_what_is_wrong) {
  const auto config = HfConfig::parse(R"({"hidden_size":"384","layers":0})", "config.json");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->integer("hidden_size", 1, 99).error().message,
            "config.json: hidden_size: expected an integer from 1 to 99, found \"384\"");
  EXPECT_EQ(config->integer("layers", 1, 99).error().message,
            "config.json: layers: expected an integer from 1 to 99, found 0");
  EXPECT_EQ(config->number("eps", 0, 1).error().message, "config.json: eps: missing");
  EXPECT_EQ(config->string("layers", "").error().message,
            "config.json: layers: expected a string, found 0");
  EXPECT_EQ(HfConfig::parse("[1]", "config.json").error().message,
            "config.json: expected a JSON object");
  EXPECT_EQ(HfConfig::parse("{", "config.json").error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace signalbox::weights
