// Tests the keys that several routers share over a real Redis, which stops, loses its data, or
// comes back with an older state.

#include "router/shared_keys/shared_keys.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/sha256.h"
#include "router/shared_keys/redis_keys.h"
#include "tests/router/two_sites.h"

namespace signalbox::shared_keys {
namespace {

using Keys = std::vector<config::ClientKey>;
using std::chrono::milliseconds;
using test::kWithin;
using test::wait_for;

constexpr milliseconds kGrace{200};

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
  explicit Site(const test::RedisProcess& redis, milliseconds age_max = std::chrono::hours(1))
      : keys(server_of(redis), {.keys_age_max = age_max, .grace = kGrace, .change = kWithin}) {}

  static std::unique_ptr<KeyServer> server_of(const test::RedisProcess& redis) {
    RedisOptions options{.server = redis.address(), .grace = kGrace};
    options.server.connect_limit = options.limit = kWithin;
    return make_redis_keys(options);
  }
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

class SharedKeysTest : public test::TwoSites<Site> {
 protected:
  void lose_server() {
    redis_.server().end();
    EXPECT_EQ(a_->names(), "error");
    EXPECT_EQ(b_->names(), "error");
  }
};

TEST_F(SharedKeysTest, a_change_of_one_router_is_known_to_the_other) {
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

TEST_F(SharedKeysTest, simultaneous_changes_are_not_lost) {
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

TEST_F(SharedKeysTest, while_the_server_is_away_known_keys_stay_and_no_key_is_changed) {
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
  redis_.start();
  EXPECT_EQ(b_->names(), "bob");
  EXPECT_TRUE(b_->keys.stats().works);
}

TEST_F(SharedKeysTest, keys_that_are_too_old_are_refused) {
  a_->change(adding("ann"));
  Site brief(redis_, milliseconds(1));
  EXPECT_EQ(brief.names(), "ann");
  wait_for([&] { return brief.keys.known() == nullptr; });
  EXPECT_EQ(brief.names(), "ann");
}

TEST_F(SharedKeysTest, an_empty_server_gets_the_latest_keys_that_a_router_knows) {
  a_->change(adding("ann"));
  EXPECT_EQ(b_->names(), "ann");
  a_->change(removing("ann"));
  a_->change(adding("bob"));  // b does not know
  lose_server();
  redis_.start();
  EXPECT_EQ(b_->names(), "ann") << "nobody else was there yet";
  EXPECT_EQ(a_->names(), "bob");
  EXPECT_EQ(b_->names(), "bob") << "a revoked key does not come back";
  b_->change(adding("cid"));
  EXPECT_EQ(a_->names(), "bob cid");
}

TEST_F(SharedKeysTest, the_latest_keys_win_if_routers_restore_at_once) {
  for (int i = 0; i < 20; ++i) {
    const std::string latest = fmt::format("k{}", i);
    a_->change([&](Keys& keys) -> Result<void> {
      keys.clear();
      return adding(latest)(keys);
    });
    ask({"DEL", "signalbox:keys:set", "signalbox:keys:restored"});
    std::thread first([&] { a_->names(); }), second([&] { b_->names(); });
    first.join();
    second.join();
    EXPECT_EQ(a_->names(), latest);
    EXPECT_EQ(b_->names(), latest);
    ask({"DEL", "signalbox:keys:restored"});
  }
}

TEST_F(SharedKeysTest, restored_keys_are_not_changed_before_others_have_seen_them) {
  a_->change(adding("ann"));
  EXPECT_EQ(b_->names(), "ann");
  a_->change(adding("bob"));  // b does not know
  lose_server();
  redis_.start();
  std::thread change([&] { b_->change(adding("cid")); });  // restores what b knows, and waits
  wait_for([&] {
    return client_->run({"EXISTS", "signalbox:keys:restored"}, kWithin)->number == 1;
  });
  EXPECT_EQ(a_->names(), "ann bob");
  change.join();
  EXPECT_EQ(a_->names(), "ann bob cid");
}

TEST_F(SharedKeysTest, an_older_state_of_the_server_is_replaced) {
  a_->change(adding("ann"));
  const auto old = client_->run({"DUMP", "signalbox:keys:set"}, kWithin);
  ASSERT_TRUE(old);
  a_->change(removing("ann"));
  EXPECT_EQ(b_->names(), "");
  ask({"RESTORE", "signalbox:keys:set", "0", old->text, "REPLACE"});
  EXPECT_EQ(b_->names(), "");
  Site c(redis_);
  EXPECT_EQ(c.names(), "") << "the key stays revoked";
}

// A command knows no keys, and may come before the routers have read the server that came back.
TEST_F(SharedKeysTest, a_server_that_was_started_again_is_not_changed_before_routers_have_seen_it) {
  a_->change(adding("ann"));
  const auto old = client_->run({"DUMP", "signalbox:keys:set"}, kWithin);
  ASSERT_TRUE(old);
  a_->change(removing("ann"));
  lose_server();
  redis_.start();
  ask({"RESTORE", "signalbox:keys:set", "0", old->text});
  Site fresh(redis_);
  std::thread change([&] { fresh.change(adding("bob")); });
  wait_for([&] {
    return client_->run({"EXISTS", "signalbox:keys:restored"}, kWithin)->number == 1 ||
           client_->run({"HGET", "signalbox:keys:set", "version"}, kWithin)->text == "2";
  });
  EXPECT_EQ(a_->names(), "") << "a revoked key does not come back";
  change.join();
  EXPECT_EQ(a_->names(), "bob");
}

TEST_F(SharedKeysTest, a_server_that_was_started_again_with_its_keys_is_changed_after_a_moment) {
  a_->change(adding("ann"));
  const auto kept = client_->run({"DUMP", "signalbox:keys:set"}, kWithin);
  ASSERT_TRUE(kept);
  lose_server();
  redis_.start();
  ask({"RESTORE", "signalbox:keys:set", "0", kept->text});
  b_->change(adding("bob"));
  a_->change(adding("cid"));
  EXPECT_EQ(b_->names(), "ann bob cid");
}

TEST_F(SharedKeysTest, a_new_set_of_keys_waits_for_routers_that_know_an_older_one) {
  a_->change(adding("ann"));
  lose_server();
  redis_.start();
  Site fresh(redis_);  // such as a command
  std::thread change([&] { fresh.change(adding("bob")); });
  EXPECT_EQ(a_->names(), "ann");
  change.join();
  EXPECT_EQ(a_->names(), "ann bob");
}

TEST_F(SharedKeysTest, a_damaged_set_of_keys_changes_nothing) {
  a_->change(adding("ann"));
  const auto expect_refused = [&](std::string_view field, std::string_view value) {
    const auto before = client_->run({"DUMP", "signalbox:keys:set"}, kWithin);
    ask({"HSET", "signalbox:keys:set", field, value});
    const auto read = a_->keys.read();
    ASSERT_FALSE(read) << field;
    EXPECT_EQ(read.error().code, Code::kCorrupt) << read.error().message;
    EXPECT_EQ(a_->keys.change(adding("bob")).error().code, Code::kCorrupt);
    EXPECT_EQ(Site::names_of(*a_->keys.known()), "ann");
    ask({"RESTORE", "signalbox:keys:set", "0", before->text, "REPLACE"});
  };
  expect_refused("digest", "0");
  expect_refused("version", "none");
  expect_refused("version", "-1");
  expect_refused("version", "01");
  expect_refused("version", "0");
  expect_refused("version", "18446744073709551615");  // the next one would be 0
  expect_refused("epoch", "");
  const std::string wrong = R"({"keys": [{"name": "x", "hash": "sb-secret"}]})";
  ask({"HSET", "signalbox:keys:set", "digest", sha256_hex(wrong)});
  expect_refused("text", wrong);
  EXPECT_EQ(a_->keys.stats().trouble.find("sb-secret"), std::string::npos) << "it reaches the log";
  ask({"SET", "signalbox:keys:set", "another type"});
  EXPECT_EQ(a_->names(), "error");
  EXPECT_EQ(Site::names_of(*a_->keys.known()), "ann");
  ask({"DEL", "signalbox:keys:set"});
  EXPECT_EQ(a_->names(), "ann") << "who removes it gets the keys again";
}

TEST_F(SharedKeysTest, the_log_names_another_set_once_and_only_if_its_keys_count) {
  a_->change(adding("ann"));
  const auto put = [&](const std::string& text) {
    ask({"HSET", "signalbox:keys:set", "epoch", "other", "digest", sha256_hex(text), "text", text});
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
  EXPECT_EQ(a_->keys.read().error().message.find("global.access.keys_store: redis localhost:"), 0u)
      << a_->keys.read().error().message;
  put(config::keys_text({}));
  EXPECT_EQ(warnings(), 1u);
  EXPECT_EQ(a_->names(), "");
}

TEST_F(SharedKeysTest, a_full_server_refuses_and_keeps_the_keys) {
  a_->change(adding("ann"));
  ask({"CONFIG", "SET", "maxmemory", "1"});
  const auto refused = a_->keys.change(adding("bob"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUpstream);
  EXPECT_EQ(a_->names(), "ann");
  ask({"CONFIG", "SET", "maxmemory", "0"});
  a_->change(adding("bob"));
  EXPECT_EQ(b_->names(), "ann bob");
}

TEST_F(SharedKeysTest, the_login_that_the_documents_recommend_is_enough) {
  ask({"ACL", "SETUSER", "keys", "on", ">secret", "~signalbox:keys:*", "+eval", "+info", "+hmget",
       "+hget", "+hset", "+exists", "+set"});
  RedisOptions options{.server = redis_.address(), .limit = kWithin, .grace = kGrace};
  options.server.username = "keys";
  options.server.password = "secret";
  options.server.connect_limit = kWithin;
  SharedKeys keys(make_redis_keys(options), {.grace = kGrace, .change = kWithin});
  ASSERT_TRUE(keys.change(adding("ann")));
  ask({"DEL", "signalbox:keys:set"});
  const auto restored = keys.change(adding("bob"));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(a_->names(), "ann bob");
}

TEST_F(SharedKeysTest, a_change_whose_answer_is_lost_is_found_or_reported_as_not_known) {
  a_->change(adding("ann"));
  SharedKeys finds(std::make_unique<Lossy>(Site::server_of(redis_), true), {});
  const auto done = finds.change(adding("bob"));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Site::names_of(**done), "ann bob");
  SharedKeys loses(std::make_unique<Lossy>(Site::server_of(redis_), false), {});
  const auto open = loses.change(adding("cid"));
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().code, Code::kUpstream);
  EXPECT_NE(open.error().message.find("it is not known whether the keys were changed"),
            std::string::npos)
      << open.error().message;
  EXPECT_EQ(a_->names(), "ann bob cid");
}

// As after a connection that was closed before its answer came.
TEST_F(SharedKeysTest, a_change_that_is_sent_twice_counts_once) {
  const auto server = Site::server_of(redis_);
  const std::string text = config::keys_text({});
  const Stamp next{"epoch", 1, sha256_hex(text)};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(server->write({}, next, text), KeyServer::Written::kDone);
  EXPECT_EQ(server->write({}, {"other", 1, sha256_hex(text)}, text), KeyServer::Written::kChanged);
  EXPECT_EQ(server->read({})->stamp, next);
  EXPECT_FALSE(server->restore({"epoch", 1, "digest"}, text).value());
}

}  // namespace
}  // namespace signalbox::shared_keys
