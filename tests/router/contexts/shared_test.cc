// Tests stores of several routers over one shared level: the same scenarios over a double and over
// a real Redis, and then those that only a real server allows: to die, to hang, to be full.

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <utility>

#include "router/contexts/pager.h"
#include "tests/router/contexts/shared_site.h"

namespace signalbox::contexts {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kNoWait{1};

class EachShared : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (GetParam() == "double") return;
    const bool is_secure = GetParam() == "redis_with_tls";
    const std::string missing = test::RedisProcess::missing(is_secure);
    if (!missing.empty()) GTEST_SKIP() << missing;
    site_ = std::make_unique<RedisSite>(is_secure);
    site_->start();
  }
  std::unique_ptr<SharedLevel> shared() {
    return site_ ? site_->level() : std::make_unique<SharedDouble>(memory_);
  }
  std::unique_ptr<Store> router(const Limits& limits = {}) {
    auto out = std::make_unique<Store>(limits, packed_level(), kNow, shared());
    EXPECT_TRUE(out->follow(kNoWait, kNow));
    return out;
  }
  void go_away() {
    memory_.is_away = true;
    if (site_) site_->server().end();
  }
  std::unique_ptr<RedisSite> site_;
  SharedMemory memory_;
};
INSTANTIATE_TEST_SUITE_P(Shared, EachShared, testing::Values("double", "redis", "redis_with_tls"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(EachShared, a_router_reads_contexts_of_another_byte_for_byte) {
  const auto a = router(), b = router();
  const std::string content = said("0123456789\\u0000\xC3\xA9", 10'000);
  const auto stored = a->put("t", content, 3, kNow);
  ASSERT_TRUE(stored);
  EXPECT_TRUE(stored->context.shared);
  EXPECT_TRUE(a->is_durable(stored->context));
  const Key key = stored->context.key;
  // Before b has received the notification.
  EXPECT_EQ(text_of(b->get(key, kNow)), content);
  EXPECT_EQ(b->stats().shared_hits, 1U);
  EXPECT_EQ(b->find(key)->messages, 3U);
  EXPECT_EQ(text_of(b->get(key, kNow)), content);
  EXPECT_EQ(b->stats().memory_hits, 1U);
  const auto again = b->put("t", content, 3, kNow + 5);
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->context.created, kNow);
  EXPECT_EQ(b->get({"other", key.id}, kNow).error().code, Code::kNotFound);
}

TEST_P(EachShared, lists_and_limits_count_contexts_of_all_routers) {
  Limits limits;
  limits.tenant_contexts_max = 2;
  const auto a = router(limits), b = router(limits);
  const Key first = put(*a, said("1"), kNow, "t"), second = put(*b, said("2"), kNow, "t");
  ASSERT_TRUE(a->follow(kNoWait, kNow));
  ASSERT_TRUE(b->follow(kNoWait, kNow));
  EXPECT_EQ(a->list("t", "", 10).size(), 2U);
  EXPECT_EQ(b->list("t", "", 10).size(), 2U);
  EXPECT_EQ(a->put("t", said("3"), 1, kNow).error().code, Code::kTooLarge);
  ASSERT_TRUE(b->drop(first));
  ASSERT_TRUE(a->follow(kNoWait, kNow));
  EXPECT_TRUE(a->put("t", said("3"), 1, kNow));
  EXPECT_EQ(a->stats().contexts, 2U);
  // A router that starts later finds them, too.
  EXPECT_EQ(router(limits)->list("t", "", 10).size(), 2U);
}

TEST_P(EachShared, a_dropped_context_is_gone_from_all_routers) {
  const auto a = router(), b = router();
  const Key key = put(*a, said("x"));
  EXPECT_EQ(text_of(b->get(key, kNow)), said("x"));
  ASSERT_TRUE(b->drop(key));
  EXPECT_EQ(b->get(key, kNow).error().code, Code::kNotFound);
  ASSERT_TRUE(a->follow(kNoWait, kNow));
  EXPECT_EQ(a->get(key, kNow).error().code, Code::kNotFound);
  EXPECT_EQ(a->stats().contexts, 0U);
  // It exists again once it is stored again, whatever the order of notifications.
  put(*b, said("x"));
  ASSERT_TRUE(b->follow(kNoWait, kNow));
  ASSERT_TRUE(a->follow(kNoWait, kNow));
  EXPECT_EQ(text_of(a->get(key, kNow)), said("x"));
  EXPECT_EQ(text_of(b->get(key, kNow)), said("x"));
}

TEST_P(EachShared, pins_are_shared) {
  Limits limits;
  limits.ttl_s = 1000;
  const auto a = router(limits), b = router(limits);
  const Key key = put(*a, said("x"));
  ASSERT_TRUE(a->pin(key, true));
  ASSERT_TRUE(b->follow(kNoWait, kNow));
  EXPECT_TRUE(b->find(key)->pinned);
  EXPECT_EQ(b->stats().pinned_bytes, said("x").size());
  b->page(kNow + 5000);
  EXPECT_TRUE(b->find(key)->pinned);
  EXPECT_TRUE(router(limits)->find(key)->pinned);
  EXPECT_FALSE(b->pin(key, false)->pinned);
  ASSERT_TRUE(a->follow(kNoWait, kNow));
  EXPECT_FALSE(a->find(key)->pinned);
  EXPECT_EQ(a->stats().pinned_bytes, 0U);
}

TEST_P(EachShared, a_pin_does_not_restore_a_context_that_another_router_dropped) {
  const auto a = router(), b = router();
  const Key key = put(*a, said("x"));
  ASSERT_TRUE(b->follow(kNoWait, kNow));
  ASSERT_TRUE(b->drop(key));
  ASSERT_TRUE(a->pin(key, true));  // not notified yet
  ASSERT_TRUE(b->follow(kNoWait, kNow));
  EXPECT_EQ(b->stats().contexts, 0U);
  ASSERT_TRUE(a->follow(kNoWait, kNow));
  EXPECT_EQ(a->stats().contexts, 0U);
  EXPECT_EQ(a->stats().pinned_bytes, 0U);
}

TEST_P(EachShared, an_idle_context_leaves_the_router_and_is_read_back) {
  Limits limits;
  limits.idle_s = 10;
  limits.local_idle_s = 100;
  const auto a = router(limits);
  const Key key = put(*a, said("x", 1000));
  a->page(kNow + 10);
  EXPECT_EQ(a->stats().in_memory, 0U);
  EXPECT_EQ(a->stats().below, 1U);
  a->page(kNow + 100);
  EXPECT_EQ(a->stats().below, 0U);
  EXPECT_EQ(a->stats().below_bytes, 0U);
  EXPECT_EQ(a->stats().shared, 1U);
  EXPECT_EQ(text_of(a->get(key, kNow + 101)), said("x", 1000));
  EXPECT_EQ(a->stats().shared_hits, 1U);
  limits.local_bytes = 10;
  a->set_limits(limits);
  a->page(kNow + 111);
  EXPECT_EQ(a->stats().below, 0U) << "it is over the bytes";
}

TEST_P(EachShared, an_outage_hides_only_contexts_that_are_nowhere_else) {
  const auto a = router(), b = router();
  const Key here = put(*a, said("here")), there = put(*b, said("there"));
  ASSERT_TRUE(a->follow(kNoWait, kNow));
  go_away();
  EXPECT_FALSE(a->follow(kNoWait, kNow));
  EXPECT_EQ(text_of(a->get(here, kNow)), said("here"));
  const std::string nobody = "the shared level does not respond at the moment";
  for (const Key& key : {there, Key{"t", id_of("unknown")}}) {
    const auto missing = a->get(key, kNow);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kUpstream);
    EXPECT_EQ(missing.error().message, fmt::format("context {}: {}", key.id, nobody));
  }
  EXPECT_EQ(a->drop(here).error().code, Code::kUpstream);
  EXPECT_EQ(text_of(a->get(here, kNow)), said("here"));
  EXPECT_EQ(a->pin(here, true).error().code, Code::kUpstream);
  EXPECT_FALSE(a->find(here)->pinned);
  EXPECT_EQ(a->stats().pinned_bytes, 0U);
  const auto kept = a->put("a", said("new"), 1, kNow);
  ASSERT_TRUE(kept);
  EXPECT_FALSE(a->is_durable(kept->context));
  EXPECT_EQ(text_of(a->get(kept->context.key, kNow)), said("new"));
  EXPECT_EQ(a->stats().owed, 1U);
  EXPECT_GT(a->stats().shared_failures, 0U);
}

/// Tries repeatedly, as the pager does, because an open breaker blocks for a second.
template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return condition();
}

TEST(SharedStore, contexts_stored_during_an_outage_are_shared_afterwards) {
  SharedMemory server;
  Store a({}, packed_level(), kNow, std::make_unique<SharedDouble>(server));
  Store b({}, packed_level(), kNow, std::make_unique<SharedDouble>(server));
  ASSERT_TRUE(a.follow(kNoWait, kNow) && b.follow(kNoWait, kNow));
  const Key both = put(a, said("both"));
  EXPECT_TRUE(b.get(both, kNow));
  server.is_away = true;
  EXPECT_FALSE(a.follow(kNoWait, kNow));
  const Key key = put(a, said("x"));
  a.page(kNow);
  server.is_away = false;
  ASSERT_TRUE(b.drop(both));
  a.page(kNow);
  EXPECT_EQ(server.puts, 1) << "before it knows what others have dropped";
  ASSERT_TRUE(a.follow(kNoWait, kNow));
  EXPECT_EQ(a.get(both, kNow).error().code, Code::kNotFound);
  a.page(kNow);
  EXPECT_TRUE(a.find(key)->shared);
  EXPECT_EQ(a.stats().owed, 0U);
  EXPECT_EQ(text_of(b.get(key, kNow)), said("x"));
}

TEST(SharedStore, routers_restore_their_contexts_on_a_level_that_lost_everything) {
  SharedMemory server;
  Store a({}, packed_level(), kNow, std::make_unique<SharedDouble>(server));
  Store b({}, packed_level(), kNow, std::make_unique<SharedDouble>(server));
  ASSERT_TRUE(a.follow(kNoWait, kNow) && b.follow(kNoWait, kNow));
  const Key key = put(a, said("x"));
  ASSERT_TRUE(b.follow(kNoWait, kNow));
  server.kept.clear();
  server.is_away = true;
  EXPECT_FALSE(a.follow(kNoWait, kNow) || b.follow(kNoWait, kNow));
  server.is_away = false;
  ASSERT_TRUE(b.follow(kNoWait, kNow));
  EXPECT_EQ(b.get(key, kNow).error().code, Code::kNotFound);
  ASSERT_TRUE(a.follow(kNoWait, kNow));
  EXPECT_EQ(text_of(a.get(key, kNow)), said("x"));
  a.page(kNow);
  EXPECT_EQ(text_of(b.get(key, kNow)), said("x"));
}

TEST(SharedStore, no_router_forgets_a_context_that_another_one_uses) {
  SharedMemory server;
  Limits limits;
  limits.ttl_s = 1000;
  Store a(limits, packed_level(), kNow, std::make_unique<SharedDouble>(server));
  Store b(limits, packed_level(), kNow, std::make_unique<SharedDouble>(server));
  ASSERT_TRUE(a.follow(kNoWait, kNow) && b.follow(kNoWait, kNow));
  const Key key = put(a, said("x"));
  ASSERT_TRUE(b.follow(kNoWait, kNow));
  for (int64_t at = kNow + 500; at <= kNow + 2000; at += 500) {
    server.now = at;
    EXPECT_TRUE(a.get(key, at));
    a.page(at);
    b.page(at);
  }
  EXPECT_EQ(b.stats().contexts, 1U);
  server.now = kNow + 3000;
  a.page(server.now);
  b.page(server.now);
  EXPECT_EQ(a.stats().contexts + b.stats().contexts, 0U);
  EXPECT_EQ(a.get(key, server.now).error().code, Code::kNotFound);
}

TEST(SharedStore, a_start_deletes_contexts_dropped_by_others_and_shares_the_rest) {
  const Folder folder;
  SharedMemory server;
  const auto shared = [&] { return std::make_unique<SharedDouble>(server); };
  Key dropped, kept, again;
  {
    Store a({}, disk_level(folder), kNow, shared());
    ASSERT_TRUE(a.follow(kNoWait, kNow));
    dropped = put(a, said("dropped"));
    again = put(a, said("again"));
    server.is_away = true;
    kept = put(a, said("kept"));
    EXPECT_TRUE(a.is_durable(*a.find(kept)));
  }
  server.is_away = false;
  {
    Store b({}, packed_level(), kNow, shared());
    server.now = kNow + 10;
    ASSERT_TRUE(b.drop(dropped));
    ASSERT_TRUE(b.drop(again));
    put(b, said("again"), kNow + 20);
  }
  Store a({}, disk_level(folder), kNow + 30, shared());
  EXPECT_EQ(text_of(a.get(kept, kNow + 30)), said("kept"));
  a.page(kNow + 30);
  ASSERT_TRUE(a.follow(kNoWait, kNow + 30));
  a.page(kNow + 30);
  EXPECT_EQ(a.get(dropped, kNow + 30).error().code, Code::kNotFound);
  EXPECT_EQ(text_of(a.get(again, kNow + 30)), said("again"));
  EXPECT_TRUE(a.find(kept)->shared);
  EXPECT_EQ(folder.files().size(), 2U);
}

/// A level in memory that calls `before_get` before the next read.
class WatchedLevel final : public Level {
 public:
  explicit WatchedLevel(std::function<void()>& before_get) : before_get_(before_get) {}
  std::string_view name() const override { return level_->name(); }
  bool is_durable() const override { return level_->is_durable(); }
  Result<void> put(const Context& context, std::string_view content) override {
    return level_->put(context, content);
  }
  Result<std::string> get(const Context& context) override {
    if (const auto once = std::exchange(before_get_, nullptr)) once();
    return level_->get(context);
  }
  Result<void> drop(const Key& key) override { return level_->drop(key); }
  Result<void> pin(const Key& key, bool pinned) override { return level_->pin(key, pinned); }
  Recovered recover() override { return level_->recover(); }
  uint64_t bytes() const override { return level_->bytes(); }

 private:
  const std::unique_ptr<Level> level_ = packed_level();
  std::function<void()>& before_get_;
};

TEST(SharedStore, a_context_that_is_dropped_during_a_read_does_not_count_as_damaged) {
  Limits limits;
  limits.idle_s = 10;
  limits.local_idle_s = 100;
  SharedMemory server;
  std::function<void()> before_get;
  Store a(limits, std::make_unique<WatchedLevel>(before_get), kNow,
          std::make_unique<SharedDouble>(server));
  Store b(limits, packed_level(), kNow, std::make_unique<SharedDouble>(server));
  ASSERT_TRUE(a.follow(kNoWait, kNow));
  ASSERT_TRUE(b.follow(kNoWait, kNow));
  const Key key = put(a, said("x", 1000));
  a.page(kNow + 10);
  ASSERT_EQ(a.stats().below, 1U);
  before_get = [&] {
    a.page(kNow + 200);
    EXPECT_EQ(a.stats().below, 0U);
    EXPECT_TRUE(b.drop(key));
  };
  EXPECT_EQ(a.get(key, kNow + 10).error().code, Code::kNotFound);
  EXPECT_EQ(a.stats().damaged, 0U);
}

/// A disk on which every read fails while `error` is set.
class BadDisk final : public Level {
 public:
  BadDisk(std::unique_ptr<Level> disk, const std::optional<Code>& error)
      : disk_(std::move(disk)), error_(error) {}
  std::string_view name() const override { return disk_->name(); }
  bool is_durable() const override { return true; }
  Result<void> put(const Context& context, std::string_view content) override {
    return disk_->put(context, content);
  }
  Result<std::string> get(const Context& context) override {
    if (error_) return fail(*error_, "bad sector");
    return disk_->get(context);
  }
  Result<void> drop(const Key& key) override { return disk_->drop(key); }
  Result<void> pin(const Key& key, bool pinned) override { return disk_->pin(key, pinned); }
  Recovered recover() override { return disk_->recover(); }
  uint64_t bytes() const override { return disk_->bytes(); }

 private:
  const std::unique_ptr<Level> disk_;
  const std::optional<Code>& error_;
};

/// The number of occurrences of a message in the log.
size_t times_logged(const std::string& log, std::string_view what) {
  size_t count = 0;
  for (size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1)) ++count;
  return count;
}

class UnreadStore : public testing::Test {
 protected:
  UnreadStore()
      : store_(limits(), std::make_unique<BadDisk>(packed_level(), error_), kNow,
               std::make_unique<SharedDouble>(server_)) {
    EXPECT_TRUE(store_.follow(kNoWait, kNow));
    server_.is_away = true;
    key_ = put(store_, said("x"));
    server_.is_away = false;
  }
  static Limits limits() {
    Limits out;
    out.memory_bytes = 0;  // keep everything in the lower levels
    return out;
  }
  /// Returns the log of several rounds of paging.
  std::string page(int rounds) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < rounds; ++i) store_.page(kNow);
    return testing::internal::GetCapturedStderr();
  }
  SharedMemory server_;
  std::optional<Code> error_;
  Store store_;
  Key key_;
};

TEST_F(UnreadStore, an_unreadable_context_stays_owed_and_is_logged_once) {
  ASSERT_EQ(store_.stats().owed, 1U);
  error_ = Code::kIo;
  const std::string log = page(5);
  EXPECT_EQ(store_.stats().owed, 1U);
  EXPECT_EQ(times_logged(log, key_.id), 1U) << log;
  EXPECT_EQ(times_logged(log, "the router will try again: bad sector"), 1U) << log;
  error_.reset();
  EXPECT_EQ(page(1), "");
  EXPECT_EQ(store_.stats().owed, 0U);
  EXPECT_TRUE(server_.kept.contains(key_));
}

TEST_F(UnreadStore, a_damaged_context_is_not_owed_and_is_logged_once) {
  error_ = Code::kCorrupt;
  const std::string log = page(5);
  EXPECT_EQ(store_.stats().owed, 0U);
  EXPECT_EQ(times_logged(log, "because it is damaged here: bad sector"), 1U) << log;
  // The message is not repeated after the shared level was away.
  server_.is_away = true;
  EXPECT_FALSE(store_.follow(kNoWait, kNow));
  server_.is_away = false;
  EXPECT_TRUE(store_.follow(kNoWait, kNow));
  EXPECT_EQ(page(5), "");
  EXPECT_EQ(store_.get(key_, kNow).error().code, Code::kCorrupt);
}

// --- a real Redis ---

class RealRedis : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = test::RedisProcess::missing(); !missing.empty())
      GTEST_SKIP() << missing;
    site_ = std::make_unique<RedisSite>();
    site_->start();
  }
  std::unique_ptr<Store> router(bool is_patient = true) const {
    Limits limits;
    limits.ttl_s = 0;  // the pager uses the real time
    auto out = std::make_unique<Store>(limits, packed_level(), kNow, site_->level(is_patient));
    EXPECT_TRUE(out->follow(kNoWait, kNow));
    return out;
  }
  std::unique_ptr<RedisSite> site_;
};

TEST_F(RealRedis, routers_refill_a_server_that_was_killed_and_returns_empty) {
  const auto a = router(), b = router();
  const Follower following_a(*a), following_b(*b);
  const Pager paging(*a, milliseconds(20));
  const Key key = put(*a, said("x", 1000));
  site_->server().end();
  const Key later = put(*a, said("y", 1000));
  EXPECT_TRUE(comes_true([&] { return a->stats().owed > 0; }));
  site_->start();
  EXPECT_TRUE(comes_true([&] { return a->find(key)->shared && a->find(later)->shared; }));
  EXPECT_TRUE(comes_true([&] { return b->get(key, kNow) && b->get(later, kNow); }));
  EXPECT_EQ(text_of(b->get(later, kNow)), said("y", 1000));
}

TEST_F(RealRedis, a_stopped_server_delays_no_read_beyond_the_limit) {
  const auto a = router(false), b = router();
  const Key here = put(*a, said("here")), there = put(*b, said("there"));
  site_->server().signal(SIGSTOP);
  const auto began = Clock::now();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(text_of(a->get(here, kNow)), said("here"));
    EXPECT_EQ(a->get(there, kNow).error().code, Code::kUpstream);
  }
  const auto took = Clock::now() - began;
  EXPECT_LT(took, std::chrono::seconds(20))
      << "25 s if each waited; three do, and then the breaker";
  const auto here_only = Clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(a->get(here, kNow));
  EXPECT_LT(Clock::now() - here_only, milliseconds(500)) << "it is not asked for what is here";
  site_->server().signal(SIGCONT);
  EXPECT_TRUE(comes_true([&] { return a->get(there, kNow).has_value(); }));
}

TEST_F(RealRedis, a_full_server_is_reported_and_loses_no_context) {
  const auto a = router();
  std::string noise;
  for (uint32_t i = 1; noise.size() < 12'000'000; ++i)
    noise += fmt::format("{:08x}", i * 2654435761U ^ (i << 7));
  const auto first = a->put("a", said("x"), 1, kNow);
  ASSERT_TRUE(first && first->context.shared);
  // Each is 16 MB.
  for (size_t i = 0; i < 3; ++i) {
    const auto stored = a->put("a", said(noise.substr(i)), 1, kNow);
    ASSERT_TRUE(stored);
    EXPECT_EQ(text_of(a->get(stored->context.key, kNow)), said(noise.substr(i)));
    EXPECT_EQ(a->is_durable(stored->context), stored->context.shared);
  }
  EXPECT_GT(a->stats().owed, 0U);
  EXPECT_EQ(text_of(router()->get(first->context.key, kNow)), said("x"));
}

TEST_F(RealRedis, a_damaged_record_is_not_used_and_is_repaired) {
  const auto a = router(), b = router();
  const Key key = put(*a, said("x", 1000));
  stores::Redis redis({.host = "127.0.0.1", .port = site_->server().port()});
  const std::string at = "signalbox:contexts:c:" + name_of(key);
  const auto record = redis.run({"GET", at}, milliseconds(500));
  ASSERT_TRUE(record && record->is_text());
  std::string damaged = record->text;
  damaged[damaged.size() - 6] ^= 1;
  ASSERT_TRUE(redis.run({"SET", at, damaged}, milliseconds(500)));
  EXPECT_EQ(b->get(key, kNow).error().code, Code::kCorrupt);
  EXPECT_EQ(b->stats().damaged, 1U);
  EXPECT_TRUE(b->put("a", said("x", 1000), 1, kNow));
  EXPECT_EQ(text_of(router()->get(key, kNow)), said("x", 1000));
  ASSERT_TRUE(redis.run({"SET", at, "nonsense"}, milliseconds(500)));
  EXPECT_EQ(router()->get(key, kNow).error().code, Code::kNotFound);
}

TEST_F(RealRedis, many_threads_of_two_routers_see_whole_contexts_or_none) {
  const auto a = router(), b = router();
  const Follower following_a(*a), following_b(*b);
  const Pager paging_a(*a, milliseconds(1)), paging_b(*b, milliseconds(1));
  const Crowd crowd(6);
  crowd.run({a.get(), b.get()}, 150);
  EXPECT_TRUE(comes_true([&] {
    for (const Key& key : crowd.keys) static_cast<void>(a->drop(key));
    return held_by(*a) + held_by(*b) == 0;
  })) << held_by(*a)
      << " and " << held_by(*b);
  EXPECT_EQ(a->stats().damaged + b->stats().damaged, 0U);
}

}  // namespace
}  // namespace signalbox::contexts
