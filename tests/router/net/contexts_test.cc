// Tests contexts through the whole daemon: one agent stores them, another refers to them, and the
// servers receive the expanded requests.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "base/json.h"
#include "tests/router/net/file_daemon.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/json_member.h"
#include "tests/router/net/started.h"
#include "tests/router/redis_process.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;

constexpr std::string_view kConfiguration = R"(
version: v0.3
listeners:
  - {{name: http, address: 127.0.0.1, port: 0, timeout: 20s}}
global:
  services:
    http: {{threads: 2, body_bytes_max: 200000, bodies_bytes_max: 450000}}
    management_api: {{bind_address: 127.0.0.1, port: 0}}
  stores:
    contexts: {{tenant_bytes_max: 100000, refs_max: 5, {}}}
providers:
  defaults: {{default_model: m}}
  models:
    - name: m
      reliability: {{shared_prefix_bytes: 2000}}
      backend_refs:
        - {{name: a, endpoint: "127.0.0.1:{}"}}
        - {{name: b, endpoint: "127.0.0.1:{}"}}
routing:
  signals:
    context: [{{name: long, min_tokens: 500, max_tokens: 1M}}]
  decisions:
    - {{name: long, rules: {{type: context, name: long}}, modelRefs: [{{model: m}}]}}
)";

/// Answers every request and keeps the last body.
class Server {
 public:
  Server()
      : upstream_([this](Wire& wire, int) {
          for (std::string request; !(request = wire.read_request()).empty();) {
            {
              const std::lock_guard lock(mutex_);
              body_ = request.substr(request.find("\r\n\r\n") + 4);
              ++count_;
            }
            wire.send(ok(R"({"choices":[{"message":{"role":"assistant","content":"Yes."},)"
                         R"("finish_reason":"stop"}]})"));
          }
        }) {}
  uint16_t port() const { return upstream_.port(); }
  std::string body() const {
    const std::lock_guard lock(mutex_);
    return body_;
  }
  int count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  mutable std::mutex mutex_;
  std::string body_;
  int count_ = 0;
  Upstream upstream_;
};

/// A daemon in front of two servers.
class Site {
 public:
  explicit Site(std::string_view contexts = "") { start(contexts); }

  void start(std::string_view contexts) {
    daemon_.reset();
    daemon_ = started(fmt::format(kConfiguration, contexts, a.port(), b.port()));
  }

  Reply ask(const std::string& request, std::string_view listener = "http") const {
    Wire client = Wire::connect(daemon_->port(listener));
    client.send(request);
    return client.read_reply();
  }
  Reply send(std::string_view path, std::string_view body, std::string_view headers = "") const {
    return ask(post(path, body, headers));
  }
  Reply fetch(std::string_view path, std::string_view headers = "") const {
    return ask(get(path, headers));
  }
  Reply remove(std::string_view path) const {
    return ask(fmt::format("DELETE {} HTTP/1.1\r\nHost: x\r\n\r\n", path));
  }
  /// Returns the id of a stored context.
  std::string put(std::string_view messages, std::string_view headers = "") const {
    const Reply reply =
        send("/v1/contexts", fmt::format(R"({{"messages":[{}]}})", messages), headers);
    EXPECT_TRUE(reply.status == 201 || reply.status == 200) << reply.body;
    return member(reply.body, "id");
  }
  Reply chat(std::string_view refs, std::string_view text, std::string_view headers = "") const {
    return send("/v1/chat/completions", chat_body(refs, text), headers);
  }
  static std::string chat_body(std::string_view refs, std::string_view text) {
    return fmt::format(
        R"({{"model":"auto", "metadata" : {{"context_refs":{}}},"messages":[{{"role":"user","content":"{}"}}],"n": 1}})",
        refs, text);
  }

  Server a, b;

 private:
  std::unique_ptr<Daemon> daemon_;
};

std::string list_of(std::initializer_list<std::string_view> ids) {
  std::string out;
  for (const std::string_view id : ids) out += fmt::format(R"({}"{}")", out.empty() ? "" : ",", id);
  return fmt::format("[{}]", out);
}

std::string contract(size_t words = 1000) {
  std::string out = R"({"role" : "system","content":"caf\u00e9 )";
  for (size_t i = 0; i < words; ++i) out += fmt::format("clause {} ", i);
  return out + "\"}";
}

TEST(Contexts, contexts_reach_the_server_byte_for_byte_before_the_messages_of_each_agent) {
  const Site site;
  const std::string first = contract(), second = R"({"role":"assistant","content":"Read."})";
  const std::string a = site.put(" \n" + first + "\t"), b = site.put(second);
  const Reply one = site.chat(list_of({a, b}), "What of clause 7?");
  EXPECT_EQ(one.status, 200) << one.body;
  const Server& server = site.a.count() == 1 ? site.a : site.b;
  const std::string from_one = server.body();
  EXPECT_EQ(from_one, fmt::format(R"({{"model":"m","messages":[{},{},)"
                                  R"({{"role":"user","content":"What of clause 7?"}}],"n": 1}})",
                                  first, second));
  // Another agent, and one that sends the full text: all three requests begin alike.
  EXPECT_EQ(site.chat(fmt::format(R"("{}, {}")", a, b), "And of clause 8?").status, 200);
  const std::string from_other = server.body();
  const size_t own = from_one.find("What of");
  EXPECT_EQ(from_one.substr(0, own), from_other.substr(0, own));
  EXPECT_NE(from_other.find("And of clause 8?"), std::string::npos);
  const std::string inlined = fmt::format(
      R"({{"model":"auto","messages":[{},{},{{"role":"user","content":"What of clause 7?"}}],"n": 1}})",
      first, second);
  EXPECT_EQ(site.send("/v1/chat/completions", inlined).status, 200);
  EXPECT_EQ(server.body(), from_one);
  EXPECT_EQ(server.count(), 3);
}

TEST(Contexts, contexts_go_to_the_server_that_had_them_and_other_requests_take_turns) {
  const Site site;
  const std::string one = site.put(contract(500)), other = site.put(contract(501));
  site.chat(list_of({one}), "first");
  Server const& of_one = site.a.count() == 1 ? site.a : site.b;
  Server const& of_other = site.a.count() == 1 ? site.b : site.a;
  site.chat(list_of({other}), "first");
  EXPECT_EQ(of_one.count(), 1);
  EXPECT_EQ(of_other.count(), 1);
  for (int i = 0; i < 5; ++i) site.chat(list_of({one}), fmt::format("question {}", i));
  EXPECT_EQ(of_one.count(), 6);
  for (int i = 0; i < 5; ++i) site.chat(list_of({other}), fmt::format("question {}", i));
  EXPECT_EQ(of_other.count(), 6);
  for (int i = 0; i < 4; ++i) site.chat("[]", "short");
  EXPECT_EQ(of_one.count(), 8);
  EXPECT_EQ(of_other.count(), 8);
}

TEST(Contexts, signals_read_the_contexts_of_a_request) {
  const Site site;
  const std::string id = site.put(contract());
  const Reply with = site.chat(list_of({id}), "short");
  EXPECT_EQ(with.headers.at("x-vsr-selected-decision"), "long");
  EXPECT_FALSE(site.chat("[]", "short").has("x-vsr-selected-decision"));
}

TEST(Contexts, all_client_apis_accept_contexts) {
  const Site site;
  const std::string id = site.put(R"({"role":"user","content":"stored"})");
  const auto body = [&] { return site.a.count() > site.b.count() ? site.a.body() : site.b.body(); };
  EXPECT_EQ(
      site.send("/v1/responses",
                fmt::format(R"({{"model":"auto","input":"x","metadata":{{"context_refs":"{}"}}}})",
                            id))
          .status,
      200);
  EXPECT_NE(
      (site.a.body() + site.b.body())
          .find(R"("messages":[{"role":"user","content":"stored"},{"role":"user","content":"x"}])"),
      std::string::npos)
      << body();
  const Reply refused = site.send(
      "/v1/completions",
      fmt::format(R"({{"model":"auto","prompt":"x","metadata":{{"context_refs":"{}"}}}})", id));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(error_message(refused.body),
            "metadata.context_refs: this API does not support it; use chat completions");
}

TEST(Contexts, a_context_of_another_tenant_is_not_found) {
  const Site site;
  const std::string_view mine = "Authorization: Bearer mine\r\n",
                         theirs = "Authorization: Bearer theirs\r\n";
  const std::string id = site.put(contract(10), mine);
  EXPECT_EQ(site.chat(list_of({id}), "x", mine).status, 200);
  EXPECT_EQ(site.fetch("/v1/contexts/" + id, mine).status, 200);
  for (const std::string_view headers : {theirs, std::string_view()}) {
    const Reply refused = site.chat(list_of({id}), "x", headers);
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(error_message(refused.body),
              fmt::format("metadata.context_refs[0]: there is no context {}", id));
    const Reply hidden = site.fetch("/v1/contexts/" + id, headers);
    EXPECT_EQ(hidden.status, 404);
    EXPECT_NE(hidden.body.find("context_not_found"), std::string::npos) << hidden.body;
    EXPECT_EQ(site.fetch("/v1/contexts", headers).body,
              R"({"object":"list","data":[],"has_more":false})");
  }
  EXPECT_EQ(site.a.count() + site.b.count(), 1);
}

TEST(Contexts, contexts_can_be_stored_shown_listed_pinned_and_dropped) {
  const Site site;
  const std::string messages = R"({"role":"user","content":"caf\u00e9"},{"role":"assistant"})";
  const std::string body = fmt::format(R"({{"messages": [ {} ], "pinned": true}})", messages);
  const Reply made = site.send("/v1/contexts", body);
  EXPECT_EQ(made.status, 201);
  const std::string id = member(made.body, "id");
  EXPECT_EQ(made.body.substr(0, made.body.find("\"created_at\"")),
            fmt::format(R"({{"id":"{}","object":"context",)", id));
  EXPECT_EQ(made.body.substr(made.body.find("\"message_count\"")),
            fmt::format(R"("message_count":2,"bytes":{},"pinned":true,"durable":false}})",
                        messages.size()));
  EXPECT_EQ(site.send("/v1/contexts", body).status, 200);
  const Reply shown = site.fetch("/v1/contexts/" + id);
  EXPECT_EQ(shown.body.substr(shown.body.find("\"messages\"")),
            fmt::format(R"("messages":[{}]}})", messages));
  EXPECT_EQ(member(site.remove("/v1/contexts/" + id + "/pin").body, "id"), id);
  EXPECT_NE(site.fetch("/v1/contexts").body.find("\"pinned\":false"), std::string::npos);
  EXPECT_NE(site.send("/v1/contexts/" + id + "/pin", "").body.find("\"pinned\":true"),
            std::string::npos);
  site.put(R"({"role":"user","content":"another"})");
  const Reply page = site.fetch("/v1/contexts?limit=1");
  EXPECT_TRUE(page.body.ends_with(R"("has_more":true})")) << page.body;
  const size_t at = page.body.find("ctx_");
  const Reply rest = site.fetch("/v1/contexts?limit=1&after=" + page.body.substr(at, 68));
  EXPECT_TRUE(rest.body.ends_with(R"("has_more":false})")) << rest.body;
  EXPECT_NE(rest.body.find("ctx_"), std::string::npos);
  EXPECT_EQ(site.remove("/v1/contexts/" + id).body,
            fmt::format(R"({{"id":"{}","object":"context.deleted","deleted":true}})", id));
  EXPECT_EQ(site.remove("/v1/contexts/" + id).status, 404);
  EXPECT_EQ(site.send("/v1/contexts/" + id + "/pin", "").status, 404);
  EXPECT_EQ(site.send("/v1/contexts/" + id, "").status, 404);
  EXPECT_EQ(site.chat(list_of({id}), "x").status, 400);
}

TEST(Contexts, errors_name_the_path_of_an_invalid_member) {
  const Site site;
  const auto refusal = [&](std::string_view body) {
    const Reply reply = site.send("/v1/contexts", body);
    EXPECT_EQ(reply.status, 400) << reply.body;
    return error_message(reply.body);
  };
  EXPECT_EQ(refusal(R"({"pinned":true})"), "messages: missing");
  EXPECT_EQ(refusal(R"({"messages":[]})"), "messages: expected at least one, found none");
  EXPECT_EQ(refusal(R"({"messages":"x"})"), "messages: expected an array, found string");
  EXPECT_EQ(refusal(R"({"messages":[{"content":"x"}]})"), "messages[0].role: missing");
  EXPECT_EQ(refusal(R"({"messages":[1]})"), "messages[0]: expected an object, found number");
  EXPECT_EQ(refusal(R"({"messages":[{"role":"user"}],"pinned":1})"),
            "pinned: expected a boolean, found number");
  EXPECT_EQ(refusal(R"({"messages":[{"role":"user"}],"ttl":1})"),
            "unknown member \"ttl\" (known: messages, pinned)");
  EXPECT_EQ(refusal(R"({"messages":[{"role":"user"}],"messages":[]})"),
            "messages: given more than once");
  EXPECT_EQ(refusal("[]"), "expected a JSON object, found array");
  refusal("{");
}

TEST(Contexts, refusals_name_the_exceeded_limit) {
  const Site site;
  const std::string id = site.put(contract(3600));
  site.put(contract(3601));
  const std::string large = fmt::format(R"({{"messages":[{}]}})", contract(3602));
  const Reply full = site.send("/v1/contexts", large);
  EXPECT_EQ(full.status, 413);
  EXPECT_NE(full.body.find("context_quota_exceeded"), std::string::npos);
  EXPECT_NE(error_message(full.body).find("of 100000 bytes"), std::string::npos) << full.body;
  const std::string other = site.put(R"({"role":"user"})");
  const Reply wide = site.chat(list_of({id, id, id, id, id}), "x");
  EXPECT_EQ(wide.status, 413) << wide.body;
  EXPECT_NE(error_message(wide.body).find("at most 200000"), std::string::npos) << wide.body;
  const Reply vast = site.chat(list_of({id, id, id, id}), "x");
  EXPECT_EQ(vast.status, 413) << "it would never fit";
  EXPECT_NE(error_message(vast.body).find("450000 bytes"), std::string::npos) << vast.body;
  const Reply many = site.chat(list_of({other, other, other, other, other, other}), "x");
  EXPECT_EQ(many.status, 400);
  EXPECT_EQ(error_message(many.body), "metadata.context_refs: 6 contexts; at most 5");
  const Reply none = site.chat(list_of({"ctx_1"}), "x");
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(member(none.body, "error.param"), "metadata.context_refs[0]");
  EXPECT_EQ(site.a.count() + site.b.count(), 0);
  // Refused requests do not keep any context in use.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(site.chat(list_of({id}), "x").status, 200);
}

TEST(Contexts, contexts_survive_the_daemon_if_they_have_a_directory) {
  const Folder folder;
  const std::string contexts = fmt::format("directory: {}", folder.at("contexts").string());
  Site site(contexts);
  const std::string id = site.put(contract());
  const Reply made = site.send("/v1/contexts", fmt::format(R"({{"messages":[{}]}})", contract(3)));
  EXPECT_NE(made.body.find("\"durable\":true"), std::string::npos) << made.body;
  for (const auto& each : std::filesystem::directory_iterator(folder.at("contexts"))) {
    if (each.path().extension() == ".ctx" && each.file_size() < 600)
      std::ofstream(each.path()) << "overwritten";
  }
  site.start(contexts);
  EXPECT_EQ(site.chat(list_of({id}), "x").status, 200);
  EXPECT_NE((site.a.body() + site.b.body()).find(contract() + ","), std::string::npos);
  EXPECT_EQ(site.chat(list_of({member(made.body, "id")}), "x").status, 400);
  const std::string metrics = site.ask(get("/metrics"), "management").body;
  for (const char* line :
       {"signalbox_contexts{level=\"disk\"} 1", "signalbox_contexts{level=\"memory\"} 1",
        "signalbox_context_reads_total{level=\"disk\"} 1",
        "signalbox_context_reads_total{level=\"none\"} 1",
        "signalbox_context_events_total{event=\"damaged\"} 1"}) {
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
  }
}

TEST(Contexts, can_be_switched_off) {
  const Site site("enabled: false");
  EXPECT_EQ(site.fetch("/v1/contexts").status, 404);
  const Reply refused = site.chat("[]", "x");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(error_message(refused.body), "metadata.context_refs: this router stores no contexts");
}

// --- shared by several routers ---

/// Repeats the request until its status is `wanted`, for as long as a breaker may be open.
int status_in_time(const std::function<Reply()>& asked, int wanted) {
  int status = 0;
  for (int i = 0; i < 1000 && status != wanted; ++i) {
    status = asked().status;
    if (status != wanted) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return status;
}

class SharedContexts : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (const std::string missing = RedisProcess::missing(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
    redis_.start();
  }
  std::string contexts() const { return fmt::format("redis: {{{}}}", redis_.keys()); }

  RedisProcess redis_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Redis, SharedContexts, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "with_tls" : "in_the_clear");
});

TEST_P(SharedContexts, one_router_stores_a_context_and_another_one_uses_it) {
  const Site one(contexts()), other(contexts());
  const Reply made = one.send("/v1/contexts", fmt::format(R"({{"messages":[{}]}})", contract()));
  EXPECT_TRUE(made.body.ends_with(R"("pinned":false,"durable":true,"shared":true})")) << made.body;
  const std::string id = member(made.body, "id");
  EXPECT_EQ(other.chat(list_of({id}), "x").status, 200);
  EXPECT_NE((other.a.body() + other.b.body()).find(contract() + ","), std::string::npos);
  EXPECT_NE(other.fetch("/v1/contexts").body.find(id), std::string::npos);
  EXPECT_EQ(other.fetch("/v1/contexts/" + id).status, 200);
  const std::string metrics = other.ask(get("/metrics"), "management").body;
  for (const char* line :
       {"signalbox_contexts{level=\"redis\"} 1", "signalbox_contexts{level=\"owed\"} 0",
        "signalbox_context_reads_total{level=\"redis\"} 1"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << " of " << metrics;
  EXPECT_EQ(other.remove("/v1/contexts/" + id).status, 200);
  EXPECT_EQ(status_in_time([&] { return one.chat(list_of({id}), "x"); }, 400), 400);
}

TEST_P(SharedContexts, a_dead_redis_fails_only_requests_that_need_it) {
  const Site one(contexts()), other(contexts());
  const std::string id = one.put(contract());
  redis_.server().end();
  EXPECT_EQ(one.chat(list_of({id}), "x").status, 200);
  EXPECT_EQ(other.chat("[]", "x").status, 200);
  const Reply refused = other.chat(list_of({id}), "x");
  EXPECT_EQ(refused.status, 502) << refused.body;
  EXPECT_EQ(
      error_message(refused.body),
      fmt::format("metadata.context_refs[0]: context {}: the shared level does not respond at "
                  "the moment",
                  id));
  EXPECT_EQ(one.remove("/v1/contexts/" + id).status, 502);
  const Reply made = one.send("/v1/contexts", fmt::format(R"({{"messages":[{}]}})", contract(3)));
  EXPECT_TRUE(made.body.ends_with(R"("durable":false,"shared":false})")) << made.body;
  const std::string later = member(made.body, "id");
  EXPECT_EQ(one.chat(list_of({later}), "x").status, 200);
  // The server comes back empty, and receives everything again.
  redis_.start();
  EXPECT_EQ(status_in_time([&] { return other.chat(list_of({id, later}), "x"); }, 200), 200);
}

TEST_P(SharedContexts, a_stopped_redis_delays_no_other_requests) {
  const Site one(contexts()), other(contexts());
  const std::string id = one.put(contract(10));
  redis_.server().signal(SIGSTOP);
  std::atomic<bool> over{false};
  std::vector<std::thread> waiting;
  for (int i = 0; i < 4; ++i)
    waiting.emplace_back([&] {
      while (!over) EXPECT_EQ(other.chat(list_of({id}), "x").status, 502);
    });
  std::vector<std::chrono::steady_clock::duration> took;
  for (int i = 0; i < 100; ++i) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(other.chat("[]", "x").status, 200);
    took.push_back(std::chrono::steady_clock::now() - began);
  }
  over = true;
  for (std::thread& each : waiting) each.join();
  // Takes the median, because on a busy machine some requests are slow even without Redis.
  std::nth_element(took.begin(), took.begin() + 50, took.end());
  EXPECT_LT(took[50], std::chrono::milliseconds(500)) << "a read of Redis takes so long";
  redis_.server().signal(SIGCONT);
  EXPECT_EQ(status_in_time([&] { return other.chat(list_of({id}), "x"); }, 200), 200);
}

}  // namespace
}  // namespace signalbox::test
