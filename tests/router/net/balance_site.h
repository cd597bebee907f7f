#pragma once
// Servers that misbehave as a test wants, and a router with one model on them.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "router/upstream/backends.h"
#include "tests/router/net/gateway.h"

namespace signalbox::test {

using namespace std::chrono_literals;
using Policy = config::Reliability::Policy;

/// A model server that answers with its name until the test changes its reply.
class Server {
 public:
  explicit Server(std::string name)
      : name_(std::move(name)), upstream_([this](Wire& wire, int) { serve(wire); }) {}

  uint16_t port() const { return upstream_.port(); }
  int asked() const { return asked_; }
  /// Sets the reply; "" closes the connection instead.
  void answer(std::string reply) {
    const std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
  }
  void on(std::string_view path, std::string reply) {
    const std::lock_guard lock(mutex_);
    paths_[std::string(path)] = std::move(reply);
  }
  void wait_before_answers(std::chrono::milliseconds time) { delay_ = time.count(); }
  std::string last_request() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  void serve(Wire& wire) {
    for (std::string request; !(request = wire.read_request()).empty();) {
      std::string reply;
      {
        const std::lock_guard lock(mutex_);
        const auto path = std::find_if(paths_.begin(), paths_.end(), [&](const auto& each) {
          return request.starts_with("GET " + each.first + " ");
        });
        reply = path != paths_.end() ? path->second : reply_.value_or(ok(name_));
        if (path == paths_.end()) {
          ++asked_;
          last_ = request;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(delay_));
      if (reply.empty() || !wire.send(reply)) return;
    }
  }

  const std::string name_;
  mutable std::mutex mutex_;
  std::optional<std::string> reply_;
  std::map<std::string, std::string> paths_;
  std::string last_;
  std::atomic<int> asked_{0};
  std::atomic<int64_t> delay_{0};
  Upstream upstream_;  // last, because its threads use the other members
};

/// A router with one model on these servers.
class Site {
 public:
  explicit Site(const std::vector<uint16_t>& ports, config::Reliability settings = {},
                std::chrono::milliseconds timeout = kPatience)
      : config_(made(ports, std::move(settings))),
        backends_(config_, fleet_),
        site_([this](http::Exchange exchange) { return handle(exchange); }, HttpSite::small(),
              listener(timeout)) {}
  ~Site() { fleet_.stop(); }

  const config::Model& model() const { return config_.providers.models.front(); }
  config::Model& model() { return config_.providers.models.front(); }
  std::vector<workers::Balancer::Status> status() { return balancer()->status(http::Clock::now()); }
  /// Returns how many requests wait for a server.
  size_t waiting() { return balancer()->waiting(); }
  workers::Balancer::Status status(size_t worker) { return status()[worker]; }
  Wire connect() const { return Wire::connect(site_.port); }
  Reply ask(std::string_view body = "{}", std::string_view headers = {}) const {
    Wire client = connect();
    client.send(post("/v1/chat/completions", body, headers));
    return client.read_reply();
  }
  /// Returns the names of the servers that answer `count` requests. Each is sent once no server
  /// counts the previous one any more, which may be after its answer has arrived.
  std::string answers(int count, std::string_view headers = {}) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      out += ask("{}", headers).body;
      EXPECT_TRUE(eventually([&] { return std::ranges::all_of(status(), is_idle); }));
    }
    return out;
  }

 private:
  std::shared_ptr<workers::Balancer> balancer() {
    const auto none = [](const config::BackendRef&) -> std::unique_ptr<const upstream::Backend> {
      return nullptr;
    };
    return fleet_.balancer(model(), none);
  }

  static bool is_idle(const workers::Balancer::Status& server) { return server.in_flight == 0; }

  static config::Listener listener(std::chrono::milliseconds timeout) {
    config::Listener out;
    out.timeout = timeout;
    return out;
  }

  static config::Config made(const std::vector<uint16_t>& ports, config::Reliability settings) {
    config::Config out;
    out.http.connect_timeout = 10s;
    config::Model model;
    model.name = "m";
    for (size_t i = 0; i < ports.size(); ++i) {
      config::BackendRef ref = backend_at(ports[i]);
      ref.name = std::string(1, static_cast<char>('a' + i));
      if (!settings.health_check_path.empty()) ref.metrics_path = "/metrics";
      model.backend_refs.push_back(std::move(ref));
    }
    model.reliability = std::move(settings);
    out.providers.models.push_back(std::move(model));
    return out;
  }

  http::Task<> handle(http::Exchange exchange) const {
    const http::Headers added;
    const std::string_view prompt[] = {exchange.request.body};
    const upstream::Call call{exchange.request.target, exchange.request.headers, added, "id-1",
                              exchange.request.body,   exchange.interrupt,       prompt};
    upstream::CallOutcome outcome = co_await backends_.call(model(), call);
    http::Headers fields;
    fields.add("x-attempts", std::to_string(outcome.attempts));
    fields.add("x-elsewhere", outcome.elsewhere ? "yes" : "no");
    if (outcome.answer) {
      co_await gateway::relay(**outcome.answer, exchange.reply, fields);
    } else if (outcome.answer.error().code == Code::kCancelled) {
      exchange.reply.abandon();
    } else {
      co_await http::send_error(exchange.reply, std::move(fields), outcome.answer.error());
    }
  }

  config::Config config_;
  upstream::Fleet fleet_;
  upstream::Backends backends_;
  HttpSite site_;  // last, because its threads use the other members
};

inline std::string status_reply(int status, std::string_view fields = {}) {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Length: 4\r\n{}\r\noops", status, fields);
}

inline config::Reliability least() {
  config::Reliability settings;
  settings.lb_policy = Policy::kLeastRequest;
  return settings;
}

}  // namespace signalbox::test
