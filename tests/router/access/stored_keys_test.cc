// Tests what a router does with keys in a store: who passes, also while the store is away, and what
// the audit log has of it.

#include "router/access/clients.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/router/temporary_directory.h"
#include "tests/router/two_sites.h"

namespace signalbox::access {
namespace {

using test::wait_for;

config::ClientKey named_key(std::string name, std::string_view secret) {
  config::ClientKey out;
  out.name = std::move(name);
  out.hash = hash_of(secret);
  return out;
}

class StoredClients : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = test::RedisProcess::missing(); !missing.empty())
      GTEST_SKIP() << missing;
    config_.source = folder_.path() / "config.yaml";
    config_.access.keys_store.backend = "redis";
    config_.access.keys_store.redis.host = "localhost";
    config_.access.keys_store.redis.port = redis_.server().port();
    config_.access.keys_store.redis.dial_timeout = 30;
    config_.access.keys_store.redis.read_timeout = 30;
    config_.audit.file = "audit.jsonl";
  }
  /// A router: what its configurations have in common.
  struct Site {
    explicit Site(const config::Config& config) {
      EXPECT_TRUE(log.open(config.audit, config.source));
    }
    Result<std::unique_ptr<Clients>> configure(const config::Config& config) {
      return Clients::create(config, sources, history);
    }
    audit::Log log;
    KeyHistory history{log};
    tokens::KeySources sources;
  };

  /// The name of the key, or the status and the reason of the refusal.
  static std::string sender(const Clients& clients, const std::string& secret) {
    http::Request request;
    request.method = "GET";
    request.target = "/v1/models";
    request.peer = "10.0.0.9";
    request.headers.add("x-api-key", secret);
    const auto denial = clients.identify(request, false);
    return denial ? fmt::format("{} {}", denial->status, denial->reason) : request.key->name;
  }
  size_t entries(std::string_view part) const {
    const std::string text = read_file(folder_.path() / "audit.jsonl", 1 << 20).value();
    size_t out = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++out;
    return out;
  }

  const test::TemporaryDirectory folder_;
  test::RedisProcess redis_{false};
  config::Config config_;
};

TEST_F(StoredClients,
       a_router_that_starts_without_the_store_refuses_keys_until_the_store_is_there) {
  config_.access.keys.push_back(named_key("own", "o"));
  {
    Site site(config_);
    const auto clients = site.configure(config_).value();
    EXPECT_TRUE(clients->requires_key());
    EXPECT_EQ(sender(*clients, "o"), "own");
    EXPECT_EQ(sender(*clients, "a"), "503 keys_unavailable");
    EXPECT_EQ(clients->change(adding(named_key("ann", "a"))).error().code, Code::kUpstream);
    EXPECT_EQ(clients->keys_hash(), "");
    EXPECT_TRUE(clients->awaits_keys());
    EXPECT_TRUE(site.configure(config_).value()->awaits_keys());
    redis_.start();
    wait_for([&] { return sender(*clients, "a") == "401 unknown_key"; });
    wait_for([&] { return !clients->awaits_keys(); });
    ASSERT_TRUE(clients->change(adding(named_key("ann", "a"))));
    EXPECT_EQ(sender(*clients, "a"), "ann");
    EXPECT_NE(clients->keys_hash(), "");
  }
  EXPECT_EQ(entries(R"("event":"keys_read")"), 1u);
  EXPECT_EQ(entries(R"("event":"key_added","key":"ann")"), 1u);
}

TEST_F(StoredClients, a_new_configuration_has_the_keys_of_a_store_that_is_away) {
  redis_.start();
  Site site(config_);
  auto old = site.configure(config_).value();
  ASSERT_TRUE(old->change(adding(named_key("ann", "a"))));
  redis_.server().end();
  auto next = site.configure(config_);
  ASSERT_TRUE(next) << next.error().message;
  old.reset();
  EXPECT_EQ(sender(**next, "a"), "ann");
  EXPECT_FALSE((*next)->store()->stats().works);
  config_.access.keys_store.redis.db = 1;
  const auto other = site.configure(config_);
  ASSERT_FALSE(other) << "a mistake must not take the keys from a router that works";
  EXPECT_NE(other.error().message.find("global.access.keys_store: redis localhost"),
            std::string::npos)
      << other.error().message;
}

TEST_F(StoredClients, a_router_without_the_stored_keys_accepts_a_new_configuration) {
  Site site(config_);
  auto old = site.configure(config_).value();
  config_.access.keys.push_back(named_key("own", "o"));
  auto next = site.configure(config_);
  ASSERT_TRUE(next) << next.error().message;
  old.reset();
  EXPECT_EQ(sender(**next, "o"), "own");
  EXPECT_EQ(sender(**next, "a"), "503 keys_unavailable");
  config::Config other = config_;
  other.access.keys_store.redis.db = 1;
  EXPECT_FALSE(site.configure(other)) << "it is another store";
  redis_.start();
  wait_for([&] { return sender(**next, "a") == "401 unknown_key"; });
  ASSERT_TRUE((*next)->change(adding(named_key("ann", "a"))));
  EXPECT_EQ(sender(**next, "a"), "ann");
}

TEST_F(StoredClients, keys_end_when_the_store_is_away_for_too_long) {
  redis_.start();
  config_.access.keys_store.keys_age_max = std::chrono::milliseconds(1000);
  Site site(config_);
  const auto clients = site.configure(config_).value();
  ASSERT_TRUE(clients->change(adding(named_key("ann", "a"))));
  redis_.server().end();
  wait_for([&] { return sender(*clients, "a") == "503 keys_unavailable"; });
  EXPECT_FALSE(clients->awaits_keys()) << "other routers lack them, too";
  redis_.start();
  wait_for([&] { return sender(*clients, "a") == "ann"; });
}

TEST_F(StoredClients, a_stored_key_that_clashes_with_an_own_one_hides_no_other_key) {
  redis_.start();
  config::Config plain = config_;
  config_.access.keys.push_back(named_key("own", "o"));
  plain.audit.file = "other.jsonl";
  Site site(config_), other(plain);
  const auto clients = site.configure(config_).value();
  const auto others = other.configure(plain).value();
  ASSERT_TRUE(others->change(adding(named_key("ann", "a"))));
  ASSERT_TRUE(others->change(adding(named_key("own", "b"))));
  ASSERT_TRUE(others->change(removing("ann")));
  ASSERT_TRUE(others->change(adding(named_key("cid", "c"))));
  wait_for([&] { return sender(*clients, "c") == "cid"; });
  EXPECT_EQ(sender(*clients, "a"), "401 unknown_key");
  EXPECT_EQ(sender(*clients, "b"), "401 unknown_key");
  EXPECT_EQ(sender(*clients, "o"), "own");
  EXPECT_EQ(clients->change(adding(named_key("own", "d"))).error().code, Code::kInvalid);
  const auto revoked = clients->change(removing("cid"));
  EXPECT_TRUE(revoked) << revoked.error().message;
  EXPECT_EQ(sender(*clients, "c"), "401 unknown_key");
}

TEST_F(StoredClients, the_log_of_each_router_has_each_change_once) {
  redis_.start();
  config::Config second = config_;
  second.audit.file = "other.jsonl";
  {
    Site site(config_), other(second);
    const auto clients = site.configure(config_).value();
    const auto next = site.configure(config_).value();
    const auto others = other.configure(second).value();
    ASSERT_TRUE(others->change(adding(named_key("ann", "a"))));
    ASSERT_TRUE(clients->change(adding(named_key("bob", "b"))));
    ASSERT_TRUE(others->change(removing("ann")));
    for (const auto* each : {clients.get(), next.get()})
      wait_for([&] { return sender(*each, "a") == "401 unknown_key"; });
  }
  EXPECT_EQ(entries(R"("event":"key_added","key":"bob")"), 1u);
  EXPECT_EQ(entries(R"("event":"key_removed","key":"ann")"), 1u);
  EXPECT_EQ(entries(R"("version":3)"), 1u);
}

}  // namespace
}  // namespace signalbox::access
