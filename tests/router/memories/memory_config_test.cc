// Tests which decisions have memories, and the keys of the servers that keep them.

#include <gtest/gtest.h>

#include <map>

#include "router/config/endpoint.h"
#include "router/config/load.h"

namespace signalbox::config {
namespace {

using Names = std::vector<std::string>;

Result<Loaded> parsed(std::string_view store) {
  return parse(fmt::format(R"(version: v0.3
providers: {{defaults: {{default_model: m}}, models: [{{name: m, backend_refs: [{{name: e, type: echo}}]}}]}}
routing:
  decisions:
    - {{name: own, plugins: [{{type: memory, configuration: {{retrieval_limit: 3}}}}]}}
    - {{name: none, plugins: [{{type: memory, configuration: {{enabled: false}}}}]}}
    - {{name: other}}
global: {{stores: {{memory: {{{}}}}}}}
)",
                           store),
               "f.yaml");
}

std::string refused(std::string_view store) {
  const auto out = parsed(store);
  EXPECT_FALSE(out);
  return out ? "" : out.error().message;
}

Loaded loaded(std::string_view store) {
  auto out = parsed(store);
  EXPECT_TRUE(out) << out.error().message;
  return out ? *std::move(out) : Loaded{};
}

/// The most memories that each decision gets; "-": it has none.
Names limits(const Config& config) {
  Names out;
  for (const Decision& each : config.routing.decisions) {
    const MemoryPlugin* const plugin = memory_of(config.memory, each);
    const uint32_t common = config.memory.default_retrieval_limit;
    out.push_back(plugin == nullptr ? "-"
                                    : fmt::format("{}", plugin->retrieval_limit.value_or(common)));
  }
  return out;
}

TEST(MemoryConfig, the_plugin_or_the_store_gives_a_decision_its_memories) {
  EXPECT_EQ(limits(loaded("").config), (Names{"3", "-", "-"}));
  EXPECT_EQ(limits(loaded("enabled: true").config), (Names{"3", "-", "5"}));
  EXPECT_EQ(loaded("enabled: true").notices, Names{});
}

TEST(MemoryConfig, milvus_and_qdrant_need_a_server) {
  for (const char* store :
       {"backend: milvus, milvus: {address: 'a:1', collection: c, dimension: 384}",
        "backend: milvus, milvus: {address: 'https://a', username: u, consistency_level: Strong}",
        "backend: qdrant, qdrant: {host: a, collection_name: c-d, use_tls: true}"}) {
    const Loaded file = loaded(fmt::format("enabled: true, {}", store));
    EXPECT_EQ(limits(file.config), (Names{"3", "-", "5"}));
    EXPECT_EQ(file.notices, Names{});
    EXPECT_TRUE(is_shared(file.config.memory));
  }
  for (const auto& [store, why] : std::map<std::string, std::string>{
           {"backend: milvus", "global.stores.memory.milvus: expected an address"},
           {"backend: milvus, milvus: {address: 'u:p@a'}", "milvus.address: expected host:port"},
           {"backend: milvus, milvus: {address: 'http://a/b'}", "expected a URL without a path"},
           {"backend: milvus, milvus: {address: a, collection: 1a}", "found \"1a\""},
           {"backend: milvus, milvus: {address: a, collection: a-b}", "found \"a-b\""},
           {"backend: milvus, milvus: {address: a, dimension: 20000}",
            "milvus.dimension: expected at most 16384, found 20000"},
           {"backend: qdrant, milvus: {address: a}",
            "global.stores.memory.qdrant: expected a host"},
           {"backend: qdrant, qdrant: {host: a, collection: 'a/b'}", "found \"a/b\""},
           {"backend: qdrant, qdrant: {host: a, collection: '..'}", "found \"..\""}})
    EXPECT_NE(refused(store).find(why), std::string::npos) << store << ": " << refused(store);
}

TEST(MemoryConfig, memories_in_milvus_are_read_with_its_strongest_level) {
  const Loaded file = loaded("backend: milvus, milvus: {address: a, consistency_level: Bounded}");
  ASSERT_EQ(file.notices.size(), 1u);
  EXPECT_NE(file.notices[0].find("milvus.consistency_level: Bounded has no effect"),
            std::string::npos);
}

TEST(MemoryConfig, a_milvus_address_may_leave_out_its_port_and_name_a_scheme) {
  const std::map<std::string, std::string> written_as{
      {"m", "m:19530"},           {"m:1", "m:1"},
      {"[::1]", "[::1]:19530"},   {"[::1]:2", "[::1]:2"},
      {"https://m", "m:443 tls"}, {"http://m:19530", "m:19530"}};
  for (const auto& [address, wanted] : written_as) {
    const auto at = milvus_endpoint(address);
    ASSERT_TRUE(at) << at.error().message;
    EXPECT_EQ(written(at->host, at->port) + (at->tls ? " tls" : ""), wanted);
  }
}

TEST(MemoryConfig, redis_and_valkey_are_built_and_need_an_address) {
  for (const char* store :
       {"backend: redis, redis: {address: 'a:1'}", "backend: valkey, valkey: {host: a}"}) {
    const Loaded file = loaded(fmt::format("enabled: true, {}", store));
    EXPECT_EQ(limits(file.config), (Names{"3", "-", "5"}));
    EXPECT_EQ(file.notices, Names{});
    EXPECT_TRUE(is_shared(file.config.memory));
  }
  EXPECT_NE(refused("backend: redis").find("redis: expected an address or a host"),
            std::string::npos);
  EXPECT_NE(refused("backend: redis, redis: {address: 'redis://a'}").find("expected host:port"),
            std::string::npos);
  EXPECT_NE(refused("backend: valkey, redis: {address: 'a:1'}").find("valkey: expected a host"),
            std::string::npos);
}

TEST(MemoryConfig, an_address_of_milvus_without_a_backend_selects_milvus) {
  const Loaded file = loaded("enabled: true, milvus: {address: 'a:1'}, valkey: {host: b}");
  EXPECT_EQ(file.config.memory.backend, "milvus");
  ASSERT_EQ(file.notices.size(), 1u);
  EXPECT_NE(file.notices[0].find("valkey: has no effect, because the backend is milvus"),
            std::string::npos);
  EXPECT_EQ(loaded("backend: memory, milvus: {address: 'a:1'}").config.memory.backend, "memory");
  EXPECT_EQ(loaded("backend: '', milvus: {address: 'a:1'}").config.memory.backend, "milvus");
}

TEST(MemoryConfig, a_server_that_the_backend_does_not_use_has_no_effect) {
  const Loaded file = loaded("valkey: {host: a}");
  ASSERT_EQ(file.notices.size(), 1u);
  EXPECT_NE(file.notices[0].find("valkey: has no effect, because the backend is memory"),
            std::string::npos);
  EXPECT_FALSE(is_shared(file.config.memory));
  for (const auto& [store, notice] : std::map<std::string, std::string>{
           {"backend: redis, redis: {host: a}, valkey: {host: b}",
            "valkey: has no effect, because the backend is redis"},
           {"backend: valkey, redis: {host: a}, valkey: {host: b}",
            "redis: has no effect, because the backend is valkey"},
           {"backend: milvus, milvus: {address: a}, qdrant: {host: b}",
            "qdrant: has no effect, because the backend is milvus"},
           {"backend: qdrant, qdrant: {host: a}, redis: {host: b}",
            "redis: has no effect, because the backend is qdrant"}}) {
    const Loaded both = loaded(store);
    ASSERT_EQ(both.notices.size(), 1u) << store;
    EXPECT_NE(both.notices[0].find(notice), std::string::npos) << both.notices[0];
  }
}

}  // namespace
}  // namespace signalbox::config
