#pragma once
// The steps of tests of memories that several stores share.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "router/shared_memories/redis_memories.h"

namespace signalbox::shared_memories {

inline constexpr std::chrono::seconds kWithin{180};  // for events, which come much earlier
inline const memories::Vector kVector{"m", {1.0F, 2.0F}};

inline void until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kWithin;
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "the expected event did not happen in time";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline std::string add(SharedMemories& to, std::string_view user, const std::string& text,
                       uint64_t moment) {
  auto id = to.add(user, {.text = text, .answer = "An answer."}, kVector, moment,
                   memories::TimePoint::clock::now());
  EXPECT_TRUE(id.has_value());
  return id.value_or("");
}

inline void written(SharedMemories& all) {
  EXPECT_EQ(all.drain(std::chrono::steady_clock::now() + kWithin), 0U);
}

inline size_t count(SharedMemories& of, std::string_view user) {
  const auto page = of.list(user, 10, memories::TimePoint::clock::now());
  EXPECT_TRUE(page.has_value()) << page.error().message;
  return page ? page->total : 1'000'000;
}

inline size_t found(SharedMemories& in, std::string_view user) {
  const auto hits = in.search(user, kVector, 10, 0.5, nullptr, memories::TimePoint::clock::now());
  EXPECT_TRUE(hits.has_value()) << hits.error().message;
  return hits ? hits->size() : 1'000'000;
}

}  // namespace signalbox::shared_memories
