// Tests the messages about a store that is not shared, and about unset variables of a server that
// nothing searches.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "router/config/load.h"

namespace signalbox::config {
namespace {

struct Store {
  std::string path, key, records;  // the section, the key of the backend, what it keeps
  bool knows_backends = false;     // other names are errors
  bool has_postgres = false;
};

/// The notices about a file with that section.
std::string notices_about(const Store& store, const std::string& keys) {
  std::string sections = store.path;
  size_t depth = 1;
  for (size_t dot = 0; (dot = sections.find('.', dot)) != std::string::npos; ++depth)
    sections.replace(dot, 1, ": {");
  const auto loaded = parse(
      "version: v0.3\n"
      "providers: {defaults: {default_model: a}, models: [{name: a, backend_refs: [{type: "
      "echo}]}]}\n"
      "global: {" +
          sections + ": {" + keys + std::string(depth + 1, '}') + "\n",
      "f.yaml");
  if (!loaded) return "refused: " + loaded.error().message;
  std::string all;
  for (const std::string& notice : loaded->notices) all += notice + "\n";
  return all;
}

TEST(ConfigStores, a_store_that_is_not_shared_gives_a_notice) {
  for (const Store& store :
       {Store{"services.response_api", "store_backend", "responses", false, true},
        Store{"services.router_replay", "store_backend", "records", false, true},
        Store{"integrations.looper.flow.state", "store_backend", "states of workflows"},
        Store{"router.learning.state_store", "backend", "conversations and outcomes", true}}) {
    const auto expect = [&](const std::string& keys, const std::string& notice) {
      const std::string found = notices_about(store, keys);
      const std::string place =
          notice.empty() ? "" : "f.yaml:3: global." + store.path + "." + notice;
      EXPECT_EQ(found.substr(0, found.find(": " + store.records + " are kept in memory")), place)
          << keys;
    };
    const std::string& key = store.key;
    expect(key + ": redis, redis: {host: h}", "");
    expect(key + ": redis, redis: {address: \"h:1\"}", "");
    expect(key + ": memory", "");
    expect(key + ": redis", key + ": redis has no address");
    expect("redis: {host: h}", "redis: has no effect");
    expect(key + ": memory, redis: {host: h}", "redis: has no effect");
    if (!store.knows_backends) expect(key + ": milvus", key + ": milvus is not supported");
    if (store.has_postgres) {
      expect(key + ": postgres, postgres: {host: h}", "");
      expect(key + ": postgres", key + ": postgres has no host");
      expect("postgres: {host: h}", "postgres: has no effect");
      EXPECT_NE(notices_about(store, key + ": postgres, postgres: {host: h}, redis: {host: h}")
                    .find("redis: has no effect: " + store.records +
                          " are kept in postgres, because store_backend is not redis"),
                std::string::npos);
    }
    EXPECT_NE(notices_about(store, key + ": redis, redis: {host: h, cluster_mode: true}")
                  .find("redis.cluster_mode: expected false"),
              std::string::npos);
  }
}

TEST(ConfigStores, states_of_workflows_in_files_need_a_folder) {
  const Store store{"integrations.looper.flow.state", "store_backend", "states of workflows"};
  EXPECT_EQ(notices_about(store, "store_backend: file, file: {directory: d}"), "");
  EXPECT_NE(notices_about(store, "store_backend: file")
                .find("state.store_backend: file.directory is missing: states of workflows are "
                      "kept in memory"),
            std::string::npos);
  EXPECT_NE(notices_about(store, "store_backend: memory, file: {directory: d}")
                .find("state.file: has no effect, because the backend is memory"),
            std::string::npos);
}

TEST(ConfigStores, bytes_of_records_in_memory_have_their_own_bound) {
  const auto notices = [](const std::string& replay) {
    const auto loaded = parse(fmt::format(R"(version: v0.3
providers: {{defaults: {{default_model: a}}, models: [{{name: a, backend_refs: [{{type: echo}}]}}]}}
global: {{services: {{router_replay: {{{}}}}}}}
)",
                                          replay),
                              "f.yaml");
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded ? loaded->notices : std::vector<std::string>();
  };
  const std::string of_memory =
      "f.yaml:3: global.services.router_replay.bytes_max: has no effect, because the backend is "
      "memory";
  EXPECT_EQ(notices("bytes_max: 1MiB"), std::vector{of_memory});
  EXPECT_TRUE(notices("bytes_max: 1MiB, store_backend: redis, redis: {host: h}").empty());
  EXPECT_TRUE(notices("bytes_max: 1MiB, store_backend: postgres, postgres: {host: h}").empty());
}

TEST(ConfigStores, variables_of_qdrant_are_needed_only_for_a_search) {
  ::unsetenv("SIGNALBOX_TEST_UNSET");
  const std::string file = R"(version: v0.3
providers: {defaults: {default_model: a}, models: [{name: a, backend_refs: [{type: echo}]}]}
global:
  stores:
    response_cache: {qdrant: {host: "${SIGNALBOX_TEST_UNSET}"}}
    vector_store: {qdrant: {api_key: "${SIGNALBOX_TEST_UNSET}"}}
)";
  const std::string cache =
      "f.yaml:5: global.stores.response_cache.qdrant.host: the environment variable "
      "SIGNALBOX_TEST_UNSET is not set";
  const std::string store =
      "f.yaml:6: global.stores.vector_store.qdrant.api_key: the environment variable "
      "SIGNALBOX_TEST_UNSET is not set";
  const auto unsearched = parse(file, "f.yaml");
  ASSERT_TRUE(unsearched) << unsearched.error().message;
  EXPECT_EQ(unsearched->notices, (std::vector<std::string>{cache, store}));
  const auto with_rag = [&](std::string_view keys) {
    return parse(fmt::format("{}routing: {{decisions: [{{name: d, plugins: [{{type: rag, "
                             "configuration: {{{}}}}}]}}]}}\n",
                             file, keys),
                 "f.yaml");
  };
  for (const char* keys :
       {"backend: qdrant, backend_config: {collection: c}",
        "backend: hybrid, backend_config: {primary: vectorstore, primary_config: {vector_store_id: "
        "v}, fallback: qdrant, fallback_config: {collection: c}}"}) {
    const auto loaded = with_rag(keys);
    ASSERT_FALSE(loaded) << keys;
    EXPECT_EQ(loaded.error().message, cache + "\n" + store);
  }
  EXPECT_TRUE(with_rag("enabled: false, backend: qdrant, backend_config: {collection: c}"));
}

}  // namespace
}  // namespace signalbox::config
