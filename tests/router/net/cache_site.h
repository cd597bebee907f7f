#pragma once
// Routers that cache answers, for tests through the whole daemon, and a server that counts its
// requests.

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "tests/router/fake_embedder.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/json_member.h"
#include "tests/router/net/started.h"

namespace signalbox::test {

inline constexpr std::string_view kKeepsAnswers = R"(
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
      - {name: plain, keywords: [plainly]}
      - {name: exact, keywords: [exactly]}
      - {name: masked, keywords: [masked]}
      - {name: shared, keywords: [shared]}
  decisions:
    - {name: plain, priority: 9, rules: {type: keyword, name: plain}, modelRefs: [{model: m}]}
    - name: exact
      priority: 8
      rules: {type: keyword, name: exact}
      modelRefs: [{model: m}]
      plugins: [{type: response_cache, configuration: {mode: exact}}]
    - name: masked
      priority: 7
      rules: {type: keyword, name: masked}
      modelRefs: [{model: m}]
      plugins: [{type: response_cache}, {type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
    - name: shared
      priority: 6
      rules: {type: keyword, name: shared}
      modelRefs: [{model: m}]
      plugins: [{type: response_cache, configuration: {scope: global}}]
    - name: any
      priority: 1
      modelRefs: [{model: m}]
      plugins:
        - type: semantic-cache
          configuration:
            semantic: {similarity_threshold: 0.5}
            request_controls: {enabled: true, max_ttl_seconds: 60}
global:
  services: {management_api: {bind_address: 127.0.0.1, port: 0}}
)";

/// A daemon with an upstream that counts requests and gives configurable replies.
class Site {
 public:
  explicit Site(Upstream::Script script, std::string_view text = kKeepsAnswers)
      : upstream_(std::move(script)) {
    const auto adjust = [this](config::Config& config) {
      served_at(upstream_.port())(config);
      config.http.threads = 2;
    };
    daemon_ = started(text, adjust, [this](const config::Config&) {
      models::Models models;
      models.embedder = std::make_shared<test::FakeEmbedder>(&embedded, &broken);
      return Result<models::Models>(std::move(models));
    });
  }

  Reply ask(std::string_view text, std::string_view headers = {}, bool stream = false,
            std::string_view more = {}) const {
    Wire client = Wire::connect(daemon_->port("http"));
    client.send(post(
        "/v1/chat/completions",
        fmt::format(
            R"({{"model":"auto","stream":{},{}"messages":[{{"role":"user","content":"{}"}}]}})",
            stream, more, text),
        headers));
    return client.read_reply();
  }
  Reply send(std::string_view path, std::string_view body, std::string_view headers = {}) const {
    Wire client = Wire::connect(daemon_->port("http"));
    client.send(post(path, body, headers));
    return client.read_reply();
  }
  Reply manage(std::string_view method, std::string_view path,
               std::string_view headers = {}) const {
    Wire client = Wire::connect(daemon_->port("management"));
    client.send(fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", method, path, headers));
    return client.read_reply();
  }
  std::string statistic(std::string_view name) const {
    return member(manage("GET", "/api/v1/response-cache/stats").body, name);
  }

  std::atomic<int> embedded{0};
  std::atomic<bool> broken{false};

 private:
  Upstream upstream_;
  std::unique_ptr<daemon::Daemon> daemon_;
};

inline std::string completion(std::string_view text, std::string_view reason = "stop") {
  return fmt::format(
      R"({{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,)"
      R"("message":{{"role":"assistant","content":"{}"}},"logprobs":null,"finish_reason":"{}"}}],)"
      R"("usage":{{"total_tokens":3}}}})",
      text, reason);
}

/// Answers each request with its number.
class Counting {
 public:
  explicit Counting(std::string_view reason = "stop") : reason_(reason) {}
  Upstream::Script script() {
    return [this](Wire& wire, int) {
      for (;;) {
        const std::string request = wire.read_request();
        if (request.empty()) return;
        if (!wire.send(ok(completion(std::to_string(++count), reason_)))) return;
      }
    };
  }
  std::atomic<int> count{0};

 private:
  std::string reason_;
};

inline bool is_hit(const Reply& reply) {
  return reply.has("x-vsr-cache-hit") && reply.headers.at("x-vsr-cache-hit") == "true" &&
         reply.headers.at("x-vsr-response-path") == "cache";
}

}  // namespace signalbox::test
