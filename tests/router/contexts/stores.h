#pragma once
// Helpers of the store's tests: levels, messages, short ways to look up contexts, and threads that
// use a store concurrently.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "router/contexts/disk_level.h"
#include "router/contexts/packed_level.h"
#include "router/contexts/store.h"
#include "tests/router/contexts/folder.h"

namespace signalbox::contexts {

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

/// Threads that put, drop, pin and read contexts of the stores concurrently, in an order that the
/// seed defines. Every context that is read must be complete.
struct Crowd {
  explicit Crowd(size_t many) {
    for (size_t i = 0; i < many; ++i) {
      contents.push_back(said(std::string(1, static_cast<char>('a' + i)), 1000));
      keys.push_back({"a", id_of(contents.back())});
    }
  }
  /// Runs four threads, each of which uses the stores in turn.
  void run(const std::vector<Store*>& stores, int rounds) const {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) {
      Store* const store = stores[i % stores.size()];
      threads.emplace_back([this, store, i, rounds] { work(*store, i + 1, rounds); });
    }
    for (std::thread& each : threads) each.join();
  }
  void work(Store& store, unsigned seed, int rounds) const {
    for (int i = 0; i < rounds; ++i) {
      seed = seed * 1664525 + 1013904223;
      const size_t which = (seed >> 8) % contents.size();
      switch ((seed >> 16) % 6) {
        case 0:
          EXPECT_TRUE(store.put("a", contents[which], 1, kNow));
          break;
        case 1:
          static_cast<void>(store.drop(keys[which]));
          break;
        case 2:
          static_cast<void>(store.pin(keys[which], (seed >> 20) % 2 == 0));
          break;
        default:
          const auto got = store.get(keys[which], kNow);
          if (got) {
            EXPECT_EQ(**got, contents[which]);
          } else {
            EXPECT_EQ(got.error().code, Code::kNotFound) << got.error().message;
          }
      }
    }
  }

  std::vector<std::string> contents;
  std::vector<Key> keys;
};

/// The number of bytes that a store reports.
inline uint64_t held_by(const Store& store) {
  const Stats stats = store.stats();
  return stats.contexts + stats.bytes + stats.in_memory + stats.memory_bytes + stats.pinned +
         stats.pinned_bytes + stats.below + stats.below_bytes + stats.shared + stats.shared_bytes;
}

}  // namespace signalbox::contexts
