// Tests what a daemon reports about its requests: metrics, ids, traces, the log and the record. A
// request that cannot be classified must still be answered, and be marked.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

#include "base/json.h"
#include "base/log.h"
#include "router/config/load.h"
#include "router/daemon/serve.h"
#include "tests/router/net/gateway.h"
#include "tests/router/observe/otlp_read.h"

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
    - name: general
      pricing: {currency: EUR, prompt_per_1m: 1000000, completion_per_1m: 2000000}
      backend_refs: [{name: echo, type: echo}]
    - {name: worker, backend_refs: [{name: a, endpoint: "127.0.0.1:9"}]}
routing:
  signals:
    keywords:
      - {name: proof, keywords: [theorem, prove]}
      - {name: closed, keywords: [closed]}
    embeddings:
      - {name: numbers, threshold: 0.9, candidates: ["one two three"]}
      - {name: forbidden, threshold: 0.9, candidates: ["forbidden"]}
  decisions:
    - name: math
      priority: 10
      rules: {type: keyword, name: proof}
      modelRefs: [{model: worker}]
    - name: guarded
      priority: 9
      rules:
        operator: AND
        conditions: [{type: keyword, name: closed}, {type: embedding, name: forbidden, on_error: match}]
      plugins: [{type: fast_response, configuration: {message: "No."}}]
    - name: numbers
      rules: {type: embedding, name: numbers}
      modelRefs: [{model: general}]
)";

/// Returns (1, 0) for texts that begin with "one", otherwise (0, 1). "slow" texts wait until all
/// callers are gone or their time is up.
class Embedder final : public engine::TextEmbedder {
 public:
  int32_t dim() const override { return 2; }
  int32_t tokens_max() const override { return 512; }
  Result<void> embed(std::span<const std::string_view> texts, std::span<float> out) const override {
    for (size_t i = 0; i < texts.size(); ++i) {
      const bool near = texts[i].starts_with("one");
      out[2 * i] = near ? 1.0F : 0.0F;
      out[2 * i + 1] = near ? 0.0F : 1.0F;
    }
    return {};
  }
  Result<void> embed_within(const engine::Patience& patience,
                            std::span<const std::string_view> texts,
                            std::span<float> out) const override {
    while (texts[0].starts_with("slow")) {
      if (patience.stop.stop_requested()) return fail(Code::kCancelled, "stopped");
      if (std::chrono::steady_clock::now() > patience.deadline)
        return fail(Code::kDeadline, "the queue was too long");
      std::this_thread::sleep_for(milliseconds(1));
    }
    return embed(texts, out);
  }
};

Result<models::Models> open_fake(const config::Config&) {
  return models::Models{.embedder = std::make_unique<const Embedder>()};
}

config::Config configuration(uint16_t worker = 9) {
  auto loaded = config::parse(kConfiguration, "test.yaml");
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message;
    return {};
  }
  loaded->config.listeners.front().port = 0;
  loaded->config.management.port = 0;
  loaded->config.http.threads = 2;
  loaded->config.providers.models.back().backend_refs.front().port = worker;
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
  return client.read_reply();
}

Reply chat(const Daemon& daemon, std::string_view text, std::string_view headers = "") {
  return ask(
      daemon,
      post("/v1/chat/completions",
           fmt::format(R"({{"model":"auto","messages":[{{"role":"user","content":"{}"}}]}})", text),
           headers));
}

std::string scrape(const Daemon& daemon, std::string_view listener = "management") {
  return ask(daemon, get("/metrics"), listener).body;
}

/// A request is counted when its coroutine ends, a moment after its last byte.
bool counts(const Daemon& daemon, std::string_view line) {
  const std::string wanted = fmt::format("\n{}\n", line);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text = scrape(daemon);
    if (text.find(wanted) != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  ADD_FAILURE() << "no line " << line << " in\n" << text;
  return false;
}

std::string header_of(const std::string& request, std::string_view name) {
  const std::string begin = fmt::format("\r\n{}: ", name);
  const size_t at = request.find(begin);
  if (at == std::string::npos) return "";
  return request.substr(at + begin.size(), request.find("\r\n", at + 2) - at - begin.size());
}

TEST(Observed, counts_requests_by_model_decision_and_status) {
  const auto daemon = start(configuration(closed_port()));
  ASSERT_TRUE(daemon);
  EXPECT_EQ(chat(*daemon, "one and two").status, 200);
  EXPECT_EQ(chat(*daemon, "prove it").status, 502);
  ask(*daemon, post("/v1/chat/completions", R"({"model":"mine","messages":[{"role":"user"}]})"));
  for (const char* line : {
           R"(llm_model_requests_total{model="general",decision="numbers",status="200"} 1)",
           R"(llm_model_requests_total{model="worker",decision="math",status="502"} 1)",
           R"(llm_request_errors_total{model="worker",reason="upstream_error"} 1)",
           R"(llm_request_errors_total{model="unknown",reason="model_not_found"} 1)",
           R"(llm_signal_match_total{signal_type="embedding",signal_name="numbers"} 1)",
           R"(llm_signal_extraction_total{signal_type="embedding"} 1)",
           R"(llm_decision_match_total{decision_name="math"} 1)",
           R"(llm_model_prompt_tokens_total{model="general"} 3)",
           R"(signalbox_requests_in_flight 0)",
           R"(llm_model_inflight_requests{model="general"} 0)",
           R"(llm_config_active_version 1)",
       }) {
    counts(*daemon, line);
  }
  const std::string text = scrape(*daemon);
  EXPECT_EQ(text.find("mine"), std::string::npos);
  EXPECT_NE(text.find("llm_model_cost_total{model=\"general\",currency=\"EUR\"} "),
            std::string::npos);
  EXPECT_NE(text.find("signalbox_build_info{version=\""), std::string::npos);
}

TEST(Observed, reports_costs_and_what_the_default_model_would_have_cost) {
  Upstream worker([](Wire& wire, int) {
    wire.read_request();
    wire.send(ok(R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":4,)"
                 R"("prompt_tokens_details":{"cached_tokens":6}}})"));
  });
  config::Config config = configuration(worker.port());
  config.providers.models.back().pricing = config::Pricing{"EUR", 100'000, 50'000, 0, 200'000};
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  EXPECT_EQ(chat(*daemon, "prove it").status, 200);
  counts(*daemon, R"(signalbox_metered_replies_total{model="worker",decision="math"} 1)");
  counts(*daemon, R"(signalbox_worker_fit{model="worker",worker="a"} 1)");
  const Reply reply = ask(*daemon, get("/api/v1/costs"), "management");
  EXPECT_EQ(reply.status, 200);
  // 4 x 0.1 + 6 x 0.05 + 4 x 0.2, and 10 x 1 + 4 x 2.
  for (const std::string_view part :
       {R"("default_model":"general")",
        R"("totals":[{"currency":"EUR","cost":1.5,"cost_on_default":18,"saved":16.5}])",
        R"({"model":"worker","decision":"math","requests":1,"metered":1,)"
        R"("tokens":{"cached":6,"completion":4,"prompt":4,"repeated":0},)"
        R"("cost":{"EUR":1.5},"cost_on_default":{"EUR":18}})"}) {
    EXPECT_NE(reply.body.find(part), std::string::npos) << part << " is not in\n" << reply.body;
  }
}

TEST(Observed, shows_metrics_on_a_port_of_their_own) {
  config::Config config = configuration();
  config.observability.metrics.port = 0;
  config.management.enabled = false;
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  const Reply reply = ask(*daemon, get("/metrics"), "metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(reply.body.find("signalbox_connections "), std::string::npos);
  EXPECT_EQ(ask(*daemon, get("/config/router"), "metrics").status, 404);
}

TEST(Observed, shows_no_metrics_where_they_are_switched_off) {
  config::Config config = configuration();
  config.observability.metrics.enabled = false;
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  EXPECT_EQ(ask(*daemon, get("/metrics"), "management").status, 404);
}

TEST(Observed, promtool_accepts_the_metrics) {
  if (std::system("command -v promtool > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "promtool is not installed (Debian's prometheus)";
  const auto daemon = start(configuration(closed_port()));
  ASSERT_TRUE(daemon);
  chat(*daemon, "one");
  chat(*daemon, "prove");
  counts(*daemon, R"(llm_model_requests_total{model="worker",decision="math",status="502"} 1)");
  FILE* tool = ::popen("promtool check metrics 1>&2", "w");
  ASSERT_NE(tool, nullptr);
  const std::string text = scrape(*daemon);
  ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), tool), text.size());
  EXPECT_EQ(::pclose(tool), 0) << text;
}

TEST(Observed, passes_request_ids_on_and_returns_them) {
  std::mutex mutex;
  std::string received;
  Upstream worker([&](Wire& wire, int) {
    const std::string request = wire.read_request();
    const std::lock_guard lock(mutex);
    received = request;
    wire.send(ok("{}"));
  });
  const auto daemon = start(configuration(worker.port()));
  ASSERT_TRUE(daemon);
  constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const Reply reply =
      chat(*daemon, "prove it",
           "x-request-id: r-1\r\ntracestate: vendor=1\r\n"
           "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n");
  EXPECT_EQ(reply.headers.at("x-request-id"), "r-1");
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(header_of(received, "x-request-id"), "r-1");
    const std::string traceparent = header_of(received, "traceparent");
    EXPECT_TRUE(traceparent.starts_with(fmt::format("00-{}-", kTrace))) << received;
    EXPECT_EQ(traceparent.find("00f067aa0ba902b7"), std::string::npos)
        << "our span, not the client's";
    EXPECT_TRUE(traceparent.ends_with("-01"));
    EXPECT_EQ(header_of(received, "tracestate"), "vendor=1");
    EXPECT_EQ(received.find("traceparent", received.find("traceparent") + 1), std::string::npos);
  }
  chat(*daemon, "prove it", "traceparent: 00-xyz\r\ntracestate: vendor=1\r\n");
  const std::lock_guard lock(mutex);
  EXPECT_EQ(header_of(received, "traceparent").size(), 55U) << received;
  EXPECT_EQ(received.find("tracestate"), std::string::npos);
  EXPECT_TRUE(header_of(received, "x-request-id").starts_with("req-"));
}

TEST(Observed, sends_the_spans_of_a_request_to_a_collector) {
  std::mutex mutex;
  std::string exported, worker_saw;
  Upstream collector([&](Wire& wire, int) {
    for (;;) {
      const std::string request = wire.read_request();
      if (request.empty()) return;
      {
        const std::lock_guard lock(mutex);
        exported = request;
      }
      wire.send(ok("{}"));
    }
  });
  Upstream worker([&](Wire& wire, int) {
    const std::string request = wire.read_request();
    const std::lock_guard lock(mutex);
    worker_saw = request;
    wire.send(ok("{}"));
  });
  config::Config config = configuration(worker.port());
  auto& tracing = config.observability.tracing;
  tracing.exporter.endpoint = fmt::format("127.0.0.1:{}", collector.port());
  tracing.exporter.insecure = true;
  tracing.exporter.headers = {{"x-api-key", "k-1"}};
  tracing.resource.service_name = "tested";
  auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  EXPECT_EQ(chat(*daemon, "prove this secret").status, 200);
  counts(*daemon, R"(signalbox_spans_total{result="exported"} 1)");
  const std::lock_guard lock(mutex);
  EXPECT_TRUE(exported.starts_with("POST /v1/traces HTTP/1.1\r\n")) << exported;
  EXPECT_EQ(exported.find("secret"), std::string::npos);
  EXPECT_EQ(header_of(exported, "Content-Type"), "application/x-protobuf");
  EXPECT_EQ(header_of(exported, "x-api-key"), "k-1");
  const auto read = read_export(exported.substr(exported.find("\r\n\r\n") + 4));
  EXPECT_EQ(read.resource.at("service.name"), "\n\6tested");
  const std::string traceparent = header_of(worker_saw, "traceparent");
  std::string names;
  for (const ReadSpan& span : read.spans) {
    names += span.name + "\n";
    EXPECT_EQ(span.trace, traceparent.substr(3, 32));
    if (span.name == "semantic_router.upstream.request") {
      EXPECT_EQ(span.id, traceparent.substr(36, 16)) << "the worker's parent";
    }
  }
  EXPECT_EQ(names,
            "semantic_router.request.received\nsemantic_router.signal.evaluation\n"
            "semantic_router.signal.keyword\nsemantic_router.decision.evaluation\n"
            "semantic_router.routing.decision\nsemantic_router.upstream.request\n");
}

TEST(Observed, serves_while_the_collector_is_down) {
  config::Config config = configuration();
  auto& exporter = config.observability.tracing.exporter;
  exporter.endpoint = fmt::format("127.0.0.1:{}", closed_port());
  exporter.insecure = true;
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  EXPECT_EQ(chat(*daemon, "one").status, 200);
  counts(*daemon, "signalbox_span_retries_total 1");
  EXPECT_EQ(chat(*daemon, "one").status, 200);
}

TEST(Observed, logs_one_line_per_request_without_its_text) {
  ASSERT_TRUE(log::set_format("json"));
  testing::internal::CaptureStderr();
  {
    const auto daemon = start(configuration(closed_port()));
    ASSERT_TRUE(daemon);
    const std::string_view key =
        "Authorization: Bearer sk-fake-0123456789\r\nx-request-id: r-7\r\n";
    chat(*daemon, "one: my card is 4111 1111 1111 1111", key);
    chat(*daemon, "prove that card 4111 1111 1111 1111 is mine", key);
    ask(*daemon, post("/v1/chat/completions",
                      R"({"model":"4111 1111","messages":[{"role":"user","content":"x"}]})", key));
    ask(*daemon, post("/v1/chat/completions", R"({"model":"4111 1111","messages":[7)", key));
    counts(*daemon, R"(signalbox_requests_in_flight 0)");
    daemon->drain();
  }
  const std::string written = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(log::set_format("text"));
  EXPECT_EQ(written.find("4111 1111"), std::string::npos) << written;
  EXPECT_EQ(written.find("sk-fake"), std::string::npos) << written;
  std::multiset<std::string> found;
  for (size_t at = 0; at < written.size();) {
    const size_t end = written.find('\n', at);
    const auto line = json::Document::parse(written.substr(at, end - at));
    ASSERT_TRUE(line) << written.substr(at, end - at);
    at = end + 1;
    if (line->root().find("component")->text() != "request") continue;
    EXPECT_EQ(line->root().find("request_id")->text(), "r-7");
    EXPECT_TRUE(line->root().find("total_ms"));
    const std::string_view status = line->root().find("status")->raw();
    found.emplace(status);
    if (status == "502") {
      EXPECT_EQ(line->root().find("detail")->text(),
                "backend \"a\": cannot connect: Connection refused");
    }
    if (status == "404") {
      EXPECT_NE(line->root().find("detail")->text().find("unknown model \"...\""),
                std::string::npos);
    }
  }
  EXPECT_EQ(found, (std::multiset<std::string>{"200", "400", "404", "502"}));
}

TEST(Observed, records_requests_for_replay_without_their_text) {
  config::Config config = configuration();
  config.router_replay.enabled = true;
  config.router_replay.max_records = 2;
  auto& math = config.routing.decisions.front();
  math.router_replay = config::RouterReplayPlugin{};
  math.router_replay->capture_request_body = true;
  math.router_replay->capture_response_body = true;
  math.router_replay->max_body_bytes = 30;
  math.model_refs.front().model = "general";
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  chat(*daemon, "one forgotten");
  const std::string plain =
      chat(*daemon, "one kept", "x-authz-user-id: ada\r\n").headers.at("x-vsr-replay-id");
  counts(*daemon, "signalbox_replay_records 2");
  const std::string captured = chat(*daemon, "prove it").headers.at("x-vsr-replay-id");
  Reply list;  // a request is recorded after it was answered
  for (int i = 0; i < 500 && list.body.find(captured) == std::string::npos; ++i) {
    list = ask(*daemon, get("/v1/router_replay"), "management");
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_EQ(list.status, 200);
  EXPECT_EQ(list.body.find("kept"), std::string::npos) << list.body;
  EXPECT_EQ(list.body.find("prove"), std::string::npos);
  const auto document = json::Document::parse(list.body);
  ASSERT_TRUE(document) << list.body;
  std::string ids;
  for (const json::Value& each : document->root().find("data")->items())
    ids += std::string(each.find("id")->text()) + " ";
  EXPECT_EQ(ids, captured + " " + plain + " ");
  const auto asked = [&](const std::string& path) { return ask(*daemon, get(path), "management"); };
  EXPECT_NE(asked("/v1/router_replay?decision=math&limit=1").body.find("\"total\":1"),
            std::string::npos);
  EXPECT_EQ(asked("/v1/router_replay?limit=many").status, 400);
  EXPECT_EQ(asked("/v1/router_replay/none").status, 404);
  const auto remove = [&](std::string_view query) {
    return ask(*daemon,
               fmt::format("DELETE /v1/router_replay{} HTTP/1.1\r\nHost: localhost\r\n\r\n", query),
               "management");
  };
  EXPECT_EQ(remove("").status, 400);
  EXPECT_EQ(remove("?user=nobody").body, R"({"deleted":0})");
  EXPECT_NE(list.body.find(R"("user":"ada")"), std::string::npos) << "also without a ledger";

  EXPECT_EQ(asked("/v1/router_replay/" + plain).body.find("request_body"), std::string::npos);
  const Reply one = asked("/v1/router_replay/" + captured);
  const auto record = json::Document::parse(one.body);
  ASSERT_TRUE(record) << one.body;
  EXPECT_EQ(record->root().find("request_body")->text().size(), 30U);
  EXPECT_EQ(record->root().find("request_body_truncated")->raw(), "true");
  EXPECT_EQ(record->root().find("response_body")->text().size(), 30U);
  EXPECT_EQ(record->root().find("signals")->raw(), R"({"keyword":["proof"]})");
}

TEST(Observed, forgets_the_texts_of_a_decision_before_its_record) {
  config::Config config = configuration();
  config.router_replay.body_ttl_seconds = 1;
  auto& math = config.routing.decisions.front();
  auto& numbers = config.routing.decisions.back();
  for (config::Decision* decision : {&math, &numbers}) {
    decision->router_replay = config::RouterReplayPlugin{};
    decision->router_replay->capture_request_body = true;
    decision->model_refs.front().model = "general";
  }
  numbers.router_replay->body_ttl_seconds = 3'600;
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  const std::string brief = chat(*daemon, "prove it").headers.at("x-vsr-replay-id");
  const std::string kept = chat(*daemon, "one").headers.at("x-vsr-replay-id");
  counts(*daemon, "signalbox_replay_records 2");
  const auto record = [&](const std::string& id) {
    return ask(*daemon, get("/v1/router_replay/" + id), "management").body;
  };
  std::string found = record(brief);
  for (int i = 0; i < 4'000 && found.find("bodies_expired") == std::string::npos; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
    found = record(brief);
  }
  EXPECT_NE(found.find("\"bodies_expired\":true"), std::string::npos) << found;
  EXPECT_EQ(found.find("prove"), std::string::npos) << found;
  EXPECT_NE(record(kept).find("request_body"), std::string::npos);
}

TEST(Observed, decides_without_overloaded_models_and_marks_the_reply) {
  config::Config config = configuration();
  config.http.model_queue_max = 0;
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  const Reply reply = chat(*daemon, "one");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-vsr-degraded-reason"), "overloaded");
  EXPECT_EQ(reply.headers.at("x-vsr-selected-model"), "general");
  // Its guard was not evaluated, so the refusal is temporary.
  const Reply refused = chat(*daemon, "closed");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  counts(*daemon, R"(signalbox_degraded_total{reason="overloaded"} 2)");
}

TEST(Observed, decides_without_models_that_take_too_long) {
  config::Config config = configuration();
  config.http.decision_timeout = milliseconds(100);
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  const Reply reply = chat(*daemon, "slow");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-vsr-degraded-reason"), "timeout");
  // A guard that ran out of time has found nothing, but the request must not pass.
  const Reply unjudged = chat(*daemon, "slow and closed");
  EXPECT_EQ(unjudged.status, 503);
  EXPECT_EQ(unjudged.headers.at("retry-after"), "5");
  EXPECT_NE(unjudged.body.find("\"code\":\"unavailable\""), std::string::npos) << unjudged.body;
  EXPECT_NE(unjudged.body.find("decision_timeout (100 ms)"), std::string::npos) << unjudged.body;
  counts(*daemon, R"(signalbox_degraded_total{reason="timeout"} 2)");
}

TEST(Observed, refuses_requests_before_their_bodies_fill_the_memory) {
  config::Config config = configuration();
  config.http.bodies_bytes_max = 4096;
  const auto daemon = start(std::move(config));
  ASSERT_TRUE(daemon);
  EXPECT_EQ(chat(*daemon, "one").status, 200);
  // A body that has arrived counts three times.
  const Reply reply = chat(*daemon, "one " + std::string(1400, 'x'));
  EXPECT_EQ(reply.status, 413) << "trying again would not help";
  EXPECT_NE(reply.body.find("more memory than 4096 bytes"), std::string::npos) << reply.body;
  // Reading a text that may be JSON takes more than reading another one.
  EXPECT_EQ(chat(*daemon, "one " + std::string(700, 'x')).status, 200);
  const Reply nested = chat(*daemon, "one \\\"" + std::string(700, 'x'));
  EXPECT_EQ(nested.status, 413);
  EXPECT_NE(nested.body.find("bodies_bytes_max"), std::string::npos) << nested.body;
  EXPECT_EQ(chat(*daemon, "one " + std::string(700, 'x')).status, 200);
  // A client that leaves gives back what it held.
  Wire gone = Wire::connect(daemon->port("http"));
  const std::string large = post("/v1/chat/completions", std::string(400, 'x'));
  gone.send(large.substr(0, large.size() - 10));
  gone.close();
  EXPECT_EQ(chat(*daemon, "one " + std::string(900, 'x')).status, 200);
  EXPECT_NE(scrape(*daemon).find("signalbox_refused_total{reason=\"bodies\"} "), std::string::npos);
}

}  // namespace
}  // namespace signalbox::test
