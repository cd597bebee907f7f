// Tests the store over each of its levels: a context that was put exists until it is dropped,
// whatever moves between the levels.

#include <gtest/gtest.h>

#include "router/contexts/pager.h"
#include "tests/router/contexts/stores.h"

namespace signalbox::contexts {
namespace {

class EachLevel : public testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Level> level() const {
    return GetParam() == "disk" ? disk_level(folder_) : packed_level();
  }
  const Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Store, EachLevel, testing::Values("disk", "compressed"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(EachLevel, a_stored_context_is_returned_and_storing_it_again_adds_nothing) {
  Store store({}, level(), kNow);
  const std::string content = said("hello");
  const auto first = store.put("a", content, 1, kNow);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_new);
  EXPECT_EQ(first->context.key.id, id_of(content));
  EXPECT_EQ(first->context.bytes, content.size());
  EXPECT_EQ(first->context.created, kNow);
  const auto second = store.put("a", content, 1, kNow + 5);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->is_new);
  EXPECT_EQ(second->context.created, kNow);
  EXPECT_EQ(text_of(store.get(first->context.key, kNow)), content);
  EXPECT_EQ(store.stats().contexts, 1U);
  EXPECT_EQ(store.is_durable(first->context), GetParam() == "disk");
  EXPECT_EQ(store.below(), GetParam());
}

TEST_P(EachLevel, idle_contexts_leave_memory_and_return_byte_for_byte) {
  Limits limits;
  limits.idle_s = 100;
  Store store(limits, level(), kNow);
  const std::string content = said("0123456789\\u0000\xC3\xA9", 10'000);
  const Key key = put(store, content);
  const Key other = put(store, said("other"), kNow + 50);
  store.page(kNow + 99);
  EXPECT_EQ(store.stats().in_memory, 2U);
  store.page(kNow + 100);
  EXPECT_EQ(store.stats().in_memory, 1U);
  EXPECT_EQ(store.stats().page_outs, 1U);
  EXPECT_EQ(store.stats().below, GetParam() == "disk" ? 2U : 1U);
  EXPECT_EQ(store.stats().memory_bytes, said("other").size());
  EXPECT_LT(store.stats().below_bytes, content.size() / 20);
  EXPECT_EQ(text_of(store.get(key, kNow + 100)), content);
  EXPECT_EQ(store.stats().below_hits, 1U);
  EXPECT_EQ(store.stats().in_memory, 2U);
  EXPECT_EQ(text_of(store.get(key, kNow + 101)), content);
  EXPECT_EQ(store.stats().memory_hits, 1U);
  store.page(kNow + 160);
  EXPECT_EQ(store.stats().in_memory, 1U);  // `other` was used earlier and has been paged out
  EXPECT_EQ(text_of(store.get(other, kNow + 200)), said("other"));
}

TEST_P(EachLevel, memory_is_bounded_and_keeps_the_contexts_used_last) {
  Limits limits;
  limits.memory_bytes = 3500;
  Store store(limits, level(), kNow);
  std::vector<Key> keys;
  for (char c = 'a'; c < 'f'; ++c) keys.push_back(put(store, said(std::string(1, c), 1000)));
  EXPECT_EQ(store.stats().in_memory, 3U);
  EXPECT_LE(store.stats().memory_bytes, limits.memory_bytes);
  EXPECT_EQ(text_of(store.get(keys[0], kNow)), said("a", 1000));
  EXPECT_EQ(store.stats().in_memory, 3U);
  EXPECT_EQ(text_of(store.get(keys[4], kNow)), said("e", 1000));
  EXPECT_EQ(text_of(store.get(keys[0], kNow)), said("a", 1000));
  EXPECT_EQ(store.stats().memory_hits, 2U);
  for (size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(text_of(store.get(keys[i], kNow)),
              said(std::string(1, static_cast<char>('a' + i)), 1000));
}

TEST_P(EachLevel, a_context_larger_than_memory_is_kept_below) {
  Limits limits;
  limits.memory_bytes = 100;
  Store store(limits, level(), kNow);
  const Key key = put(store, said("x", 1000));
  EXPECT_EQ(store.stats().in_memory, 0U);
  EXPECT_EQ(text_of(store.get(key, kNow)), said("x", 1000));
  EXPECT_EQ(store.stats().memory_bytes, 0U);
}

TEST_P(EachLevel, pins_stay_in_memory_and_are_never_forgotten) {
  Limits limits;
  limits.idle_s = 10;
  limits.ttl_s = 1000;
  Store store(limits, level(), kNow);
  const Key pinned = put(store, said("pinned")), other = put(store, said("other"));
  ASSERT_TRUE(store.pin(pinned, true));
  EXPECT_TRUE(store.pin(pinned, true)->pinned);
  EXPECT_EQ(store.stats().pinned, 1U);
  EXPECT_EQ(store.stats().pinned_bytes, said("pinned").size());
  store.page(kNow + 999);
  EXPECT_EQ(store.stats().in_memory, 1U);
  store.page(kNow + 1000);
  EXPECT_EQ(store.stats().expired, 1U);
  EXPECT_EQ(text_of(store.get(other, kNow + 1000)),
            fmt::format("error: there is no context {}", other.id));
  EXPECT_EQ(text_of(store.get(pinned, kNow + 1000)), said("pinned"));
  EXPECT_EQ(store.stats().memory_hits, 1U);
  EXPECT_FALSE(store.pin(pinned, false)->pinned);
  EXPECT_EQ(store.stats().pinned_bytes, 0U);
  store.page(kNow + 5000);
  EXPECT_EQ(store.stats().contexts, 0U);
  EXPECT_EQ(store.stats().below_bytes, 0U);
}

TEST_P(EachLevel, pins_are_bounded) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.tenant_pinned_bytes = 300;
  Store store(limits, level(), kNow);
  const Key a = put(store, said("a", 200)), b = put(store, said("b", 200)),
            c = put(store, said("c", 200), kNow, "other"),
            d = put(store, said("d", 200), kNow, "third");
  EXPECT_TRUE(store.pin(a, true));
  const auto second = store.pin(b, true);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kTooLarge);
  EXPECT_EQ(second.error().message,
            "pinned contexts of this client would take 456 bytes; at most 300");
  EXPECT_TRUE(store.pin(c, true));
  EXPECT_EQ(store.pin(d, true).error().message,
            "pinned contexts of all clients would take 684 bytes; at most 500");
  EXPECT_TRUE(store.pin(a, false));
  EXPECT_TRUE(store.pin(b, true));
  EXPECT_TRUE(store.drop(b));
  EXPECT_TRUE(store.pin(a, true));
}

TEST_P(EachLevel, tenants_see_only_their_own) {
  Store store({}, level(), kNow);
  const Key mine = put(store, said("same"), kNow, "me");
  const Key theirs{"them", mine.id};
  EXPECT_EQ(store.get(theirs, kNow).error().code, Code::kNotFound);
  EXPECT_EQ(store.find(theirs).error().code, Code::kNotFound);
  EXPECT_EQ(store.pin(theirs, true).error().code, Code::kNotFound);
  EXPECT_EQ(store.drop(theirs).error().code, Code::kNotFound);
  EXPECT_TRUE(store.list("them", "", 10).empty());
  EXPECT_EQ(put(store, said("same"), kNow, "them"), theirs);
  EXPECT_TRUE(store.drop(theirs));
  EXPECT_EQ(text_of(store.get(mine, kNow)), said("same"));
}

TEST_P(EachLevel, contexts_are_listed_by_id_in_pages) {
  Store store({}, level(), kNow);
  for (int i = 0; i < 5; ++i) put(store, said(std::to_string(i)));
  put(store, said("0"), kNow, "b");
  std::vector<std::string> ids;
  std::string after;
  for (;;) {
    const auto page = store.list("a", after, 2);
    if (page.empty()) break;
    for (const Context& each : page) ids.push_back(each.key.id);
    after = ids.back();
  }
  EXPECT_EQ(ids.size(), 5U);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
}

TEST_P(EachLevel, a_tenant_without_room_is_refused_and_others_lose_nothing) {
  Limits limits;
  limits.context_bytes_max = 500;
  limits.tenant_bytes_max = 1000;
  limits.tenant_contexts_max = 4;
  limits.bytes_max = 1500;
  Store store(limits, level(), kNow);
  const auto refusal = [&](const std::string& content, std::string_view tenant) {
    const auto stored = store.put(tenant, content, 1, kNow);
    if (stored) return std::string("stored");
    EXPECT_EQ(stored.error().code, Code::kTooLarge);
    return stored.error().message;
  };
  EXPECT_EQ(refusal(said("x", 500), "a"), "messages: 528 bytes; a context has at most 500");
  const Key first = put(store, said("x", 400));
  put(store, said("y", 400));
  EXPECT_EQ(refusal(said("z", 400), "a"),
            "the contexts of this client take 856 of 1000 bytes, and this one needs 428 more");
  put(store, said("1"));
  put(store, said("2"));
  EXPECT_EQ(refusal(said("3"), "a"), "this client has 4 contexts, the most that it may have");
  EXPECT_EQ(refusal(said("x", 400), "a"), "stored");  // it exists already
  put(store, said("z", 400), kNow, "b");
  EXPECT_EQ(refusal(said("z", 400), "c"),
            "the contexts of all clients take 1342 of 1500 bytes, and this one needs 428 more");
  EXPECT_EQ(store.stats().refused, 4U);
  limits.contexts_max = 5;
  store.set_limits(limits);
  EXPECT_EQ(refusal(said("4"), "d"), "there are 5 contexts, the most that there may be");
  EXPECT_TRUE(store.drop(first));
  EXPECT_EQ(refusal(said("z", 400), "c"), "stored");
  EXPECT_EQ(store.stats().bytes, 1342U);
}

TEST_P(EachLevel, many_threads_see_whole_contexts_or_none) {
  Limits limits;
  limits.memory_bytes = 6000;
  limits.idle_s = 0;
  Store store(limits, level(), kNow);
  const Pager pager(store, std::chrono::milliseconds(1));
  const Crowd crowd(8);
  crowd.run({&store}, 300);
  for (const Key& key : crowd.keys) static_cast<void>(store.drop(key));
  EXPECT_EQ(held_by(store), 0U);
  EXPECT_EQ(store.stats().damaged, 0U);
}

}  // namespace
}  // namespace signalbox::contexts
