#pragma once
// What the tests of the store share: levels to put below it, messages, and short ways to ask.

#include <gtest/gtest.h>

#include "router/context/disk_level.h"
#include "router/context/packed_level.h"
#include "router/context/store.h"
#include "tests/router/context/folder.h"

namespace signalbox::context {

inline constexpr int64_t kNow = 1'700'000'000;

inline std::unique_ptr<Level> packed_level() {
  return std::make_unique<PackedLevel>(1);
}

inline std::unique_ptr<Level> disk_level(const Folder& folder) {
  auto level = DiskLevel::open(folder.path(), 1);
  EXPECT_TRUE(level) << level.error().message;
  return *std::move(level);
}

inline std::string said(std::string_view text, size_t times = 1) {
  std::string out = R"({"role":"user","content":")";
  for (size_t i = 0; i < times; ++i) out += text;
  return out + "\"}";
}

inline Key put(Store& store, const std::string& content, int64_t now = kNow,
               std::string tenant = "a") {
  const auto stored = store.put(tenant, content, 1, now);
  EXPECT_TRUE(stored) << stored.error().message;
  return stored ? stored->context.key : Key{};
}

inline std::string text_of(const Result<Store::Content>& content) {
  return content ? **content : fmt::format("error: {}", content.error().message);
}

}  // namespace signalbox::context
