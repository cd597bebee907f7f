// Tests the whole daemon when models fail: another model must answer, with its own name in the
// request, and the client must learn which.

#include <gtest/gtest.h>

#include "tests/router/net/gateway.h"
#include "tests/router/net/started.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;

constexpr std::string_view kWithFallback = R"(
version: v0.3
listeners:
  - {{name: http, address: 127.0.0.1, port: 0, timeout: 20s}}
global: {{services: {{http: {{threads: 2}}, management_api: {{enabled: false}}}}}}
providers:
  defaults: {{default_model: first}}
  models:
    - name: first
      provider_model_id: org/first
      reliability: {{{}}}
      backend_refs: [{{name: a, endpoint: "127.0.0.1:{}"}}]
    - {{name: second, provider_model_id: org/second, backend_refs: [{{name: b, endpoint: "127.0.0.1:{}", engine_kind: dynamo}}]}}
routing:
  signals:
    keywords: [{{name: any, keywords: [hello]}}]
  decisions:
    - name: greeting
      rules: {{type: keyword, name: any}}
      modelRefs: [{{model: first}}, {{model: second}}]
      plugins: [{{type: response_cache, configuration: {{mode: exact}}}}]
)";

std::unique_ptr<Daemon> start(uint16_t first, uint16_t second, std::string_view reliability = "") {
  return started(fmt::format(kWithFallback, reliability, first, second));
}

Reply chat_with(const Daemon& daemon, std::string_view model, std::string_view text) {
  Wire client = Wire::connect(daemon.port("http"));
  client.send(post(
      "/v1/chat/completions",
      fmt::format(R"({{"n": 1e0, "model":"{}", "messages":[{{"role":"user","content":"{}"}}]}})",
                  model, text)));
  return client.read_reply();
}

/// Answers every request with `reply` and keeps the last request.
class Kept {
 public:
  explicit Kept(std::string reply)
      : upstream_([this, reply](Wire& wire, int) {
          for (std::string request; !(request = wire.read_request()).empty();) {
            {
              const std::lock_guard lock(mutex_);
              last_ = request;
              ++count_;
            }
            wire.send(reply);
          }
        }) {}
  uint16_t port() const { return upstream_.port(); }
  std::string last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  int count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  std::string last_;
  int count_ = 0;
  Upstream upstream_;
};

TEST(Failover, another_model_of_the_decision_answers) {
  Kept second(ok("{}"));
  const auto daemon = start(closed_port(), second.port());
  const Reply reply = chat_with(*daemon, "auto", "hello");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-vsr-selected-model"), "second");
  EXPECT_EQ(reply.headers.at("x-vsr-selected-decision"), "greeting");
  EXPECT_EQ(reply.headers.at("x-vsr-failover-from"), "first");
  EXPECT_EQ(reply.headers.at("x-vsr-attempts"), "2");
  const std::string got = second.last();
  EXPECT_TRUE(got.ends_with(
      R"({"n": 1e0, "model":"org/second", "messages":[{"role":"user","content":"hello"}]})"))
      << got;
  EXPECT_NE(got.find("x-vsr-selected-model: second\r\n"), std::string::npos) << got;
}

TEST(Failover, a_request_refused_before_any_work_goes_elsewhere_but_errors_do_not) {
  Kept second(ok("{}"));
  {
    Kept first("HTTP/1.1 503 X\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n");
    const auto daemon = start(first.port(), second.port());
    EXPECT_EQ(chat_with(*daemon, "auto", "hello").headers.at("x-vsr-selected-model"), "second");
    EXPECT_EQ(first.count(), 1);
  }
  Kept first("HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n");
  const auto daemon = start(first.port(), second.port());
  const Reply reply = chat_with(*daemon, "auto", "hello");
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.headers.at("x-vsr-selected-model"), "first");
  EXPECT_FALSE(reply.has("x-vsr-failover-from"));
}

TEST(Failover, a_model_that_the_client_names_is_replaced_only_if_the_file_allows_it) {
  Kept second(ok("{}"));
  {
    const auto daemon = start(closed_port(), second.port());
    const Reply reply = chat_with(*daemon, "first", "hello");
    EXPECT_EQ(reply.status, 502);
    EXPECT_EQ(reply.headers.at("x-vsr-response-path"), "error");
    EXPECT_EQ(second.count(), 0);
  }
  const auto daemon = start(closed_port(), second.port(), "fallback_models: [second]");
  const Reply reply = chat_with(*daemon, "first", "hello");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-vsr-failover-from"), "first");
}

TEST(Failover, caches_no_answer_of_a_fallback_model) {
  Kept second(
      ok(R"({"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",)"
         R"("content":"x"},"finish_reason":"stop"}]})"));
  const auto daemon = start(closed_port(), second.port());
  for (int i = 1; i <= 2; ++i) {
    EXPECT_FALSE(chat_with(*daemon, "auto", "hello").has("x-vsr-cache-hit"));
    EXPECT_EQ(second.count(), i);
  }
}

TEST(Failover, the_client_gets_the_last_error_if_all_models_fail) {
  const auto daemon = start(closed_port(), closed_port());
  const Reply reply = chat_with(*daemon, "auto", "hello");
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.headers.at("x-vsr-failover-from"), "first");
  EXPECT_EQ(reply.headers.at("x-vsr-selected-model"), "second");
  EXPECT_EQ(error_message(reply.body).find("the model's server: "), 0U) << reply.body;
}

}  // namespace
}  // namespace signalbox::test
