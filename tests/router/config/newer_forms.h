#pragma once
// Reads files of newer forms for tests: what they mean, and what is reported.

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "router/config/load.h"

namespace signalbox::config {

inline constexpr std::string_view kTwoModels = R"(version: v0.3
providers:
  defaults: {model: small}
  models:
    - {name: small, backend_refs: [{type: echo}]}
    - {name: large, reasoning: {family: qwen3}, backend_refs: [{type: echo}]}
)";

inline Config newer_config(const std::string& text) {
  auto loaded = parse(text, "f.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? std::move(loaded->config) : Config{};
}

inline std::string newer_errors(const std::string& text) {
  const auto loaded = parse(text, "f.yaml");
  return loaded ? "accepted" : loaded.error().message;
}

inline std::string newer_notices(const std::string& text) {
  const auto loaded = parse(text, "f.yaml");
  return loaded ? fmt::format("{}", fmt::join(loaded->notices, "\n"))
                : "refused: " + loaded.error().message;
}

}  // namespace signalbox::config
