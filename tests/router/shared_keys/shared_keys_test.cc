// Tests the keys that several routers share over a real server, which stops, loses its data, or
// comes back with an older state.

#include "router/shared_keys/shared_keys.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "base/sha256.h"
#include "tests/router/shared_keys/key_stores.h"

namespace signalbox::shared_keys {
namespace {

using Keys = std::vector<config::ClientKey>;
using std::chrono::milliseconds;
using test::kWithin;
using test::wait_for;

SharedKeys::Change adding(std::string name) {
  return [name = std::move(name)](Keys& keys) -> Result<void> {
    config::ClientKey key;
    key.name = name;
    key.hash = "sha256:" + sha256_hex(name);
    keys.push_back(std::move(key));
    return {};
  };
}

SharedKeys::Change removing(std::string name) {
  return [name = std::move(name)](Keys& keys) -> Result<void> {
    if (std::erase_if(keys, [&](const auto& key) { return key.name == name; }) == 0)
      return fail(Code::kNotFound, "no {}", name);
    return {};
  };
}

/// A real server whose answers to changes get lost on their way, and whose set cannot be read then.
class Lossy final : public KeyServer {
 public:
  Lossy(std::unique_ptr<KeyServer> server, bool reads_after)
      : server_(std::move(server)), reads_after_(reads_after) {}
  const std::string& name() const override { return server_->name(); }
  Result<Found> read(const Stamp& known) override {
    if (has_lost_ && !reads_after_) return fail(Code::kIo, "gone");
    return server_->read(known);
  }
  Result<Written> write(const Stamp& expected, const Stamp& next,
                        const std::string& text) override {
    EXPECT_TRUE(server_->write(expected, next, text));
    has_lost_ = true;
    return fail(Code::kDeadline, "no answer in time");
  }
  Result<bool> restore(const Stamp& stamp, const std::string& text) override {
    return server_->restore(stamp, text);
  }

 private:
  const std::unique_ptr<KeyServer> server_;
  const bool reads_after_;
  bool has_lost_ = false;
};

/// A router, as far as it has keys.
struct Site {
  explicit Site(const Store& store, milliseconds age_max = std::chrono::hours(1))
      : keys(store.connect(), {.keys_age_max = age_max, .grace = kGrace, .change = kWithin}) {}

  /// The names of the keys as they are now, with blanks between them; or the error.
  std::string names() {
    const auto set = keys.read();
    return set ? names_of(**set) : "error";
  }
  static std::string names_of(const KeySet& set) {
    std::string out;
    for (const config::ClientKey& key : set.keys) out += (out.empty() ? "" : " ") + key.name;
    return out;
  }
  void change(const SharedKeys::Change& change) {
    const auto done = keys.change(change);
    ASSERT_TRUE(done) << done.error().message;
  }

  SharedKeys keys;
};

/// Two routers over one store.
class KeysTest : public testing::Test {
 protected:
  void begin(std::unique_ptr<Store> store) {
    store_ = std::move(store);
    if (const std::string missing = store_->missing(); !missing.empty()) GTEST_SKIP() << missing;
    store_->start();
    a_ = std::make_unique<Site>(*store_);
    b_ = std::make_unique<Site>(*store_);
  }
  void lose_server() {
    store_->end();
    EXPECT_EQ(a_->names(), "error");
    EXPECT_EQ(b_->names(), "error");
  }
  void expect_refused(std::string_view field, std::string_view value) {
    store_->save();
    store_->set(field, value);
    const auto read = a_->keys.read();
    ASSERT_FALSE(read) << field;
    EXPECT_EQ(read.error().code, Code::kCorrupt) << read.error().message;
    EXPECT_EQ(a_->keys.change(adding("bob")).error().code, Code::kCorrupt);
    EXPECT_EQ(Site::names_of(*a_->keys.known()), "ann");
    store_->put_back();
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Site> a_, b_;
};

class SharedKeysTest : public KeysTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string_view("redis")) return begin(std::make_unique<RedisStore>());
    begin(std::make_unique<PostgresStore>());
  }
};
INSTANTIATE_TEST_SUITE_P(Stores, SharedKeysTest, testing::Values("redis", "postgres"),
                         [](const auto& name) { return std::string(name.param); });

class KeysInRedis : public KeysTest {
 protected:
  void SetUp() override {
    auto store = std::make_unique<RedisStore>();
    redis_ = store.get();
    begin(std::move(store));
  }
  RedisStore* redis_ = nullptr;
};

class KeysInPostgres : public KeysTest {
 protected:
  void SetUp() override {
    auto store = std::make_unique<PostgresStore>();
    postgres_ = store.get();
    begin(std::move(store));
  }
  PostgresStore* postgres_ = nullptr;
};

TEST_P(SharedKeysTest, a_change_of_one_router_is_known_to_the_other) {
  EXPECT_EQ(a_->names(), "");
  EXPECT_EQ(a_->keys.known()->stamp.version, 0u);
  a_->change(adding("ann"));
  EXPECT_EQ(b_->names(), "ann");
  b_->change(adding("bob"));
  b_->change(removing("ann"));
  EXPECT_EQ(a_->names(), "bob");
  EXPECT_EQ(a_->keys.known()->stamp.version, 3u);
  EXPECT_EQ(a_->keys.change(removing("ann")).error().code, Code::kNotFound);
  const KeySetPointer before = a_->keys.known();
  EXPECT_EQ(*a_->keys.read(), before) << "what has not changed is not read again";
}

TEST_P(SharedKeysTest, simultaneous_changes_are_not_lost) {
  constexpr int kEach = 10;
  const auto change = [&](Site& site, std::string_view prefix) {
    for (int i = 0; i < kEach; ++i) site.change(adding(fmt::format("{}{}", prefix, i)));
  };
  std::thread first([&] { change(*a_, "a"); }), second([&] { change(*b_, "b"); });
  first.join();
  second.join();
  EXPECT_EQ(a_->keys.read().value()->keys.size(), size_t{2 * kEach});
  EXPECT_EQ(a_->names(), b_->names());
  EXPECT_EQ(a_->keys.known()->stamp.version, uint64_t{2 * kEach});
}

TEST_P(SharedKeysTest, while_the_server_is_away_known_keys_stay_and_no_key_is_changed) {
  a_->change(adding("ann"));
  b_->change(removing("ann"));
  a_->change(adding("bob"));
  EXPECT_EQ(b_->names(), "bob");
  lose_server();
  EXPECT_EQ(Site::names_of(*b_->keys.known()), "bob");
  EXPECT_FALSE(b_->keys.stats().works);
  EXPECT_NE(b_->keys.stats().trouble, "");
  const auto refused = b_->keys.change(removing("bob"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUpstream);
  EXPECT_EQ(refused.error().message.find("not known"), std::string::npos) << "it was not sent";
  store_->start();
  EXPECT_EQ(b_->names(), "bob");
  EXPECT_TRUE(b_->keys.stats().works);
}

TEST_P(SharedKeysTest, keys_that_are_too_old_are_refused) {
  a_->change(adding("ann"));
  Site brief(*store_, milliseconds(1));
  EXPECT_EQ(brief.names(), "ann");
  wait_for([&] { return brief.keys.known() == nullptr; });
  EXPECT_EQ(brief.names(), "ann");
}

TEST_P(SharedKeysTest, an_empty_server_gets_the_latest_keys_that_a_router_knows) {
  a_->change(adding("ann"));
  EXPECT_EQ(b_->names(), "ann");
  a_->change(removing("ann"));
  a_->change(adding("bob"));  // b does not know
  lose_server();
  store_->start();
  EXPECT_EQ(b_->names(), "ann") << "nobody else was there yet";
  EXPECT_EQ(a_->names(), "bob");
  EXPECT_EQ(b_->names(), "bob") << "a revoked key does not come back";
  b_->change(adding("cid"));
  EXPECT_EQ(a_->names(), "bob cid");
}

TEST_P(SharedKeysTest, the_latest_keys_win_if_routers_restore_at_once) {
  for (int i = 0; i < 20; ++i) {
    const std::string latest = fmt::format("k{}", i);
    a_->change([&](Keys& keys) -> Result<void> {
      keys.clear();
      return adding(latest)(keys);
    });
    store_->remove();
    store_->end_quiet();
    std::thread first([&] { a_->names(); }), second([&] { b_->names(); });
    first.join();
    second.join();
    EXPECT_EQ(a_->names(), latest);
    EXPECT_EQ(b_->names(), latest);
    store_->end_quiet();
  }
}

TEST_P(SharedKeysTest, restored_keys_are_not_changed_before_others_have_seen_them) {
  a_->change(adding("ann"));
  EXPECT_EQ(b_->names(), "ann");
  a_->change(adding("bob"));  // b does not know
  lose_server();
  store_->start();
  std::thread change([&] { b_->change(adding("cid")); });  // restores what b knows, and waits
  wait_for([&] { return store_->is_quiet(); });
  EXPECT_EQ(a_->names(), "ann bob");
  change.join();
  EXPECT_EQ(a_->names(), "ann bob cid");
}

TEST_P(SharedKeysTest, an_older_state_of_the_server_is_replaced) {
  a_->change(adding("ann"));
  store_->save();
  a_->change(removing("ann"));
  EXPECT_EQ(b_->names(), "");
  store_->put_back();
  EXPECT_EQ(b_->names(), "");
  Site c(*store_);
  EXPECT_EQ(c.names(), "") << "the key stays revoked";
}

// A command knows no keys, and may come before the routers have read the server that came back.
TEST_P(SharedKeysTest, a_server_that_was_started_again_is_not_changed_before_routers_have_seen_it) {
  a_->change(adding("ann"));
  store_->save();
  a_->change(removing("ann"));
  lose_server();
  store_->start();
  store_->put_back();
  Site fresh(*store_);
  std::thread change([&] { fresh.change(adding("bob")); });
  wait_for([&] { return store_->is_quiet() || store_->version() == "2"; });
  EXPECT_EQ(a_->names(), "") << "a revoked key does not come back";
  change.join();
  EXPECT_EQ(a_->names(), "bob");
}

TEST_P(SharedKeysTest, a_server_that_was_started_again_with_its_keys_is_changed_after_a_moment) {
  a_->change(adding("ann"));
  store_->save();
  lose_server();
  store_->start();
  store_->put_back();
  b_->change(adding("bob"));
  a_->change(adding("cid"));
  EXPECT_EQ(b_->names(), "ann bob cid");
}

TEST_P(SharedKeysTest, a_new_set_of_keys_waits_for_routers_that_know_an_older_one) {
  a_->change(adding("ann"));
  lose_server();
  store_->start();
  Site fresh(*store_);  // such as a command
  std::thread change([&] { fresh.change(adding("bob")); });
  EXPECT_EQ(a_->names(), "ann");
  change.join();
  EXPECT_EQ(a_->names(), "ann bob");
}

TEST_P(SharedKeysTest, a_damaged_set_of_keys_changes_nothing) {
  a_->change(adding("ann"));
  expect_refused("digest", "0");
  const std::string wrong = R"({"keys": [{"name": "x", "hash": "sb-secret"}]})";
  store_->set("digest", sha256_hex(wrong));
  expect_refused("keys", wrong);
  EXPECT_EQ(a_->keys.stats().trouble.find("sb-secret"), std::string::npos) << "it reaches the log";
  store_->remove();
  EXPECT_EQ(a_->names(), "ann") << "who removes it gets the keys again";
  const std::string large(kTextBytesMax + 1, ' ');
  store_->set("digest", sha256_hex(large));
  expect_refused("keys", large);
}

TEST_F(KeysInRedis, change_nothing_if_their_form_is_another) {
  a_->change(adding("ann"));
  expect_refused("version", "none");
  expect_refused("version", "-1");
  expect_refused("version", "01");
  expect_refused("version", "0");
  expect_refused("version", "18446744073709551615");  // the next one would be 0
  expect_refused("epoch", "");
  redis_->ask({"SET", "signalbox:keys:set", "another type"});
  EXPECT_EQ(a_->names(), "error");
  EXPECT_EQ(Site::names_of(*a_->keys.known()), "ann");
  store_->remove();
  EXPECT_EQ(a_->names(), "ann");
}

TEST_P(SharedKeysTest, the_log_names_another_set_once_and_only_if_its_keys_count) {
  a_->change(adding("ann"));
  const auto put = [&](const std::string& text) {
    store_->set("epoch", "other");
    store_->set("digest", sha256_hex(text));
    store_->set("keys", text);
  };
  const auto warnings = [&] {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) a_->names();
    const std::string log = testing::internal::GetCapturedStderr();
    size_t out = 0;
    for (size_t at = 0;
         (at = log.find("the keys that this router knew before", at)) != std::string::npos; ++at)
      ++out;
    return out;
  };
  put("nonsense");
  EXPECT_EQ(warnings(), 0u);
  EXPECT_EQ(Site::names_of(*a_->keys.known()), "ann");
  EXPECT_EQ(a_->keys.read().error().message.find("global.access.keys_store: " + a_->keys.name()),
            0u)
      << a_->keys.read().error().message;
  put(config::keys_text({}));
  EXPECT_EQ(warnings(), 1u);
  EXPECT_EQ(a_->names(), "");
}

TEST_F(KeysInRedis, stay_as_they_are_at_a_server_that_is_full) {
  a_->change(adding("ann"));
  redis_->ask({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = a_->keys.change(adding("bob"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUpstream);
  EXPECT_EQ(a_->names(), "ann");
  redis_->ask({"CONFIG", "SET", "maxmemory", "0"});
  a_->change(adding("bob"));
  EXPECT_EQ(b_->names(), "ann bob");
}

TEST_F(KeysInRedis, need_no_more_than_the_login_of_the_documents) {
  redis_->ask({"ACL", "SETUSER", "keys", "on", ">secret", "~signalbox:keys:*", "+eval", "+info",
               "+hmget", "+hget", "+hset", "+exists", "+set"});
  RedisOptions options = redis_->options();
  options.server.username = "keys";
  options.server.password = "secret";
  SharedKeys keys(make_redis_keys(options), {.grace = kGrace, .change = kWithin});
  ASSERT_TRUE(keys.change(adding("ann")));
  store_->remove();
  const auto restored = keys.change(adding("bob"));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(a_->names(), "ann bob");
}

TEST_F(KeysInPostgres, need_no_more_than_the_login_of_the_documents) {
  a_->change(adding("ann"));
  postgres_->ask("DROP ROLE IF EXISTS keys");
  postgres_->ask("CREATE ROLE keys LOGIN");
  postgres_->ask("GRANT SELECT, INSERT, UPDATE ON signalbox_keys TO keys");
  PostgresOptions options = postgres_->options();
  options.server.user = "keys";
  SharedKeys keys(*make_postgres_keys(options), {.grace = kGrace, .change = kWithin});
  const auto changed = keys.change(adding("bob"));
  ASSERT_TRUE(changed) << changed.error().message;
  store_->remove();
  const auto restored = keys.change(adding("cid"));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(a_->names(), "ann bob cid");
  postgres_->ask("DROP TABLE signalbox_keys");
  const auto refused = keys.read();
  ASSERT_FALSE(refused) << "it cannot make the table";
  EXPECT_EQ(Site::names_of(*keys.known()), "ann bob cid");
  EXPECT_EQ(a_->names(), "ann bob cid");
  postgres_->ask("DROP OWNED BY keys");
  postgres_->ask("DROP ROLE keys");
}

TEST_F(KeysInPostgres, are_put_into_a_new_table_if_theirs_is_gone) {
  a_->change(adding("ann"));
  postgres_->ask("DROP TABLE signalbox_keys");
  EXPECT_EQ(a_->names(), "ann");
  EXPECT_EQ(Site(*store_).names(), "ann");
  postgres_->ask("DROP TABLE signalbox_keys");
  postgres_->ask("CREATE TABLE signalbox_keys (id integer, epoch text)");
  const auto refused = a_->keys.read();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUpstream);
  EXPECT_EQ(Site::names_of(*a_->keys.known()), "ann");
}

TEST_F(KeysInPostgres, stay_as_they_are_at_a_server_that_must_not_write) {
  a_->change(adding("ann"));
  postgres_->ask("ALTER ROLE tester SET default_transaction_read_only = on");
  // The setting is one of new connections, and stores with the same login share theirs.
  PostgresOptions options = postgres_->options();
  options.server.ssl_mode = "allow";
  SharedKeys fresh(*make_postgres_keys(options), {.grace = kGrace, .change = kWithin});
  const auto refused = fresh.change(adding("bob"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("read-only transaction"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(refused.error().message.find("not known"), std::string::npos) << "it did nothing";
  EXPECT_EQ(Site::names_of(*fresh.known()), "ann");
  postgres_->ask("ALTER ROLE tester RESET default_transaction_read_only");
  EXPECT_TRUE(fresh.change(adding("bob")));
  EXPECT_EQ(a_->names(), "ann bob") << "a new connection reaches the server that may write";
}

TEST_F(KeysInPostgres, wait_for_a_lock_no_longer_than_their_limit) {
  a_->change(adding("ann"));
  PostgresOptions options = postgres_->options();
  options.read_limit = options.write_limit = milliseconds(200);
  options.server.statement_max = milliseconds(1000);
  SharedKeys brief(*make_postgres_keys(options), {.grace = kGrace, .change = kWithin});
  ASSERT_TRUE(brief.read());
  options.server.ssl_mode = "allow";  // with connections of its own
  const auto other = *stores::make_postgres(options.server, {"signalbox_keys", {}});
  ASSERT_TRUE(other->run("BEGIN", {}, kWithin));  // its only connection is kept
  ASSERT_TRUE(other->run("LOCK TABLE signalbox_keys", {}, kWithin));
  const auto late = brief.read();
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("no answer in time"), std::string::npos);
  EXPECT_EQ(Site::names_of(*brief.known()), "ann");
  wait_for([&] {  // the server ends what nobody waits for
    return postgres_->text(
               "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = "
               "'Lock'") == "0";
  });
  ASSERT_TRUE(other->run("ROLLBACK", {}, kWithin));
  EXPECT_TRUE(brief.read());
}

// A pool gives the server's connections to other clients.
TEST_F(KeysInPostgres, leave_no_time_limit_on_a_connection) {
  EXPECT_EQ(postgres_->text("SELECT current_setting('statement_timeout')"), "10s");
  postgres_->ask(
      "DO $$BEGIN COMMIT; IF current_setting('statement_timeout') <> '0' THEN RAISE 'it stays'; "
      "END IF; END$$");
}

TEST_F(KeysInPostgres, are_awaited_through_signals) {
  struct sigaction handler {
  }, before{};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);
  std::atomic<bool> done{false};
  std::thread waiter([&] {
    postgres_->ask("SELECT pg_sleep(0.3)");
    done = true;
  });
  while (!done) {
    pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(milliseconds(1));
  }
  waiter.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(KeysInPostgres, have_a_table_with_a_plain_name) {
  PostgresOptions options = postgres_->options();
  options.table = "x; drop table y";
  EXPECT_EQ(make_postgres_keys(options).error().code, Code::kInvalid);
}

TEST_P(SharedKeysTest, a_change_whose_answer_is_lost_is_found_or_reported_as_not_known) {
  a_->change(adding("ann"));
  SharedKeys finds(std::make_unique<Lossy>(store_->connect(), true), {});
  const auto done = finds.change(adding("bob"));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Site::names_of(**done), "ann bob");
  SharedKeys loses(std::make_unique<Lossy>(store_->connect(), false), {});
  const auto open = loses.change(adding("cid"));
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, Code::kUpstream);
  EXPECT_NE(open.error().message.find("it is not known whether the keys were changed"),
            std::string::npos)
      << open.error().message;
  EXPECT_EQ(a_->names(), "ann bob cid");
}

// As after a connection that was closed before its answer came.
TEST_P(SharedKeysTest, a_change_that_is_sent_twice_counts_once) {
  const auto server = store_->connect();
  const std::string text = config::keys_text({});
  const Stamp next{"epoch", 1, sha256_hex(text)};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(server->write({}, next, text), KeyServer::Written::kDone);
  EXPECT_EQ(server->write({}, {"other", 1, sha256_hex(text)}, text), KeyServer::Written::kChanged);
  EXPECT_EQ(server->read({})->stamp, next);
  EXPECT_FALSE(server->restore({"epoch", 1, "digest"}, text).value());
}

}  // namespace
}  // namespace signalbox::shared_keys
