// Tests the file of keys and what the gate makes of a request.

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "router/access/clients.h"
#include "tests/router/temporary_directory.h"

namespace signalbox::access {
namespace {

config::ClientKey key_of(std::string name, std::string_view secret) {
  config::ClientKey out;
  out.name = std::move(name);
  out.hash = hash_of(secret);
  return out;
}

http::Request request_of(std::initializer_list<std::pair<const char*, const char*>> headers,
                         std::string peer = "10.0.0.9") {
  http::Request out;
  out.method = "GET";
  out.target = "/v1/models";
  out.peer = std::move(peer);
  for (const auto& [name, value] : headers) out.headers.add(name, value);
  return out;
}

KeyHistory& no_audit() {
  static audit::Log log;
  static KeyHistory history{log};
  return history;
}

tokens::KeySources& sources() {
  static tokens::KeySources all;
  return all;
}

std::unique_ptr<Clients> clients_of(config::Config config) {
  auto out = Clients::create(config, sources(), no_audit());
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *std::move(out) : nullptr;
}

config::Config with_key(config::ClientKey key) {
  config::Config out;
  out.access.keys.push_back(std::move(key));
  return out;
}

TEST(Times, only_complete_times_are_read) {
  EXPECT_EQ(config::parse_time("1970-01-02"), 86'400);
  EXPECT_EQ(config::parse_time("2027-01-31T12:00:05Z"), 1'801'396'805);
  for (const char* wrong : {"", "2027-02-30", "2027-1-31", "2027-01-31T24:00:00Z", "31.01.2027",
                            "2027-01-31T12:00:05", "2027-01-31 12:00:05Z"})
    EXPECT_EQ(config::parse_time(wrong), std::nullopt) << wrong;
}

TEST(Networks, contain_their_addresses) {
  const auto contains = [](const char* network, const char* address) {
    const auto parsed = config::parse_network(network);
    return parsed && parsed->contains(address);
  };
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.0.1"));
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.1"));
  EXPECT_TRUE(contains("127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(contains("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(contains("fd00::/9", "fd7f::1"));
  EXPECT_FALSE(contains("fd00::/9", "fd80::1"));
  EXPECT_TRUE(contains("0.0.0.0/0", "1.2.3.4"));
  EXPECT_FALSE(contains("0.0.0.0/0", "nonsense"));
  for (const char* wrong : {"", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "10.0.0.0/8x"})
    EXPECT_EQ(config::parse_network(wrong), std::nullopt) << wrong;
}

TEST(KeyFile, keeps_added_keys) {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "deep" / "keys.json";
  config::ClientKey key = key_of("ann \"x\"", "secret");
  key.user = "anna";
  key.groups = {"g", "h"};
  key.models = {"m"};
  key.recipes = {"default"};
  key.expires = "2027-01-31";
  key.limits.resize(1);
  key.limits[0].tokens_per_unit = 7;
  key.limits[0].unit = std::chrono::hours(1);
  ASSERT_TRUE(change_keys(file, adding(key)));
  ASSERT_TRUE(change_keys(file, adding(key_of("bob", "other"))));
  EXPECT_EQ(change_keys(file, adding(key)).error().code, Code::kInvalid);
  const auto copy = change_keys(file, adding(key_of("copy", "other")));
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().code, Code::kInvalid);
  EXPECT_EQ(copy.error().message, R"(the keys "bob" and "copy" have the same hash)");
  for (const char* name : {".", ".."})
    EXPECT_EQ(change_keys(file, adding(key_of(name, name))).error().code, Code::kInvalid);
  auto read = read_keys(file);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(config::keys_text({read->front()}), config::keys_text({key}));
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ASSERT_TRUE(change_keys(file, removing("bob")));
  EXPECT_EQ(change_keys(file, removing("bob")).error().code, Code::kNotFound);
  EXPECT_EQ(read_keys(file)->size(), 1U);
}

TEST(KeyFile, changes_of_several_processes_do_not_lose_one_another) {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "keys.json";
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&file, i] {
      for (int j = 0; j < 5; ++j) {
        const std::string name = fmt::format("{}-{}", i, j);
        EXPECT_TRUE(change_keys(file, adding(key_of(name, name))));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_keys(file)->size(), 20U);
}

TEST(KeyFile, logs_each_change_once_whichever_configuration_reads_it) {
  const test::TemporaryDirectory folder;
  config::Config config;
  config.source = folder.path() / "config.yaml";
  config.access.keys_file = "keys.json";
  config.audit.file = "audit.jsonl";
  {
    audit::Log log;
    ASSERT_TRUE(log.open(config.audit, config.source));
    KeyHistory history{log};
    const auto old = Clients::create(config, sources(), history).value();
    ASSERT_TRUE(old->change(adding(key_of("ann", "secret"))));
    const std::string hash = old->keys_hash();
    ASSERT_TRUE(change_keys(folder.path() / "keys.json", adding(key_of("bob", "other"))));
    const auto next = Clients::create(config, sources(), history).value();
    EXPECT_NE(next->keys_hash(), hash);
    while (old->keys_hash() != next->keys_hash()) std::this_thread::yield();
  }
  const std::string text = read_file(folder.path() / "audit.jsonl", 1 << 20).value();
  for (const char* part :
       {R"("event":"key_added","key":"ann")", R"("event":"key_added","key":"bob")"}) {
    const size_t at = text.find(part);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find(part, at + 1), std::string::npos) << text;
  }
}

TEST(KeyFile, reports_every_mistake) {
  const auto error = config::parse_keys(
      R"({"keys": [{"name": "a,b", "hash": "sha256:1", "expires": "soon", "nam": 1}, {"name": "c"}]})",
      "keys.json");
  ASSERT_FALSE(error);
  for (const char* part :
       {"keys.json:1: keys[0].name: expected a name without commas", "keys[0].hash",
        "keys[0].expires: expected a date", "keys[0].nam", "keys[1].hash: missing"})
    EXPECT_NE(error.error().message.find(part), std::string::npos) << part << "\n"
                                                                   << error.error().message;
}

TEST(Keys, generated_keys_differ) {
  const NewKey a = new_key(), b = new_key();
  EXPECT_NE(a.secret, b.secret);
  EXPECT_EQ(a.secret.size(), 46U);
  EXPECT_EQ(a.hash, hash_of(a.secret));
}

TEST(Clients, two_keys_of_one_name_or_hash_are_refused) {
  config::Config config = with_key(key_of("a", "s"));
  config.access.keys.push_back(key_of("a", "t"));
  EXPECT_NE(
      Clients::create(config, sources(), no_audit()).error().message.find("two keys have the name"),
      std::string::npos);
  config.access.keys[1] = key_of("b", "s");
  EXPECT_NE(Clients::create(config, sources(), no_audit()).error().message.find("same hash"),
            std::string::npos);
}

TEST(Clients, the_key_names_the_user_and_goes_no_further) {
  config::ClientKey key = key_of("a", "s");
  key.groups = {"g", "h"};
  const auto clients = clients_of(with_key(key));
  http::Request request = request_of({{"Authorization", "Bearer s"},
                                      {"X-Api-Key", "unused"},
                                      {"x-goog-api-key", "g"},
                                      {"x-authz-user-id", "root"},
                                      {"x-authz-tenant-id", "t"},
                                      {"Accept", "*/*"}},
                                     "127.0.0.1");
  ASSERT_EQ(clients->identify(request, false), std::nullopt);
  EXPECT_EQ(request.key->name, "a");
  EXPECT_EQ(request.headers.wire(),
            "Accept: */*\r\nx-authz-user-id: a\r\nx-authz-user-groups: g,h\r\n");
}

TEST(Clients, the_first_of_two_credentials_counts) {
  config::Config config = with_key(key_of("a", "s"));
  config.access.keys.push_back(key_of("b", "t"));
  const auto clients = clients_of(config);
  const auto found = [&](http::Request request) {
    const auto denial = clients->identify(request, false);
    return denial ? std::string(denial->reason) : request.key->name;
  };
  EXPECT_EQ(found(request_of({{"api-key", "s"}, {"authorization", "Bearer t"}})), "b");
  EXPECT_EQ(found(request_of({{"api-key", "s"}, {"x-api-key", "t"}})), "b");
  EXPECT_EQ(found(request_of({{"authorization", "Basic bzpv"}, {"x-api-key", "t"}})), "b");
  EXPECT_EQ(found(request_of({{"x-api-key", "s"}, {"authorization", "Bearer x"}})), "unknown_key");
}

TEST(Clients, no_key_has_the_name_of_a_token) {
  const test::TemporaryDirectory folder;
  config::Config config = with_key(key_of("login", "s"));
  config.source = folder.path() / "config.yaml";
  config.access.keys_file = "keys.json";
  config.access.tokens.resize(1);
  config.access.tokens[0].name = "login";
  config.access.tokens[0].jwks_file = "jwks.json";
  ASSERT_TRUE(write_file(folder.path() / "jwks.json", R"({"keys":[]})"));
  const auto clients = clients_of(config);
  const auto done = clients->change(adding(key_of("login/ann", "t")));
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("could be a token of the issuer \"login\""),
            std::string::npos)
      << done.error().message;
  EXPECT_TRUE(clients->change(adding(key_of("logins/ann", "t"))));
  ASSERT_TRUE(write_file(folder.path() / "keys.json", config::keys_text({key_of("login/a", "t")})));
  EXPECT_FALSE(Clients::create(config, sources(), no_audit()));
}

TEST(Clients, a_listed_proxy_names_the_user) {
  config::Config config = with_key(key_of("a", "s"));
  config.access.trusted_proxies = {"10.0.0.0/8"};
  const auto clients = clients_of(config);
  http::Request request = request_of({{"api-key", "s"}, {"x-authz-user-id", "ann"}});
  ASSERT_EQ(clients->identify(request, false), std::nullopt);
  EXPECT_EQ(request.headers.find("x-authz-user-id"), "ann");
  http::Request other = request_of({{"api-key", "s"}, {"x-authz-user-id", "ann"}}, "11.0.0.1");
  ASSERT_EQ(clients->identify(other, false), std::nullopt);
  EXPECT_EQ(other.headers.find("x-authz-user-id"), "a");
}

TEST(Clients, without_keys_only_this_machine_names_users) {
  const auto clients = clients_of(config::Config{});
  http::Request far = request_of({{"x-authz-user-id", "ann"}, {"authorization", "Bearer x"}});
  ASSERT_EQ(clients->identify(far, false), std::nullopt);
  EXPECT_EQ(far.headers.wire(), "authorization: Bearer x\r\n");
  for (const bool from_proxy : {false, true}) {
    http::Request near = request_of({{"x-authz-user-id", "ann"}}, from_proxy ? "" : "::1");
    ASSERT_EQ(clients->identify(near, from_proxy), std::nullopt);
    EXPECT_EQ(near.headers.find("x-authz-user-id"), "ann");
  }
}

TEST(Clients, refusals_have_a_reason) {
  config::ClientKey old = key_of("old", "o");
  old.expires = "2020-01-01";
  const auto clients = clients_of(with_key(old));
  const auto reason = [&](http::Request request) {
    const auto denial = clients->identify(request, false);
    return denial ? std::string(denial->reason) : std::string();
  };
  EXPECT_EQ(reason(request_of({})), "missing_key");
  EXPECT_EQ(reason(request_of({{"authorization", "Basic bzpv"}})), "missing_key");
  EXPECT_EQ(reason(request_of({{"x-api-key", "p"}})), "unknown_key");
  EXPECT_EQ(reason(request_of({{"x-api-key", "o"}})), "expired_key");
  EXPECT_EQ(reason(request_of({{"x-api-key", "o"}, {"X-API-Key", "o"}})), "duplicate_header");
  EXPECT_EQ(reason(request_of({{"x-authz-user-id", "a"}, {"x-authz-user-id", "a"}})),
            "duplicate_header");
}

}  // namespace
}  // namespace signalbox::access
