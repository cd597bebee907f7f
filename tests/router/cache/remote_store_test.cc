// Tests answers that several routers share: through a server that the test can break at will, and
// through real servers that are killed, stopped and full.

#include <future>
#include <map>

#include "router/cache/postgres_remote.h"
#include "router/cache/redis_remote.h"
#include "router/cache/response_cache.h"
#include "tests/router/cache/sharing.h"
#include "tests/router/postgres_process.h"
#include "tests/router/redis_process.h"

namespace signalbox::cache {
namespace {

/// The state that all routers of a test share.
struct Shared {
  std::mutex mutex;
  std::map<std::string, std::string> kept;
  std::vector<RemoteChange> log;
  std::atomic<bool> down{false};
  std::atomic<int> asked{0};
};

class FakeRemote final : public Remote {
 public:
  explicit FakeRemote(Shared& shared) : shared_(shared) {}
  Result<std::optional<std::string>> get(std::string_view id) override {
    ++shared_.asked;
    if (shared_.down) return fail(Code::kIo, "down");
    const std::lock_guard lock(shared_.mutex);
    const auto found = shared_.kept.find(std::string(id));
    if (found == shared_.kept.end()) return std::nullopt;
    return found->second;
  }
  Result<void> put(std::string_view id, std::string_view bytes, std::string_view head,
                   milliseconds) override {
    if (shared_.down) return fail(Code::kIo, "down");
    const std::lock_guard lock(shared_.mutex);
    shared_.kept[std::string(id)] = bytes;
    shared_.log.push_back({std::string(id), std::string(head)});
    return {};
  }
  Result<void> remove(std::span<const std::string> ids) override {
    if (shared_.down) return fail(Code::kIo, "down");
    const std::lock_guard lock(shared_.mutex);
    for (const std::string& id : ids) {
      shared_.kept.erase(id);
      shared_.log.push_back({id, ""});
    }
    return {};
  }
  Result<std::vector<RemoteChange>> follow(std::string& cursor, milliseconds) override {
    std::this_thread::sleep_for(milliseconds(5));
    if (shared_.down) return fail(Code::kIo, "down");
    const std::lock_guard lock(shared_.mutex);
    const size_t from = cursor.empty() ? 0 : std::stoul(cursor);
    cursor = std::to_string(shared_.log.size());
    return std::vector<RemoteChange>(shared_.log.begin() + static_cast<std::ptrdiff_t>(from),
                                     shared_.log.end());
  }
  const std::string& name() const override { return name_; }

 private:
  Shared& shared_;
  const std::string name_ = "fake";
};

TEST(RemoteStore, shares_answers_among_routers) {
  Shared shared;
  expect_sharing([&] { return std::make_unique<FakeRemote>(shared); });
}

TEST(RemoteStore, pauses_calls_to_a_failed_server_and_uses_it_again_later) {
  Shared shared;
  RemoteStore writer(std::make_unique<FakeRemote>(shared), {});
  RemoteStore store(std::make_unique<FakeRemote>(shared), {});
  FakeRemote server(shared);
  ASSERT_TRUE(writer.put(entry("a", {1, 0}), now()));
  ASSERT_TRUE(comes_true([&] { return is_kept(server, "a"); }));
  shared.down = true;
  ASSERT_TRUE(store.put(entry("b", {0, 1}), now()));
  EXPECT_TRUE(has(store, "b")) << "it waits to be written";
  for (int i = 0; i < upstream::Breaker::kFailuresMax; ++i) EXPECT_FALSE(store.find("a", now()));
  const int before = shared.asked;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(store.find("a", now()).error().code, Code::kIo);
  EXPECT_LE(shared.asked, before + 1);
  shared.down = false;
  EXPECT_TRUE(comes_true([&] { return is_kept(server, "b") && has(store, "a"); }));
}

TEST(RemoteStore, an_answer_that_has_since_disappeared_is_a_miss) {
  Shared shared;
  auto made = std::make_unique<RemoteStore>(std::make_unique<FakeRemote>(shared), MemoryLimits{});
  RemoteStore& store = *made;
  ResponseCache cache(std::move(made));
  ASSERT_TRUE(store.put(entry("a", {1, 0}), now()));
  const Key key{.partition = "00ff", .id = "other", .question = "who is a"};
  const std::vector<float> x{1, 0};
  FakeRemote server(shared);
  ASSERT_TRUE(comes_true([&] { return is_kept(server, "a"); }));
  EXPECT_TRUE(comes_true([&] { return bool(cache.find_near(key, x, 0.9, now())); }));
  {
    const std::lock_guard lock(shared.mutex);
    shared.kept.clear();
  }
  EXPECT_FALSE(cache.find_near(key, x, 0.9, now()));
}

TEST(RemoteStore, survives_invalid_entries_of_other_writers) {
  Shared shared;
  shared.kept["a"] = "what is this";
  shared.log = {{"a", "what is this"}, {"", ""}, {"b", std::string(4, '\1')}};
  RemoteStore store(std::make_unique<FakeRemote>(shared), {});
  EXPECT_FALSE(store.find("a", now()));
  ASSERT_TRUE(store.put(entry("c", {1, 0}), now()));
  EXPECT_TRUE(comes_true([&] { return has(store, "c"); }));
  EXPECT_EQ(store.figures().entries, 1U);
}

// --- real servers ---

/// A test that is patient with look-ups is patient with writes, too.
milliseconds write_limit(milliseconds look_up_limit) {
  return std::max(look_up_limit, milliseconds(1000));
}

class Redis {
 public:
  explicit Redis(bool is_secure = false) : process_(is_secure) {}
  static std::string missing() { return test::RedisProcess::missing(); }
  void start() { process_.start({"--maxmemory", "8mb"}); }
  std::unique_ptr<Remote> remote(milliseconds look_up_limit = milliseconds(100)) const {
    return make_redis_remote({.server = process_.address(),
                              .look_up_limit = look_up_limit,
                              .write_limit = write_limit(look_up_limit)});
  }
  test::ServerProcess& server() { return process_.server(); }

 private:
  test::RedisProcess process_;
};

struct SecureRedis final : Redis {
  static std::string missing() { return test::RedisProcess::missing(true); }
  SecureRedis() : Redis(true) {}
};

class Postgres {
 public:
  static std::string missing() { return test::PostgresProcess::missing(); }
  void start() { process_.start(); }
  std::unique_ptr<Remote> remote(milliseconds look_up_limit = milliseconds(100),
                                 std::string table = "signalbox_answers") const {
    return *make_postgres_remote({.server = process_.address(),
                                  .table = std::move(table),
                                  .read_limit = look_up_limit,
                                  .write_limit = write_limit(look_up_limit)});
  }
  test::ServerProcess& server() { return process_.server(); }
  test::PostgresProcess& process() { return process_; }

 private:
  test::PostgresProcess process_;
};

template <class Server>
class RealServer : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = Server::missing(); !missing.empty()) GTEST_SKIP() << missing;
    site_ = std::make_unique<Server>();
    site_->start();
  }
  std::unique_ptr<Server> site_;
};
using Servers = testing::Types<Redis, SecureRedis, Postgres>;
TYPED_TEST_SUITE(RealServer, Servers, );

TYPED_TEST(RealServer, shares_answers_among_routers) {
  expect_sharing([&] { return this->site_->remote(); });
}

TYPED_TEST(RealServer, a_killed_server_causes_misses_and_is_used_again_later) {
  // The writer is a separate store, because a store also finds its own pending writes.
  RemoteStore writer(this->site_->remote(), {}), store(this->site_->remote(), {});
  const auto server = this->site_->remote(kPatient);
  ASSERT_TRUE(writer.put(entry("a", {1, 0}), now()));
  ASSERT_TRUE(comes_true([&] { return is_kept(*server, "a"); }));
  this->site_->server().end();
  EXPECT_FALSE(store.find("a", now()));
  ASSERT_TRUE(store.put(entry("b", {0, 1}), now()));
  this->site_->start();
  EXPECT_TRUE(comes_true([&] { return is_kept(*server, "b") && has(store, "b"); }));
}

TYPED_TEST(RealServer, a_stopped_server_delays_no_search_beyond_the_limit) {
  // The writer is a separate store, because a store also finds its own pending writes.
  RemoteStore writer(this->site_->remote(), {}), store(this->site_->remote(), {});
  const auto server = this->site_->remote(kPatient);
  ASSERT_TRUE(writer.put(entry("a", {1, 0}), now()));
  ASSERT_TRUE(comes_true([&] { return is_kept(*server, "a"); }));
  this->site_->server().signal(SIGSTOP);
  const TimePoint began = now();
  int failed = 0;
  for (int i = 0; i < 50; ++i) failed += store.find("a", now()) ? 0 : 1;
  const auto took = now() - began;
  this->site_->server().signal(SIGCONT);
  EXPECT_EQ(failed, 50);
  EXPECT_LT(took, seconds(5)) << "three of 100 ms each, and what connecting again takes";
  EXPECT_TRUE(comes_true([&] { return has(store, "a"); }));
}

TEST(RealRedis, a_full_server_loses_only_answers_that_do_not_fit) {
  if (!Redis::missing().empty()) GTEST_SKIP() << Redis::missing();
  Redis site;
  site.start();
  RemoteStore store(site.remote(), {});
  const auto server = site.remote(kPatient);
  ASSERT_TRUE(store.put(entry("a", {1, 0}), now()));
  ASSERT_TRUE(comes_true([&] { return is_kept(*server, "a"); }));
  Entry large = entry("large", {0, 1}, std::string(20 << 20, 'x'));
  large.expires = now() + seconds(2);
  ASSERT_TRUE(store.put(std::move(large), now()));
  ASSERT_TRUE(store.put(entry("b", {0, 1}), now()));
  EXPECT_TRUE(comes_true([&] { return is_kept(*server, "a") && is_kept(*server, "b"); }));
  EXPECT_FALSE(has(store, "large"));
}

TEST(RealPostgres, many_routers_that_start_at_once_create_one_table) {
  if (!Postgres::missing().empty()) GTEST_SKIP() << Postgres::missing();
  Postgres site;
  site.start();
  ASSERT_TRUE(comes_true([&] { return site.remote(kPatient, "warmed_up")->get("x").has_value(); }));
  for (int round = 0; round < 10; ++round) {
    std::vector<std::future<std::string>> routers;
    for (int i = 0; i < 8; ++i) {
      routers.push_back(std::async(std::launch::async, [&] {
        const auto put = site.remote(kPatient, fmt::format("answers_{}", round))
                             ->put("a", "bytes", "head", seconds(60));
        return put ? "" : put.error().message;
      }));
    }
    for (auto& router : routers) EXPECT_EQ(router.get(), "");
  }
}

TEST(RealPostgres, answers_while_its_disk_is_full_and_gets_waiting_entries_afterwards) {
  if (!Postgres::missing().empty()) GTEST_SKIP() << Postgres::missing();
  Postgres site;
  if (const std::string missing = site.process().add_small_disk(); !missing.empty())
    GTEST_SKIP() << missing;
  site.start();
  RemoteStore store(site.remote(), {});
  const auto server = site.remote(kPatient);
  ASSERT_TRUE(store.put(entry("a", {1, 0}), now()));
  ASSERT_TRUE(comes_true([&] { return is_kept(*server, "a"); }));
  std::string noise;  // incompressible
  for (uint32_t i = 1; noise.size() < 300'000; ++i) noise += std::to_string(i * 2654435761U);
  ASSERT_TRUE(site.process().disk().fill());
  const auto refused = server->put("refused", noise, "head", seconds(60));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("No space left on device"), std::string::npos)
      << refused.error().message;
  ASSERT_TRUE(store.put(entry("b", {0, 1}, noise), now()));
  ASSERT_TRUE(store.put(entry("c", {0, 1}), now()));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(has(store, "b") && has(store, "c")) << "they wait to be written";
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(comes_true([&] { return has(store, "a"); })) << "it can be read";
  EXPECT_FALSE(is_kept(*server, "b"));
  site.process().disk().make_room();
  EXPECT_TRUE(comes_true([&] { return is_kept(*server, "b") && is_kept(*server, "c"); }));
}

TEST(PostgresRemote, refuses_an_invalid_table_name) {
  EXPECT_EQ(make_postgres_remote({.table = "x; drop table y"}).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace signalbox::cache
