// Tests what the store keeps, how long, what it evicts first, and concurrent use by many threads.

#include "router/cache/memory_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "router/cache/response_cache.h"

namespace signalbox::cache {
namespace {

using std::chrono::seconds;

const TimePoint kNow{seconds(1000)};

Entry entry(std::string id, std::vector<float> vector = {}, std::string partition = "p") {
  Entry out;
  out.id = std::move(id);
  out.partition = std::move(partition);
  out.question = "q " + out.id;
  out.vector = std::move(vector);
  out.reply = "{}";
  out.model = "m";
  out.created = kNow;
  out.expires = kNow + seconds(60);
  return out;
}

bool has(MemoryStore& store, std::string_view id, TimePoint now = kNow) {
  return *store.find(id, now) != nullptr;
}

TEST(MemoryStore, forgets_expired_entries) {
  MemoryStore store({});
  ASSERT_TRUE(store.put(entry("a", {1, 0}), kNow));
  EXPECT_TRUE(has(store, "a", kNow + seconds(59)));
  EXPECT_FALSE(has(store, "a", kNow + seconds(60)));
  EXPECT_EQ(store.figures().entries, 0U);
  EXPECT_EQ(store.figures().bytes, 0U);
  EXPECT_EQ(store.figures().expired, 1U);
  EXPECT_TRUE(store.nearest("p", std::vector<float>{1, 0}, 0, 5, kNow)->empty());
}

TEST(MemoryStore, evicts_the_oldest_or_least_recently_or_least_often_used_entry) {
  for (const auto& [eviction, gone] :
       {std::pair{Eviction::kFifo, "a"}, std::pair{Eviction::kLru, "b"},
        std::pair{Eviction::kLfu, "c"}}) {
    MemoryStore store({.entries = 3, .eviction = eviction});
    for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(store.put(entry(id), kNow));
    // b is requested before the others, a twice.
    for (const char* id : {"b", "b", "c", "a", "a"}) EXPECT_TRUE(has(store, id));
    ASSERT_TRUE(store.put(entry("d"), kNow));
    EXPECT_FALSE(has(store, gone)) << gone;
    EXPECT_TRUE(has(store, "d"));
    EXPECT_EQ(store.figures().entries, 3U);
    EXPECT_EQ(store.figures().evictions, 1U);
  }
}

TEST(MemoryStore, holds_no_more_bytes_than_its_limit) {
  const uint64_t each = entry_bytes(entry("a"));
  MemoryStore store({.bytes = 2 * each});
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(store.put(entry(id), kNow));
  EXPECT_EQ(store.figures().bytes, 2 * each);
  EXPECT_FALSE(has(store, "a"));
  Entry large = entry("d");
  large.reply.resize(4 * each);
  EXPECT_FALSE(store.put(std::move(large), kNow));
  EXPECT_TRUE(has(store, "c"));
  store.set_limits({.bytes = each});
  EXPECT_FALSE(has(store, "b"));
  EXPECT_EQ(store.figures().bytes, each);
}

TEST(MemoryStore, replaces_an_entry_of_the_same_id) {
  MemoryStore store({});
  ASSERT_TRUE(store.put(entry("a", {1, 0}), kNow));
  Entry later = entry("a", {0, 1});
  later.reply = "[]";
  ASSERT_TRUE(store.put(std::move(later), kNow));
  EXPECT_EQ((*store.find("a", kNow))->reply, "[]");
  EXPECT_EQ(store.figures().entries, 1U);
  EXPECT_EQ(store.nearest("p", std::vector<float>{1, 0}, 0.5, 5, kNow)->size(), 0U);
}

TEST(MemoryStore, finds_the_nearest_of_a_partition) {
  MemoryStore store({});
  ASSERT_TRUE(store.put(entry("d", {1, 0, 0}), kNow));  // from the previous model
  ASSERT_TRUE(store.put(entry("a", {1, 0}), kNow));
  ASSERT_TRUE(store.put(entry("b", {0.8F, 0.6F}), kNow));
  ASSERT_TRUE(store.put(entry("c", {1, 0}, "other"), kNow));
  ASSERT_TRUE(store.put(entry("e"), kNow));
  const auto near = store.nearest("p", std::vector<float>{1, 0}, 0.7, 5, kNow);
  ASSERT_EQ(near->size(), 2U);
  EXPECT_EQ(near->front().entry->id, "a");
  EXPECT_NEAR(near->back().similarity, 0.8, 1e-6);
  EXPECT_EQ(store.nearest("p", std::vector<float>{1, 0}, 0.7, 1, kNow)->size(), 1U);
}

// The entry comes from a file that was written before the clock was set back.
TEST(MemoryStore, remove_all_also_removes_entries_dated_in_the_future) {
  MemoryStore store({});
  Entry early = entry("a");
  early.created = kNow + seconds(5);
  ASSERT_TRUE(store.put(std::move(early), kNow));
  EXPECT_EQ(*store.remove_all({.older_than = seconds(1)}, kNow), 0U);
  EXPECT_EQ(*store.remove_all({}, kNow), 1U);
}

TEST(MemoryStore, removes_one_entry_or_all_that_match) {
  MemoryStore store({});
  for (const char* id : {"a", "b", "c"}) {
    Entry each = entry(id, {1, 0});
    each.model = std::string("m") + id;
    each.decision = "d";
    ASSERT_TRUE(store.put(std::move(each), kNow));
  }
  EXPECT_EQ(*store.remove("a"), 1U);
  EXPECT_EQ(*store.remove("a"), 0U);
  EXPECT_EQ(*store.remove_all({.decision = "d", .model = "mb"}, kNow), 1U);
  EXPECT_EQ(*store.remove_all({.older_than = seconds(5)}, kNow), 0U);
  EXPECT_EQ(store.list({}, 10, kNow)->front()->id, "c");
  EXPECT_EQ(*store.remove_all({.older_than = seconds(5)}, kNow + seconds(5)), 1U);
  EXPECT_EQ(store.figures().bytes, 0U);
}

TEST(ResponseCache, counts_hits_and_refusals_of_the_guard) {
  ResponseCache cache(std::make_unique<MemoryStore>(MemoryLimits{}));
  Entry known = entry("a", {1, 0});
  known.question = "Is it safe to eat raw eggs?";
  cache.put(std::move(known), kNow);
  const std::vector<float> vector{1, 0};
  EXPECT_TRUE(cache.find({.partition = "p", .id = "a", .question = {}}, kNow));
  EXPECT_FALSE(
      cache.find({.partition = "p", .id = "a", .question = {}}, kNow + seconds(9), seconds(8)));
  EXPECT_TRUE(cache.find_near({"p", "b", "is it safe to eat raw eggs"}, vector, 0.8, kNow));
  EXPECT_FALSE(cache.find_near({"p", "b", "Is it not safe to eat raw eggs?"}, vector, 0.8, kNow));
  EXPECT_FALSE(cache.find_near({"p", "b", "Is it safe to eat raw eggs?"}, vector, 0.8,
                               kNow + seconds(9), seconds(8)));
  EXPECT_FALSE(cache.find_near({"q", "b", "Is it safe to eat raw eggs?"}, vector, 0.8, kNow));
  const Statistics seen = cache.statistics();
  EXPECT_EQ(seen.hits_exact, 1U);
  EXPECT_EQ(seen.hits_semantic, 1U);
  EXPECT_EQ(seen.refused, 1U);
  EXPECT_EQ(seen.refused_by[static_cast<size_t>(Difference::kNegation)], 1U);
  EXPECT_EQ(seen.stored, 1U);
}

TEST(ResponseCache, serves_many_threads) {
  ResponseCache cache(
      std::make_unique<MemoryStore>(MemoryLimits{.entries = 20, .eviction = Eviction::kLru}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 500; ++i) {
        const std::string id = std::to_string((i * 7 + t) % 40);
        cache.put(entry(id, {1, 0}), kNow + std::chrono::milliseconds(i));
        const Hit hit = cache.find({"p", id, ""}, kNow);
        EXPECT_TRUE(!hit || hit.entry->id == id);
        static_cast<void>(
            cache.find_near({"p", id, "q " + id}, std::vector<float>{1, 0}, 0.5, kNow));
        if (i % 50 == 0) static_cast<void>(cache.store().remove_all({.model = "m"}, kNow));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.statistics().store.entries, 20U);
}

}  // namespace
}  // namespace signalbox::cache
