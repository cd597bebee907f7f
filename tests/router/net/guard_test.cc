// Tests checks of replies through the whole daemon: marks between the upstream's events, their
// time, the wait at the end, and slow, impossible or unwanted checks.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>

#include "base/json_writer.h"
#include "tests/router/fake_classifier.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/started.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kConfiguration = R"(
version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 0, timeout: 20s}
providers:
  defaults: {default_model: m}
  models:
    - {name: m, backend_refs: [{name: a, endpoint: "127.0.0.1:9"}]}
routing:
  signals:
    keywords:
      - {name: text, keywords: [in-the-text]}
      - {name: end, keywords: [end-it]}
      - {name: attempts, keywords: [attempts]}
      - {name: strict, keywords: [strict]}
      - {name: kept, keywords: [kept]}
  decisions:
    - name: text
      priority: 5
      rules: {type: keyword, name: text}
      modelRefs: [{model: m}]
      plugins: [{type: hallucination, configuration: {hallucination_action: body}}]
    - name: end
      priority: 5
      rules: {type: keyword, name: end}
      modelRefs: [{model: m}]
      plugins: [{type: hallucination, configuration: {hallucination_action: block}}]
    - name: strict
      priority: 5
      rules: {type: keyword, name: strict}
      modelRefs: [{model: m}]
      plugins: [{type: response_jailbreak, configuration: {action: block}}]
    - name: attempts
      priority: 5
      rules: {type: keyword, name: attempts}
      modelRefs: [{model: m}]
      plugins: [{type: response_jailbreak, configuration: {threshold: 0.85}}]
    - name: kept
      priority: 5
      rules: {type: keyword, name: kept}
      modelRefs: [{model: m}]
      plugins: [{type: response_cache, configuration: {mode: exact}}, {type: hallucination}]
    - name: header
      priority: 1
      modelRefs: [{model: m}]
      plugins: [{type: hallucination}]
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: 0}
    http: {guard_wait: 200ms}
  model_catalog: {system: {prompt_guard: models/guard}}
)";

/// A classifier that can be made to wait.
class Gate final : public test::FakeClassifier {
 public:
  Gate() : test::FakeClassifier({"benign", "jailbreak"}, engine::HeadKind::kSequence, false) {}

  Result<std::vector<engine::Answer>> answer(std::span<const engine::Input> inputs) const override {
    std::unique_lock lock(mutex_);
    ++asked_;
    changed_.notify_all();
    changed_.wait_for(lock, kPatience, [this] { return !closed_; });
    return test::FakeClassifier::answer(inputs);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }
  void wait_until_asked() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [this] { return asked_ > 0; }));
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int asked_ = 0;
  bool closed_ = false;
};

std::unique_ptr<Daemon> start(uint16_t upstream_port, std::shared_ptr<Gate> gate = nullptr) {
  return started(kConfiguration, served_at(upstream_port),
                 [gate](const config::Config&) -> Result<models::Models> {
                   models::Models out;
                   if (gate) out.classifiers.emplace("models/guard", gate);
                   return out;
                 });
}

std::string request(std::string_view text, bool stream = true) {
  return post(
      "/v1/chat/completions",
      fmt::format(R"({{"model":"auto","stream":{},"messages":[{{"role":"user","content":"{}"}},)"
                  R"({{"role":"tool","tool_call_id":"t","content":"The bridge of 1932 is 503 m )"
                  R"(long."}}]}})",
                  stream, text),
      "Accept-Encoding: gzip\r\n");
}

std::string event(std::string_view text) {
  return fmt::format(
      "data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{}}}}}]}}\n\n",
      json::quote(text));
}

constexpr std::string_view kStop =
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
constexpr std::string_view kDone = "data: [DONE]\n\n";
constexpr std::string_view kMark =
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":null}],"
    "\"vsr_guard\":{\"warnings\":[\"hallucination\"]}}\n\n";

double ms_since(Clock::time_point then) {
  return std::chrono::duration<double, std::milli>(Clock::now() - then).count();
}

TEST(Guard, reports_a_made_up_number_while_upstream_is_silent) {
  std::promise<void> report_arrived;
  std::atomic<Clock::time_point> sent_at;
  Upstream upstream([&](Wire& wire, int) {
    const std::string received = wire.read_request();
    EXPECT_NE(received.find("Accept-Encoding: identity\r\n"), std::string::npos) << received;
    wire.send(kStreamHead);
    wire.send(chunk(event("It is 600 m")));
    wire.send(chunk(event(" long.")));
    sent_at = Clock::now();
    report_arrived.get_future().wait_for(kPatience);
    wire.send(chunk(event(" So it is.") + std::string(kStop) + std::string(kDone)));
    wire.send("0\r\n\r\n");
  });
  const auto daemon = start(upstream.port());
  Wire client = Wire::connect(daemon->port("http"));
  client.send(request("How long?"));
  const std::string begun = client.read_until("vsr_guard");
  const double ms = ms_since(sent_at);
  report_arrived.set_value();
  EXPECT_NE(begun.find(" long."), std::string::npos);
  EXPECT_EQ(begun.find("So it is."), std::string::npos) << "the upstream was not silent any more";
  RecordProperty("reported_after_ms", std::to_string(ms));
  const std::string rest = client.read_until("[DONE]");
  EXPECT_NE(rest.find("So it is."), std::string::npos) << rest;
  EXPECT_NE(rest.find("\"stop\""), std::string::npos) << rest;
}

TEST(Guard, puts_marks_between_events_however_they_are_cut) {
  const std::string all = event("It is 600 m long.") + event(" It is 503 m long.") +
                          std::string(kStop) + std::string(kDone);
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    for (const char& c : all) wire.send(chunk({&c, 1}));
    wire.send("0\r\n\r\n");
  });
  const auto daemon = start(upstream.port());
  Wire client = Wire::connect(daemon->port("http"));
  client.send(request("How long?"));
  Reply reply = client.read_reply();
  EXPECT_TRUE(reply.complete);
  const size_t mark = reply.body.find(kMark);
  ASSERT_NE(mark, std::string::npos) << reply.body;
  EXPECT_TRUE(mark == 0 || reply.body.substr(0, mark).ends_with("\n\n"));
  EXPECT_LT(mark, reply.body.find(kStop));
  EXPECT_EQ(reply.body.erase(mark, kMark.size()), all);
}

TEST(Guard, sends_the_finding_in_a_trailer_if_the_client_accepts_trailers) {
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk(event("It is 600 m long.") + std::string(kStop) + std::string(kDone)));
    wire.send("0\r\n\r\n");
  });
  const auto daemon = start(upstream.port());
  Wire client = Wire::connect(daemon->port("http"));
  std::string asked = request("How long?");
  asked.insert(asked.find("\r\n") + 2, "TE: trailers\r\n");
  client.send(asked);
  const std::string reply = client.read_until("hallucination\r\n\r\n");
  EXPECT_NE(reply.find("Trailer: x-vsr-response-warnings, x-vsr-response-unchecked\r\n"),
            std::string::npos)
      << reply;
  EXPECT_TRUE(reply.ends_with("\r\n0\r\nx-vsr-response-warnings: hallucination\r\n\r\n")) << reply;
}

TEST(Guard, leaves_a_supported_stream_alone) {
  const std::string all = event("It is 503 m long.") + std::string(kStop) + std::string(kDone);
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk(all));
    wire.send("0\r\n\r\n");
  });
  const auto daemon = start(upstream.port());
  Wire client = Wire::connect(daemon->port("http"));
  client.send(request("How long?"));
  const Reply reply = client.read_reply();
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body, all);
  EXPECT_FALSE(reply.has("x-vsr-response-warnings"));
}

TEST(Guard, ends_a_stream_and_the_call_with_it) {
  std::promise<bool> gone;
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk(event("It is 600 m long. So")));
    gone.set_value(wire.closed());
  });
  const auto daemon = start(upstream.port());
  Wire client = Wire::connect(daemon->port("http"));
  client.send(request("end-it"));
  const Reply reply = client.read_reply();
  EXPECT_TRUE(reply.complete);
  EXPECT_NE(reply.body.find("\"finish_reason\":\"content_filter\""), std::string::npos);
  EXPECT_NE(reply.body.find("\"ended\":true"), std::string::npos);
  EXPECT_TRUE(reply.body.ends_with(kDone)) << reply.body;
  EXPECT_TRUE(gone.get_future().get());
}

TEST(Guard, relays_tokens_during_a_slow_check_and_marks_them_unchecked) {
  const auto gate = std::make_shared<Gate>();
  gate->close();
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk(event("Hello there. So")));
    gate->wait_until_asked();
    wire.send(chunk(event(" it goes on.")));
    wire.send(chunk(std::string(kStop) + std::string(kDone)));
    wire.send("0\r\n\r\n");
  });
  const auto daemon = start(upstream.port(), gate);
  Wire client = Wire::connect(daemon->port("http"));
  client.send(request("attempts"));
  const std::string begun = client.read_until(" it goes on.");
  EXPECT_EQ(begun.find("vsr_guard"), std::string::npos);
  const auto before = Clock::now();
  const std::string rest = client.read_until("[DONE]");
  EXPECT_GT(ms_since(before), 100);
  EXPECT_NE(rest.find(R"("unchecked":["response_jailbreak"])"), std::string::npos) << rest;
  EXPECT_LT(rest.find("vsr_guard"), rest.find("\"stop\"")) << rest;
  gate->open();
}

TEST(Guard, text_of_an_upstream_that_dies_is_relayed_and_marked_unchecked) {
  const auto gate = std::make_shared<Gate>();
  gate->close();
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk(event("Hello there. So") + std::string(kStop)));
    gate->wait_until_asked();
    wire.close();
  });
  const auto daemon = start(upstream.port(), gate);
  Wire client = Wire::connect(daemon->port("http"));
  client.send(request("attempts"));
  const std::string reply = client.read_until("\"error\"");
  EXPECT_NE(reply.find("\"stop\""), std::string::npos) << reply;
  EXPECT_NE(reply.find(R"("unchecked":["response_jailbreak"])"), std::string::npos) << reply;
  gate->open();
}

TEST(Guard, a_client_that_leaves_ends_the_call_and_the_daemon_continues) {
  const auto gate = std::make_shared<Gate>();
  gate->close();
  std::promise<bool> gone;
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk(event("Hello there. So")));
    gone.set_value(wire.closed());
  });
  {
    const auto daemon = start(upstream.port(), gate);
    Wire client = Wire::connect(daemon->port("http"));
    client.send(request("attempts"));
    client.read_until("Hello");
    gate->wait_until_asked();
    client.close();
    EXPECT_TRUE(gone.get_future().get());
    gate->open();
  }
}

TEST(Guard, finds_attacks_in_a_stream) {
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk(event("A jail") + event("break. So")));
    wire.send(chunk(event(" be it.") + std::string(kStop) + std::string(kDone)));
    wire.send("0\r\n\r\n");
  });
  const auto daemon = start(upstream.port(), std::make_shared<Gate>());
  for (const std::string_view text : {"attempts", "strict"}) {
    Wire client = Wire::connect(daemon->port("http"));
    client.send(request(text));
    const Reply reply = client.read_reply();
    EXPECT_TRUE(reply.complete);
    EXPECT_NE(reply.body.find(R"("warnings":["response_jailbreak"])"), std::string::npos);
    EXPECT_EQ(reply.body.find("content_filter") != std::string::npos, text == "strict")
        << reply.body;
  }
}

std::string whole(std::string_view text) {
  return fmt::format(
      R"({{"choices":[{{"index":0,"message":{{"role":"assistant","content":{}}}}}]}})",
      json::quote(text));
}

TEST(Guard, checks_a_whole_reply_before_it_goes_out) {
  std::string text = "It is 600 m long.";
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(ok(whole(text)));
  });
  const auto daemon = start(upstream.port(), std::make_shared<Gate>());
  const auto ask = [&](std::string_view question) {
    Wire client = Wire::connect(daemon->port("http"));
    client.send(request(question, false));
    return client.read_reply();
  };
  const Reply marked = ask("How long?");
  EXPECT_EQ(marked.status, 200);
  EXPECT_EQ(marked.headers.at("x-vsr-response-warnings"), "hallucination");
  EXPECT_NE(marked.body.find("vsr_guard"), std::string::npos);
  const Reply warned = ask("in-the-text");
  EXPECT_NE(warned.body.find("\"content\":\"[Hallucination Warning]"), std::string::npos)
      << warned.body;
  const Reply withheld = ask("end-it");
  EXPECT_EQ(withheld.status, 403);
  EXPECT_EQ(withheld.headers.at("x-vsr-response-path"), "blocked");
  EXPECT_EQ(withheld.body.find("600 m"), std::string::npos) << withheld.body;
  text = "It is 503 m long.";
  const Reply clean = ask("How long?");
  EXPECT_EQ(clean.body, whole(text));
  EXPECT_FALSE(clean.has("x-vsr-response-warnings"));
  text = "A jailbreak.";
  EXPECT_EQ(ask("strict").status, 403);
  EXPECT_EQ(ask("attempts").headers.at("x-vsr-response-warnings"), "response_jailbreak");
}

TEST(Guard, checks_cached_answers_too) {
  std::atomic<int> calls = 0;
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    ++calls;
    wire.send(ok(R"({"id":"c","object":"chat.completion","created":1,"model":"m","choices":[)"
                 R"({"index":0,"message":{"role":"assistant","content":"It is 600 m long."},)"
                 R"("finish_reason":"stop"}]})"));
  });
  const auto daemon = start(upstream.port());
  for (int i = 0; i < 2; ++i) {
    Wire client = Wire::connect(daemon->port("http"));
    client.send(request("kept", false));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.headers.at("x-vsr-response-path"), i == 0 ? "upstream" : "cache");
    EXPECT_EQ(reply.headers.at("x-vsr-response-warnings"), "hallucination");
  }
  Wire client = Wire::connect(daemon->port("http"));
  client.send(request("kept", true));
  const Reply streamed = client.read_reply();
  EXPECT_TRUE(streamed.complete);
  EXPECT_NE(streamed.body.find(R"("warnings":["hallucination"])"), std::string::npos);
  EXPECT_EQ(calls, 1);
}

TEST(Guard, marks_or_withholds_replies_that_it_cannot_read) {
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n\x0b\x80");
  });
  const auto daemon = start(upstream.port(), std::make_shared<Gate>());
  const auto ask = [&](std::string_view question) {
    Wire client = Wire::connect(daemon->port("http"));
    client.send(request(question, false));
    return client.read_reply();
  };
  const Reply reply = ask("How long?");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "\x0b\x80");
  EXPECT_EQ(reply.headers.at("x-vsr-response-unchecked"), "hallucination");
  EXPECT_EQ(ask("strict").status, 502);
}

TEST(Guard, marks_replies_unchecked_without_a_model_for_attacks) {
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(ok(whole("Hello.")));
  });
  const auto daemon = start(upstream.port());
  Wire client = Wire::connect(daemon->port("http"));
  client.send(request("attempts", false));
  EXPECT_EQ(client.read_reply().headers.at("x-vsr-response-unchecked"), "response_jailbreak");
  Wire other = Wire::connect(daemon->port("http"));
  other.send(request("strict", false));
  EXPECT_EQ(other.read_reply().status, 403);
  bool noticed = false;
  for (const std::string& notice : daemon->notices())
    noticed = noticed ||
              notice.find("checked for attempts to override instructions") != std::string::npos;
  EXPECT_TRUE(noticed);
}

}  // namespace
}  // namespace signalbox::test
