// Tests the whole daemon over real sockets, from the configuration through requests to the
// upstream.

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/json.h"
#include "router/config/load.h"
#include "router/daemon/serve.h"
#include "tests/router/net/gateway.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;
using std::chrono::milliseconds;

constexpr std::string_view kConfiguration = R"(
version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 8801, timeout: 20s}
providers:
  defaults: {default_model: general}
  models:
    - {name: general, backend_refs: [{name: echo, type: echo}]}
    - {name: discreet, pii_policy: {allow_by_default: false}, backend_refs: [{name: echo, type: echo}]}
    - {name: math/expert, provider_model_id: org/expert-7b, backend_refs: [{name: a, endpoint: "127.0.0.1:9"}]}
entrypoints: [{model_names: [team/assistant], recipe: default}]
routing:
  signals:
    keywords:
      - {name: proof, operator: OR, keywords: [theorem, prove]}
      - {name: closed, keywords: [closed]}
      - {name: private, keywords: [secret]}
  decisions:
    - name: math
      priority: 10
      rules: {operator: AND, conditions: [{type: keyword, name: proof}]}
      modelRefs: [{model: math/expert}]
      plugins:
        - {type: system_prompt, configuration: {system_prompt: "You are a \"mathematician\"."}}
        - type: header_mutation
          configuration:
            add: [{name: X-Tier, value: premium}, {name: Authorization, value: Bearer theirs}]
            update: [{name: x-source, value: router}]
            delete: [x-debug-trace, connection]
    - name: closed
      priority: 99
      rules: {type: keyword, name: closed}
      plugins: [{type: fast_response, configuration: {message: "We are \"closed\"."}}]
    - name: private
      rules: {type: keyword, name: private}
      modelRefs: [{model: discreet}]
)";

constexpr std::string_view kEmbeddings = R"(
    embeddings:
      - {name: numbers, threshold: 0.9, candidates: ["one two three"]}
)";

/// Embeds a text as (1, 0) if it contains "number" or "one", otherwise as (0, 1); fails on "fail".
class NumberEmbedder final : public engine::TextEmbedder {
 public:
  int32_t dim() const override { return 2; }
  int32_t tokens_max() const override { return 512; }
  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].find("fail") != std::string_view::npos)
        return fail(Code::kInternal, "the model broke");
      const bool near =
          texts[i].find("number") != std::string_view::npos || texts[i].starts_with("one");
      out[2 * i] = near ? 1.0F : 0.0F;
      out[2 * i + 1] = near ? 0.0F : 1.0F;
    }
    return {};
  }
};

Result<models::Models> open_fake(const config::Config&) {
  return models::Models{.embedder = std::make_unique<const NumberEmbedder>()};
}

config::Config configuration(uint16_t upstream_port = 9, bool embeddings = false) {
  std::string text(kConfiguration);
  if (embeddings) {
    text.insert(text.find("  decisions:"), kEmbeddings.substr(1));
    text +=
        "    - name: numbers\n      priority: 5\n      rules: {operator: AND, conditions: [{type: "
        "embedding, name: "
        "numbers}]}\n      modelRefs: [{model: general}]\n";
  }
  auto loaded = config::parse(text, "test.yaml");
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return {};
  }
  loaded->config.listeners.front().port = 0;
  loaded->config.management.port = 0;
  loaded->config.http.threads = 2;
  loaded->config.providers.models.back().backend_refs.front().port = upstream_port;
  return std::move(loaded->config);
}

std::unique_ptr<Daemon> start(config::Config config) {
  auto daemon = Daemon::start(std::move(config), open_fake);
  if (!daemon) ADD_FAILURE() << daemon.error().message;
  return daemon ? std::move(*daemon) : nullptr;
}

Reply ask(const Daemon& daemon, const std::string& request, std::string_view listener = "http") {
  Wire client = Wire::connect(daemon.port(listener));
  client.send(request);
  return client.read_reply(request.starts_with("HEAD"));
}

Reply chat(const Daemon& daemon, std::string_view body, std::string_view headers = "") {
  return ask(daemon, post("/v1/chat/completions", body, headers));
}

std::string said(std::string_view text) {
  return fmt::format(R"({{"model":"auto","messages":[{{"role":"user","content":"{}"}}]}})", text);
}

TEST(Daemon, routes_by_keyword_and_splices_the_body_byte_for_byte) {
  std::string received;
  Upstream upstream([&](Wire& wire, int) {
    received = wire.read_request();
    wire.send(ok("{}"));
  });
  const auto daemon = start(configuration(upstream.port()));
  const Reply reply =
      chat(*daemon,
           "{ \"seed\": 123456789012345678901234, \"messages\" : [ {\"role\":\"user\",\"content\":"
           "\"prove \\u00e9\"} ],\n \"model\":\"auto\", \"x\":1.0E5 }");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-vsr-selected-model"), "math/expert");
  EXPECT_EQ(reply.headers.at("x-vsr-selected-decision"), "math");
  EXPECT_EQ(reply.headers.at("x-vsr-injected-system-prompt"), "true");
  EXPECT_FALSE(reply.has("x-vsr-matched-keywords"));
  EXPECT_FALSE(reply.has("x-vsr-degraded"));
  EXPECT_EQ(received.substr(received.find("\r\n\r\n") + 4),
            R"({ "seed": 123456789012345678901234, "messages" : [{"role":"system","content":)"
            R"("You are a \"mathematician\"."}, {"role":"user","content":"prove \u00e9"} ],)"
            "\n"
            R"( "model":"org/expert-7b", "x":1.0E5 })");
}

TEST(Daemon, gives_every_request_an_id_and_keeps_one_of_the_client) {
  std::string received;
  Upstream upstream([&](Wire& wire, int) {
    received = wire.read_request();
    wire.send(ok("{}"));
  });
  const auto daemon = start(configuration(upstream.port()));
  EXPECT_EQ(chat(*daemon, said("prove it"), "X-Request-Id: my-id\r\n").headers.at("x-request-id"),
            "my-id");
  EXPECT_NE(received.find("x-request-id: my-id\r\n"), std::string::npos);
  const std::string made = chat(*daemon, said("hello")).headers.at("x-request-id");
  EXPECT_EQ(made.size(), 36U);
  EXPECT_NE(chat(*daemon, said("hello")).headers.at("x-request-id"), made);
  EXPECT_TRUE(chat(*daemon, said("hello"), "X-Request-Id: a b\r\n")
                  .headers.at("x-request-id")
                  .starts_with("req-"));
}

TEST(Daemon, explains_more_on_request) {
  const auto daemon = start(configuration());
  const Reply reply = chat(*daemon, said("hello"), "x-vsr-debug: true\r\n");
  EXPECT_EQ(reply.headers.at("x-vsr-selected-model"), "general");
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(ok("{}"));
  });
  const auto routed = start(configuration(upstream.port()));
  EXPECT_EQ(
      chat(*routed, said("prove it"), "x-vsr-debug: true\r\n").headers.at("x-vsr-matched-keywords"),
      "proof");
}

TEST(Daemon, runs_the_model_when_keywords_leave_the_outcome_open) {
  const auto daemon = start(configuration(9, true));
  const Reply near = chat(*daemon, said("a number"));
  EXPECT_EQ(near.status, 200);
  EXPECT_EQ(near.headers.at("x-vsr-selected-decision"), "numbers");
  EXPECT_FALSE(chat(*daemon, said("weather")).has("x-vsr-selected-decision"));
}

TEST(Daemon, decides_on_known_signals_when_the_model_fails) {
  const auto daemon = start(configuration(9, true));
  const Reply reply = chat(*daemon, said("fail"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-vsr-degraded"), "true");
  EXPECT_EQ(reply.headers.at("x-vsr-selected-model"), "general");
}

TEST(Daemon, errors_have_the_format_of_openai) {
  const auto daemon = start(configuration());
  const Reply wrong = chat(*daemon, R"({"model":"auto","messages":[{"role":7}]})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_TRUE(wrong.has("x-request-id"));
  const auto document = json::Document::parse(wrong.body);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().find("error")->find("param")->text(), "messages[0].role");
  EXPECT_EQ(document->root().find("error")->find("type")->text(), "invalid_request_error");

  EXPECT_EQ(chat(*daemon, "not json").status, 400);
  EXPECT_EQ(chat(*daemon, R"({"model":"nope","messages":[{"role":"user","content":"x"}]})").status,
            404);
  EXPECT_EQ(chat(*daemon, said("x"), "Content-Encoding: gzip\r\n").status, 415);
  // No server listens for this model.
  const Reply refused = chat(*start(configuration(closed_port())), said("prove it"));
  EXPECT_EQ(refused.status, 502);
  EXPECT_EQ(refused.headers.at("x-vsr-selected-model"), "math/expert");
  EXPECT_EQ(error_message(refused.body), "the model's server: cannot connect: Connection refused");
}

TEST(Daemon, changes_headers_on_the_way_up_but_not_its_own) {
  ::setenv("SIGNALBOX_TEST_KEY", "ours", 1);
  std::string received;
  Upstream upstream([&](Wire& wire, int) {
    received = wire.read_request();
    wire.send(ok("{}"));
  });
  const std::string_view client =
      "X-Source: client\r\nX-Tier: basic\r\nX-Debug-Trace: 1\r\nAuthorization: Bearer client\r\n"
      "Connection: x-hop\r\nX-Hop: 1\r\n";
  chat(*start(configuration(upstream.port())), said("prove it"), client);
  const auto holds = [&](std::string_view line) {
    return received.find(fmt::format("\r\n{}\r\n", line)) != std::string::npos;
  };
  EXPECT_TRUE(holds("X-Tier: basic")) << received;
  EXPECT_TRUE(holds("X-Tier: premium"));
  EXPECT_TRUE(holds("x-source: router"));
  EXPECT_TRUE(holds("Authorization: Bearer theirs"));
  EXPECT_FALSE(holds("Authorization: Bearer client"));  // only one header, not two
  EXPECT_FALSE(holds("X-Source: client"));
  EXPECT_FALSE(holds("X-Debug-Trace: 1"));
  EXPECT_FALSE(holds("X-Hop: 1"));

  config::Config keyed = configuration(upstream.port());
  keyed.providers.models.back().backend_refs.front().api_key_env = "SIGNALBOX_TEST_KEY";
  chat(*start(std::move(keyed)), said("prove it"), client);
  EXPECT_TRUE(holds("Authorization: Bearer ours")) << received;
  EXPECT_FALSE(holds("Authorization: Bearer theirs"));
  EXPECT_FALSE(holds("Authorization: Bearer client"));
}

TEST(Daemon, returns_the_fixed_answer_of_a_decision) {
  const auto daemon = start(configuration());
  const Reply whole = chat(*daemon, said("closed?"), "x-request-id: r1\r\n");
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(whole.headers.at("content-type"), "application/json");
  EXPECT_EQ(whole.headers.at("x-vsr-fast-response"), "true");
  EXPECT_EQ(whole.headers.at("x-vsr-response-path"), "fast_response");
  EXPECT_EQ(whole.headers.at("x-vsr-selected-decision"), "closed");
  EXPECT_FALSE(whole.has("x-vsr-selected-model"));
  const auto document = json::Document::parse(whole.body);
  ASSERT_TRUE(document) << whole.body;
  EXPECT_EQ(document->root().find("id")->text(), "chatcmpl-r1");
  EXPECT_NE(whole.body.find(R"("content":"We are \"closed\".")"), std::string::npos) << whole.body;

  const Reply stream = chat(
      *daemon,
      R"({"model":"auto","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"closed"}]})");
  EXPECT_EQ(stream.headers.at("content-type"), "text/event-stream");
  EXPECT_TRUE(stream.body.starts_with("data: {\"id\":\"chatcmpl-")) << stream.body;
  EXPECT_TRUE(stream.body.ends_with("\n\ndata: [DONE]\n\n")) << stream.body;
  EXPECT_NE(stream.body.find(R"("choices":[],"usage":{"prompt_tokens":0,)"), std::string::npos);
}

TEST(Daemon, returns_as_many_fixed_answers_as_requested) {
  const auto daemon = start(configuration());
  const auto choices = [&](std::string_view more) {
    const Reply reply = chat(
        *daemon,
        fmt::format(R"({{"model":"auto",{},"messages":[{{"role":"user","content":"closed"}}]}})",
                    more));
    size_t count = 0;
    for (size_t at = 0;
         (at = reply.body.find(R"("finish_reason":"stop")", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(choices(R"("n":3)"), 3U);
  EXPECT_EQ(choices(R"("n":3,"stream":true)"), 3U);
  EXPECT_EQ(choices(R"("n":1000000)"), 128U);
  EXPECT_EQ(choices(R"("n":null)"), 1U);
  EXPECT_EQ(choices(R"("n":0)"), 1U);
  const Reply stream = chat(
      *daemon,
      R"({"model":"auto","n":2,"stream":true,"messages":[{"role":"user","content":"closed"}]})");
  EXPECT_NE(stream.body.find(R"({"index":1,"delta":{"content":"We are \"closed\"."})"),
            std::string::npos)
      << stream.body;
}

TEST(Daemon, measures_its_models_and_chooses_the_fastest) {
  const auto serve = [](milliseconds delay) {
    return [delay](Wire& wire, int) {
      wire.read_request();
      wire.send(kStreamHead);
      std::this_thread::sleep_for(delay);
      wire.send(chunk("data: {}\n\n") + chunk("data: [DONE]\n\n") + chunk(""));
    };
  };
  Upstream slow(serve(milliseconds(100)));
  Upstream quick(serve(milliseconds(0)));
  auto loaded = config::parse(R"(
version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: 8801}]
providers:
  defaults: {default_model: slow}
  models:
    - {name: slow, backend_refs: [{endpoint: "127.0.0.1:9"}]}
    - {name: quick, backend_refs: [{endpoint: "127.0.0.1:9"}]}
routing:
  decisions:
    - name: any
      modelRefs: [{model: slow}, {model: quick}]
      algorithm: {type: latency_aware, latency_aware: {ttft_percentile: 50}}
)",
                              "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  loaded->config.listeners.front().port = 0;
  loaded->config.management.enabled = false;
  loaded->config.providers.models[0].backend_refs[0].port = slow.port();
  loaded->config.providers.models[1].backend_refs[0].port = quick.port();
  const auto daemon = start(std::move(loaded->config));
  std::string models;
  for (int i = 0; i < 4; ++i) {
    const Reply reply = chat(*daemon, said("hello"));
    EXPECT_EQ(reply.headers.at("x-vsr-selected-algorithm"), "latency_aware");
    models += reply.headers.at("x-vsr-selected-model") + " ";
  }
  EXPECT_EQ(models, "slow quick quick quick ");
}

TEST(Daemon, refuses_personal_data_that_no_model_may_see) {
  const Reply reply = chat(*start(configuration()), said("secret"));
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.headers.at("x-vsr-pii-violation"), "true");
  EXPECT_EQ(reply.headers.at("x-vsr-response-path"), "blocked");
  EXPECT_NE(reply.body.find(R"("code":"pii_policy_violation")"), std::string::npos) << reply.body;
  const Reply wrong = chat(*start(configuration()),
                           R"({"model":"none","messages":[{"role":"user","content":"x"}]})");
  EXPECT_EQ(wrong.headers.at("x-vsr-response-path"), "error");
}

TEST(Daemon, errors_have_the_headers_of_path_and_decision) {
  const auto daemon = start(configuration(closed_port()));
  for (const Reply& reply : {chat(*daemon, "{"), chat(*daemon, R"({"model":"auto"})"),
                             chat(*daemon, said("x"), "Content-Encoding: gzip\r\n")}) {
    EXPECT_GE(reply.status, 400);
    EXPECT_EQ(reply.headers.at("x-vsr-response-path"), "error") << reply.body;
    EXPECT_EQ(reply.headers.at("x-vsr-schema-version"), "2");
  }
  const Reply unreachable = chat(*daemon, said("prove it"));
  EXPECT_EQ(unreachable.status, 502);
  EXPECT_EQ(unreachable.headers.at("x-vsr-response-path"), "error");
  EXPECT_EQ(unreachable.headers.at("x-vsr-selected-decision"), "math");
  EXPECT_EQ(unreachable.headers.at("x-vsr-selected-model"), "math/expert");
}

TEST(Daemon, names_a_wrong_parameter_but_none_that_is_absent) {
  const auto daemon = start(configuration());
  const auto param = [&](std::string_view body) {
    const Reply reply = chat(*daemon, body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    const auto document = json::Document::parse(reply.body);
    return std::string(document->root().find("error")->find("param")->raw());
  };
  EXPECT_EQ(param(R"({"model":"auto","messages":[{"role":1}]})"), "\"messages[0].role\"");
  EXPECT_EQ(param("{"), "null");
  EXPECT_EQ(param("[]"), "null");
}

/// Embeds examples at once, but requests only after their callers have given up.
class StubbornEmbedder final : public engine::TextEmbedder {
 public:
  int32_t dim() const override { return 2; }
  int32_t tokens_max() const override { return 512; }
  Result<void> embed(std::span<const std::string_view>, std::span<float> out) const override {
    for (size_t i = 0; i < out.size(); ++i) out[i] = i % 2 == 0 ? 1.0F : 0.0F;
    return {};
  }
  Result<void> embed_within(const engine::Patience& patience, std::span<const std::string_view>,
                            std::span<float>) const override {
    ++called;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!patience.stop.stop_requested()) {
      if (std::chrono::steady_clock::now() > end) return fail(Code::kInternal, "nobody gave up");
      std::this_thread::sleep_for(milliseconds(5));
    }
    ++given_up;
    return fail(Code::kCancelled, "given up");
  }
  mutable std::atomic<int> called = 0, given_up = 0;
};

/// Waits until a counter has the value.
void expect_in_time(const std::atomic<int>& counter, int wanted) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (counter < wanted && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(counter, wanted);
}

TEST(Daemon, removes_requests_from_the_queues_of_models_at_their_deadline) {
  const auto embedder = std::make_shared<const StubbornEmbedder>();
  config::Config config = configuration(9, true);
  config.listeners.front().timeout = milliseconds(300);
  auto daemon = Daemon::start(std::move(config), [&](const config::Config&) {
    return Result<models::Models>(models::Models{.embedder = embedder});
  });
  ASSERT_TRUE(daemon) << daemon.error().message;
  const Reply late = chat(**daemon, said("what is it like"));
  EXPECT_EQ(late.status, 504) << late.body;
  EXPECT_EQ(late.headers.at("x-vsr-response-path"), "error");
  expect_in_time(embedder->given_up, 1);
  {
    Wire gone = Wire::connect((*daemon)->port("http"));
    gone.send(post("/v1/chat/completions", said("what is it like")));
    expect_in_time(embedder->called, 2);
  }
  expect_in_time(embedder->given_up, 2);
}

TEST(Daemon, serves_its_paths_and_their_methods) {
  const auto daemon = start(configuration());
  const Reply nowhere = ask(*daemon, get("/v2/chat"));
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_EQ(error_message(nowhere.body), "/v2/chat: there is no such path");
  for (const char* path :
       {"/chat/completions", "/v1/v1/chat/completions", "/v1/chat/completions/"}) {
    EXPECT_EQ(error_message(ask(*daemon, get(path)).body),
              fmt::format("{}: there is no such path; did you mean /v1/chat/completions?", path));
  }
  const Reply wrong = ask(*daemon, get("/v1/chat/completions"));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(ask(*daemon, post("/v1/models", "")).headers.at("allow"), "GET, HEAD, OPTIONS");
  const Reply options = ask(*daemon, "OPTIONS /v1/models HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(ask(*daemon, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status, 204);
  EXPECT_EQ(ask(*daemon, "HEAD /v1/models HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
  EXPECT_EQ(ask(*daemon, get("/ready")).body, R"({"ready":true})");
  EXPECT_EQ(ask(*daemon, get("/metrics")).status, 404)
      << "the data plane does not carry management";
}

TEST(Daemon, lists_its_models) {
  const auto daemon = start(configuration());
  const Reply reply = ask(*daemon, get("/v1/models?limit=1"));
  const auto document = json::Document::parse(reply.body);
  ASSERT_TRUE(document);
  std::vector<std::string> ids;
  for (const auto model : document->root().find("data")->items())
    ids.emplace_back(model.find("id")->text());
  EXPECT_EQ(ids, (std::vector<std::string>{"auto", "vllm-sr/auto", "MoM", "team/assistant",
                                           "general", "discreet", "math/expert"}));
  EXPECT_EQ(ask(*daemon, get("/v1/models/math/expert")).status, 200);
  EXPECT_EQ(ask(*daemon, get("/v1/models/none")).status, 404);
}

TEST(Daemon, can_list_only_automatic_names_and_entrypoints) {
  config::Config config = configuration();
  config.router.include_config_models_in_list = false;
  const auto daemon = start(std::move(config));
  const Reply all = ask(*daemon, get("/v1/models"));
  EXPECT_NE(all.body.find("team/assistant"), std::string::npos) << all.body;
  EXPECT_EQ(all.body.find("math/expert"), std::string::npos) << all.body;
  EXPECT_EQ(ask(*daemon, get("/v1/models/math/expert")).status, 404);
}

TEST(Daemon, is_healthy_while_it_loads_and_ready_afterwards) {
  config::Config config = configuration(9, true);
  const uint16_t management = closed_port();
  config.management.port = management;
  const auto ask_management = [&](std::string_view path) {
    Wire client = Wire::connect(management);
    client.send(get(path));
    return client.read_reply();
  };
  auto daemon = Daemon::start(std::move(config), [&](const config::Config& model) {
    EXPECT_EQ(ask_management("/health").status, 200);
    EXPECT_EQ(ask_management("/ready").status, 503);
    return open_fake(model);
  });
  ASSERT_TRUE(daemon) << daemon.error().message;
  EXPECT_EQ(ask_management("/ready").status, 200);
  EXPECT_NE(ask_management("/health").body.find("\"version\":\""), std::string::npos);
  EXPECT_EQ((*daemon)->listening().size(), 2U);
  EXPECT_TRUE((*daemon)->drain());
  EXPECT_EQ(ask_management("/ready").status, 503);
}

TEST(Daemon, finishes_a_stream_before_it_ends) {
  std::promise<void> streaming, draining;
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk("data: 1\n\n"));
    streaming.set_value();
    draining.get_future().wait();
    wire.send(chunk("data: [DONE]\n\n") + chunk(""));
  });
  const auto daemon = start(configuration(upstream.port()));
  Wire client = Wire::connect(daemon->port("http"));
  client.send(post("/v1/chat/completions", said("prove it")));
  streaming.get_future().wait();
  Wire idle = Wire::connect(daemon->port("http"));
  idle.send(get("/v1/models"));
  idle.read_reply();
  auto drained = std::async(std::launch::async, [&] { return daemon->drain(); });
  EXPECT_TRUE(idle.closed());
  draining.set_value();
  const Reply reply = client.read_reply();
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body, "data: 1\n\ndata: [DONE]\n\n");
  client.close();
  EXPECT_TRUE(drained.get());
}

TEST(Daemon, names_the_listener_whose_port_is_taken) {
  const auto first = start(configuration());
  config::Config config = configuration();
  config.listeners.front().port = first->port("http");
  const auto second = Daemon::start(std::move(config), open_fake);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            fmt::format("listeners[0]: listener \"http\" 127.0.0.1:{}: Address already "
                        "in use; stop the process that listens there, "
                        "or configure another port",
                        first->port("http")));
}

}  // namespace
}  // namespace signalbox::test
