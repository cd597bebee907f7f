// Tests a daemon whose configuration file changes while it serves.

#include <gtest/gtest.h>

#include <future>

#include "router/serving/restart_only.h"
#include "tests/router/net/file_daemon.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/started.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
using daemon::Daemon;

/// A configuration that routes every request by the decision of this name to the upstream at this
/// port.
std::string configuration(std::string_view decision, uint16_t upstream_port,
                          std::string_view more = "") {
  return fmt::format(
      R"(
version: v0.3
listeners:
  - {{name: http, address: 127.0.0.1, port: 0, timeout: 20s}}
providers:
  defaults: {{default_model: general}}
  models:
    - {{name: general, backend_refs: [{{name: a, endpoint: "127.0.0.1:{}"}}]}}
routing:
  signals:
    keywords:
      - {{name: word, operator: OR, keywords: [word]}}
  decisions:
    - name: {}
      rules: {{operator: OR, conditions: [{{type: keyword, name: word}}]}}
      modelRefs: [{{model: general}}]
global:
  services:
    management_api: {{bind_address: 127.0.0.1, port: 0}}
{})",
      upstream_port, decision, more);
}

Wire request(const Daemon& daemon) {
  Wire client = Wire::connect(daemon.port("http"));
  client.send(post("/v1/chat/completions",
                   R"({"model":"auto","messages":[{"role":"user","content":"word"}]})"));
  return client;
}

std::string decision_of(const Daemon& daemon) {
  const Reply reply = request(daemon).read_reply();
  const auto found = reply.headers.find("x-vsr-selected-decision");
  return found == reply.headers.end() ? fmt::format("status {}", reply.status) : found->second;
}

class Reload : public testing::Test {
 protected:
  Upstream upstream_{[](Wire& wire, int) {
    while (!wire.read_request().empty()) wire.send(ok("{}"));
  }};
  Folder folder_;
};

TEST_F(Reload, serves_a_file_that_an_editor_writes_or_replaces) {
  const fs::path file = folder_.write("config.yaml", configuration("one", upstream_.port()));
  const auto daemon = follow(file, no_models);
  EXPECT_EQ(decision_of(*daemon), "one");
  folder_.write("config.yaml", configuration("two", upstream_.port()));
  EXPECT_TRUE(eventually([&] { return decision_of(*daemon) == "two"; }));
  fs::rename(folder_.write("new", configuration("three", upstream_.port())), file);
  EXPECT_TRUE(eventually([&] { return decision_of(*daemon) == "three"; }));
}

TEST_F(Reload, follows_the_links_of_a_config_map) {
  folder_.write("v1/config.yaml", configuration("one", upstream_.port()));
  folder_.write("v2/config.yaml", configuration("two", upstream_.port()));
  fs::create_symlink("v1", folder_.at("..data"));
  fs::create_symlink("..data/config.yaml", folder_.at("config.yaml"));
  const auto daemon = follow(folder_.at("config.yaml"), no_models);
  EXPECT_EQ(decision_of(*daemon), "one");
  fs::create_symlink("v2", folder_.at("..data_tmp"));
  fs::rename(folder_.at("..data_tmp"), folder_.at("..data"));
  EXPECT_TRUE(eventually([&] { return decision_of(*daemon) == "two"; }));
}

TEST_F(Reload, keeps_serving_when_the_file_is_wrong_or_gone) {
  const fs::path file = folder_.write("config.yaml", configuration("one", upstream_.port()));
  std::atomic<int> builds = 0;
  const auto daemon = follow(file, [&](const config::Config&) -> Result<models::Models> {
    if (++builds > 1 && builds < 4) return fail(Code::kNotFound, "the model is gone");
    return models::Models{};
  });
  folder_.write("config.yaml", configuration("two", upstream_.port()));
  EXPECT_TRUE(eventually([&] { return builds == 2; })) << "the models were never asked for";
  EXPECT_EQ(decision_of(*daemon), "one");
  folder_.write("config.yaml", "version: v0.3\nlisteners: 7\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(decision_of(*daemon), "one");
  EXPECT_EQ(builds, 2) << "nothing is built of a file that is wrong";
  fs::remove(file);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(decision_of(*daemon), "one");
  folder_.write("config.yaml", configuration("two", upstream_.port()));
  EXPECT_TRUE(eventually([&] { return builds == 3; }));
  EXPECT_EQ(decision_of(*daemon), "one");
  // The file is valid and unchanged; the missing part appears later, and a reload finds it.
  daemon->reload();
  EXPECT_TRUE(eventually([&] { return decision_of(*daemon) == "two"; }));
}

TEST_F(Reload, refuses_a_guard_whose_model_is_missing) {
  const fs::path file = folder_.write("config.yaml", configuration("one", upstream_.port()));
  const auto daemon = follow(file, [](const config::Config& config) {
    return models::open_models(config, models::MissingModels{.stand_in = false},
                               models::open_directly(config.http));
  });
  std::string guarded = configuration("two", upstream_.port());
  guarded.replace(guarded.find("    keywords:"), 0, "    jailbreak: [{name: j}]\n");
  guarded.replace(guarded.find("{type: keyword"), 0, "{type: jailbreak, name: j}, ");
  folder_.write("config.yaml", guarded + "  model_catalog: {system: {prompt_guard: /gone}}\n");
  std::string status;
  EXPECT_TRUE(eventually([&] {
    Wire client = Wire::connect(daemon->port("management"));
    client.send(get("/config/status"));
    status = client.read_reply().body;
    return status.find("global.model_catalog.system.prompt_guard") != std::string::npos;
  })) << status;
  EXPECT_EQ(status.find("/gone"), std::string::npos) << status;
  EXPECT_EQ(decision_of(*daemon), "one");
}

TEST_F(Reload, reads_the_file_only_on_request_if_watching_is_off) {
  const fs::path file = folder_.write("config.yaml", configuration("one", upstream_.port()));
  std::atomic<int> builds = 0;
  const auto daemon = follow(file, [&](const config::Config&) {
    ++builds;
    return Result<models::Models>(models::Models{});
  });
  fs::last_write_time(file, fs::file_time_type::clock::now());
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(builds, 1);
  daemon->reload();
  EXPECT_TRUE(eventually([&] { return builds == 2; }));
}

TEST_F(Reload, lets_a_stream_end_on_the_state_that_it_began_with) {
  std::promise<void> streaming, reloaded;
  Upstream slow([&](Wire& wire, int number) {
    while (!wire.read_request().empty() && number > 0) wire.send(ok("{}"));
    if (number > 0) return;
    wire.send(kStreamHead);
    wire.send(chunk("data: 1\n\n"));
    streaming.set_value();
    reloaded.get_future().wait();
    wire.send(chunk("data: [DONE]\n\n") + chunk(""));
  });
  const fs::path file = folder_.write("config.yaml", configuration("one", slow.port()));
  std::weak_ptr<const engine::TextEmbedder> held;
  std::atomic<int> builds = 0;
  class Embedder : public engine::TextEmbedder {
    int32_t dim() const override { return 1; }
    int32_t tokens_max() const override { return 512; }
    Result<void> embed(std::span<const std::string_view>, std::span<float>) const override {
      return {};
    }
  };
  const auto daemon = follow(file, [&](const config::Config&) {
    models::Models models;
    if (++builds == 1) {
      models.embedder = std::make_shared<Embedder>();
      held = models.embedder;
    }
    return Result<models::Models>(std::move(models));
  });
  Wire client = request(*daemon);
  streaming.get_future().wait();
  folder_.write("config.yaml", configuration("two", upstream_.port()));
  EXPECT_TRUE(eventually([&] { return decision_of(*daemon) == "two"; }));
  std::this_thread::sleep_for(
      std::chrono::milliseconds(1200));  // retired configurations are freed by then
  EXPECT_FALSE(held.expired()) << "the stream still stands on it";
  reloaded.set_value();
  const Reply reply = client.read_reply();
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.headers.at("x-vsr-selected-decision"), "one");
  EXPECT_EQ(reply.body, "data: 1\n\ndata: [DONE]\n\n");
  EXPECT_TRUE(eventually([&] { return held.expired(); })) << "nobody needs it any longer";
}

TEST_F(Reload, keeps_the_sockets_that_it_has) {
  const fs::path file = folder_.write("config.yaml", configuration("one", upstream_.port()));
  const auto daemon = follow(file, no_models);
  const uint16_t port = daemon->port("http");
  std::string next = configuration("two", upstream_.port(), "    http: {body_bytes_max: 2KiB}\n");
  next.replace(next.find("port: 0"), 7, fmt::format("port: {}", closed_port()));
  folder_.write("config.yaml", next);
  EXPECT_TRUE(eventually([&] { return decision_of(*daemon) == "two"; }));
  EXPECT_EQ(daemon->port("http"), port);
}

TEST(KeepFixed, names_the_changed_settings_that_need_a_restart) {
  const auto parsed = [](const std::string& text) {
    auto loaded = config::parse(text, "config.yaml");
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded->config;
  };
  const config::Config running = parsed(configuration("one", 9));
  config::Config next = parsed(configuration("one", 9));
  EXPECT_TRUE(serving::keep_restart_only(running, next).empty());

  std::string text =
      configuration("two", 9, "    http: {threads: 7, header_timeout: 2s, drain_timeout: 3s}\n");
  text.replace(text.find("127.0.0.1, port: 0"), 18, "127.0.0.2, port: 1");
  text.insert(text.find("providers:"), "  - {name: more, port: 2}\n");
  next = parsed(text);
  EXPECT_EQ(serving::keep_restart_only(running, next),
            (std::vector<std::string>{
                "listeners.http.address: \"127.0.0.2\" requires a restart; \"127.0.0.1\" stays",
                "listeners.http.port: 1 requires a restart; 0 stays",
                "listeners: opening \"more\" requires a restart; it stays closed",
                "global.services.http.header_timeout: 2000ms requires a restart; 10000ms stays",
                "global.services.http.threads: 7 requires a restart; 0 stays"}));
  EXPECT_EQ(next.listeners.size(), 1U);
  EXPECT_EQ(next.http.threads, 0U);
  EXPECT_EQ(next.http.drain_timeout, std::chrono::seconds(3)) << "this one changes";
  EXPECT_EQ(next.routing.decisions.front().name, "two");

  next = parsed(configuration("one", 9) + "  stores: {contexts: {directory: there, idle: 3s}}\n");
  EXPECT_EQ(serving::keep_restart_only(running, next),
            (std::vector<std::string>{
                "global.stores.contexts.directory: \"there\" requires a restart; \"\" stays"}));
  EXPECT_EQ(next.contexts.idle, std::chrono::seconds(3)) << "this one changes";

  const auto shared = [&](std::string_view enabled) {
    return parsed(configuration(
        "one", 9,
        fmt::format("    response_api: {{enabled: {}, store_backend: redis, redis: {{host: r}}}}\n",
                    enabled)));
  };
  next = shared("true");
  EXPECT_EQ(serving::keep_restart_only(shared("false"), next),
            (std::vector<std::string>{
                "global.services.response_api.enabled: true requires a restart; false stays"}));
  EXPECT_FALSE(next.response_api.enabled);
  next = shared("false");
  EXPECT_TRUE(serving::keep_restart_only(shared("true"), next).empty());

  next = parsed(configuration(
      "one", 9, "    router_replay: {store_backend: redis, ttl_seconds: 9, redis: {host: r}}\n"));
  EXPECT_EQ(serving::keep_restart_only(running, next),
            (std::vector<std::string>{
                "global.services.router_replay.store_backend: \"redis\" requires a restart; \"\" "
                "stays",
                "global.services.router_replay.redis: a change requires a restart"}));
  EXPECT_FALSE(next.router_replay.is_shared());
  EXPECT_EQ(next.router_replay.ttl_seconds, 9U) << "this one changes";

  next =
      parsed(configuration("one", 9) +
             "  router: {learning: {state_store: {backend: redis, timeout_ms: 9, ttl_seconds: 8, "
             "redis: {host: r}}}}\n");
  EXPECT_EQ(
      serving::keep_restart_only(running, next),
      (std::vector<std::string>{
          "global.router.learning.state_store.backend: \"redis\" requires a restart; \"\" stays",
          "global.router.learning.state_store.timeout_ms: 9 requires a restart; 0 stays",
          "global.router.learning.state_store.redis: a change requires a restart"}));
  EXPECT_FALSE(next.router.learning.state_store.is_shared());
  EXPECT_EQ(next.router.learning.state_store.ttl_seconds, 8U) << "this one changes";

  next =
      parsed(configuration("one", 9) + "  stores: {memory: {backend: redis, redis: {host: r}}}\n");
  EXPECT_EQ(serving::keep_restart_only(running, next),
            (std::vector<std::string>{
                "global.stores.memory.backend: \"redis\" requires a restart; \"memory\" stays",
                "global.stores.memory: a change of the server requires a restart"}));
  EXPECT_EQ(next.memory.backend, "memory");
}

TEST(KeepFixed, keeps_the_server_of_the_records_and_shows_no_password) {
  const auto parsed = [](const std::string& section) {
    auto loaded = config::parse(configuration("one", 9, section), "config.yaml");
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded->config;
  };
  const auto records = [&](const char* password) {
    return parsed(
        fmt::format("    router_replay: {{store_backend: postgres, postgres: {{host: p, "
                    "password: {}}}}}\n",
                    password));
  };
  config::Config next = records("second");
  EXPECT_EQ(serving::keep_restart_only(records("first"), next),
            (std::vector<std::string>{
                "global.services.router_replay.postgres: a change requires a restart"}));
  EXPECT_EQ(next.router_replay.postgres.password, "first");
}

TEST(KeepFixed, keeps_the_store_of_the_spending_and_shows_no_password) {
  config::Config running, next;
  running.spending.emplace();
  next.spending.emplace();
  next.spending->backend = "postgres";
  next.spending->postgres.password = "the new one";
  next.spending->budgets.emplace_back();
  EXPECT_EQ(serving::keep_restart_only(running, next),
            (std::vector<std::string>{
                "global.spending.backend: \"postgres\" requires a restart; \"file\" stays",
                "global.spending.postgres: a change requires a restart"}));
  EXPECT_FALSE(next.spending->is_common());
  EXPECT_EQ(next.spending->postgres, running.spending->postgres);
  EXPECT_EQ(next.spending->budgets.size(), 1U) << "these change";
}

TEST(KeepFixed, keeps_the_servers_of_memories) {
  config::Config running, next;
  running.memory.backend = next.memory.backend = "milvus";
  running.memory.milvus.password = "the old one";
  next.memory.milvus.password = "the new one";
  next.memory.qdrant.host = "elsewhere";
  EXPECT_EQ(
      serving::keep_restart_only(running, next),
      std::vector<std::string>{"global.stores.memory: a change of the server requires a restart"});
  EXPECT_EQ(next.memory.milvus, running.memory.milvus);
  EXPECT_EQ(next.memory.qdrant, running.memory.qdrant);
}

}  // namespace
}  // namespace signalbox::test
