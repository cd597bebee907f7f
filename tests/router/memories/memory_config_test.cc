// Tests which decisions have memories, and what happens if the store is not built.

#include <gtest/gtest.h>

#include <map>

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

TEST(MemoryConfig, a_store_that_is_not_built_refuses_decisions_with_the_plugin) {
  const Loaded file = loaded("enabled: true, backend: milvus");
  const auto& decisions = file.config.routing.decisions;
  EXPECT_EQ(decisions[0].missing_plugins, Names{"memory with the backend milvus"});
  EXPECT_EQ(decisions[1].missing_plugins, Names{});
  EXPECT_EQ(decisions[2].missing_plugins, Names{});
  ASSERT_EQ(file.notices.size(), 1u);
  EXPECT_NE(file.notices[0].find("global.stores.memory.backend: milvus is not supported"),
            std::string::npos);
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
            "redis: has no effect, because the backend is valkey"}}) {
    const Loaded both = loaded(store);
    ASSERT_EQ(both.notices.size(), 1u) << store;
    EXPECT_NE(both.notices[0].find(notice), std::string::npos) << both.notices[0];
  }
}

}  // namespace
}  // namespace signalbox::config
