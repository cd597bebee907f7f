// Tests cached answers through the whole daemon: whole and streamed, for whom and how long they are
// kept, and all the failures on the way.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <thread>

#include "base/json.h"
#include "tests/router/cache/milvus_double.h"
#include "tests/router/net/cache_site.h"
#include "tests/router/redis_process.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;

TEST(Cache, answers_equal_and_similar_requests_with_the_stored_answer) {
  Counting server;
  const Site site(server.script());
  const Reply first = site.ask("What is the capital of France?");
  EXPECT_FALSE(first.has("x-vsr-cache-hit"));
  const Reply same = site.ask("What is the capital of France?");
  EXPECT_TRUE(is_hit(same));
  EXPECT_EQ(same.body, first.body);
  EXPECT_EQ(same.headers.at("content-type"), "application/json");
  const Reply alike = site.ask("Tell me the capital of France?", "x-vsr-debug: true\r\n");
  EXPECT_TRUE(is_hit(alike));
  EXPECT_TRUE(alike.has("x-vsr-cache-similarity"));
  EXPECT_FALSE(is_hit(site.ask("What is not the capital of France?")));
  EXPECT_FALSE(is_hit(site.ask("What is the capital of Spain?")));
  EXPECT_EQ(server.count, 3);
  EXPECT_EQ(site.statistic("hits_exact"), "1");
  EXPECT_EQ(site.statistic("hits_semantic"), "1");
  EXPECT_EQ(site.statistic("misses"), "3");
  EXPECT_EQ(site.statistic("entries"), "3");
  EXPECT_NE(site.statistic("refused_by_guard"), "0");
}

TEST(Cache, is_used_only_by_decisions_that_enable_it_and_as_they_configure_it) {
  Counting server;
  const Site site(server.script());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(is_hit(site.ask("say plainly what it is")));
  EXPECT_FALSE(is_hit(site.ask("exactly what is it?")));
  EXPECT_FALSE(is_hit(site.ask("exactly what is this?")));
  EXPECT_TRUE(is_hit(site.ask("exactly what is it?")));
  EXPECT_EQ(site.embedded, 0);
  // Masked personal data is restored in the reply.
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(is_hit(site.ask("masked ann@example.com")));
  EXPECT_FALSE(is_hit(site.ask("masked nobody")));
  EXPECT_TRUE(is_hit(site.ask("masked nobody")));
}

TEST(Cache, answers_other_apis_in_their_own_form) {
  Counting server;
  const Site site(server.script());
  constexpr std::string_view kAsked =
      R"({"model":"auto","max_tokens":9,"messages":[{"role":"user","content":"Who was Ada?"}]})";
  const Reply first = site.send("/v1/messages", kAsked);
  const Reply again = site.send("/v1/messages", kAsked);
  EXPECT_FALSE(is_hit(first));
  EXPECT_TRUE(is_hit(again));
  EXPECT_EQ(member(again.body, "type"), "message");
  EXPECT_EQ(server.count, 1);
  // Completions are relayed as the server writes them, so their replies are not cached.
  constexpr std::string_view kPrompt = R"({"model":"auto","prompt":"Who was Ada?"})";
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(is_hit(site.send("/v1/completions", kPrompt)));
}

TEST(Cache, counts_its_hits_and_misses) {
  Counting server;
  const Site site(server.script());
  for (int i = 0; i < 3; ++i) site.ask("exactly what is it?");
  std::string metrics;
  for (int i = 0; i < 3000 && metrics.find("status=\"hit\"} 2") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // counted after the reply was sent
    metrics = site.manage("GET", "/metrics").body;
  }
  for (const std::string_view line :
       {R"(llm_cache_plugin_hits_total{decision_name="exact",plugin_type="response_cache"} 2)",
        R"(llm_cache_plugin_misses_total{decision_name="exact",plugin_type="response_cache"} 1)",
        R"(llm_cache_operations_total{backend="memory",operation="lookup",status="hit"} 2)",
        R"(llm_cache_entries_total{backend="memory"} 1)"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
}

TEST(Cache, keeps_answers_for_the_next_process) {
  const std::string path = testing::TempDir() + "signalbox_answers";
  std::filesystem::remove(path);
  const std::string text =
      fmt::format("{}  stores: {{response_cache: {{snapshot_path: {}}}}}\n", kKeepsAnswers, path);
  Counting server;
  for (int process = 0; process < 2; ++process) {
    const Site site(server.script(), text);
    EXPECT_EQ(is_hit(site.ask("What is the capital of France?")), process == 1);
    EXPECT_EQ(is_hit(site.ask("Tell me the capital of France?")), true);
  }
  EXPECT_EQ(server.count, 1);
}

std::string on_redis(const test::RedisProcess& redis) {
  return fmt::format("{}  stores: {{response_cache: {{backend_type: redis, redis: {{{}}}}}}}\n",
                     kKeepsAnswers, redis.keys());
}

class CacheOnRedis : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (const std::string missing = RedisProcess::missing(GetParam()); !missing.empty())
      GTEST_SKIP() << missing;
    redis_.start();
  }
  RedisProcess redis_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Redis, CacheOnRedis, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "with_tls" : "in_the_clear");
});

void expect_shared(const std::string& configuration) {
  Counting server;
  const Site first(server.script(), configuration), second(server.script(), configuration);
  first.ask("What is the capital of France?");
  const auto becomes_hit = [&](std::string_view text) {
    for (int i = 0; i < 3000; ++i) {
      if (is_hit(second.ask(text, "x-vsr-cache-control: no-store\r\n"))) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  };
  EXPECT_TRUE(becomes_hit("What is the capital of France?"));
  EXPECT_TRUE(becomes_hit("Tell me the capital of France?"));
}

TEST_P(CacheOnRedis, shares_answers_with_other_routers) {
  expect_shared(on_redis(redis_));
}

TEST(Cache, shares_answers_with_other_routers_over_a_double_of_milvus) {
  test::MilvusDouble milvus;
  milvus.token = "root:secret";
  expect_shared(
      fmt::format("{}  stores: {{response_cache: {{backend_type: milvus, milvus: {{connection: "
                  "{{host: 127.0.0.1, port: {}, timeout: 5, auth: {{enabled: true, username: root, "
                  "password: secret}}}}, development: {{auto_create_collection: true}}}}}}}}\n",
                  kKeepsAnswers, milvus.port()));
}

TEST(Cache, separates_users_unless_the_scope_is_wider) {
  Counting server;
  const Site site(server.script());
  const auto by = [&](std::string_view text, std::string_view header) {
    return is_hit(site.ask(text, header));
  };
  EXPECT_FALSE(by("hello there", "x-authz-user-id: ann\r\n"));
  EXPECT_FALSE(by("hello there", "x-authz-user-id: bob\r\n"));
  EXPECT_FALSE(by("hello there", "Authorization: Bearer key\r\n"));
  EXPECT_FALSE(by("hello there", ""));
  EXPECT_TRUE(by("hello there", "x-authz-user-id: ann\r\n"));
  EXPECT_FALSE(by("shared thing", "x-authz-user-id: ann\r\n"));
  EXPECT_TRUE(by("shared thing", "x-authz-user-id: bob\r\n"));
}

TEST(Cache, obeys_the_cache_control_of_the_client) {
  Counting server;
  const Site site(server.script());
  const auto ask = [&](std::string_view control) {
    return is_hit(site.ask("hello", fmt::format("x-vsr-cache-control: {}\r\n", control)));
  };
  EXPECT_FALSE(ask("no-store"));
  EXPECT_FALSE(ask("no-store"));
  EXPECT_FALSE(ask("ttl=0"));
  EXPECT_FALSE(ask("max-age=60"));
  EXPECT_TRUE(ask("max-age=60, no-store"));
  EXPECT_FALSE(ask("no-cache"));
  EXPECT_FALSE(ask("Bypass"));
  EXPECT_TRUE(ask("what is this"));
  EXPECT_TRUE(ask("max-age=x"));
}

std::string streamed(const Reply& reply) {
  std::string out;
  for (size_t at = reply.body.find("\"content\":\""); at != std::string::npos;
       at = reply.body.find("\"content\":\"", at + 1)) {
    const size_t begin = at + 11;
    out += reply.body.substr(begin, reply.body.find('"', begin) - begin);
  }
  return out;
}

TEST(Cache, streams_whole_answers_and_returns_streamed_answers_whole) {
  std::atomic<int> asked = 0;
  const Site site([&](Wire& wire, int) {
    const std::string request = wire.read_request();
    ++asked;
    if (request.find("\"stream\":true") == std::string::npos) {
      wire.send(ok(completion("whole")));
      return;
    }
    const auto event = [](std::string_view delta, std::string_view reason) {
      return chunk(
          fmt::format("data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{},"
                      "\"finish_reason\":{}}}]}}\n\n",
                      delta, reason));
    };
    wire.send(kStreamHead);
    wire.send(event(R"({"role":"assistant","content":"in "})", "null"));
    wire.send(event(R"({"content":"pieces"})", "null"));
    wire.send(event("{}", "\"stop\""));
    wire.send(chunk("data: [DONE]\n\n"));
    wire.send("0\r\n\r\n");
  });
  EXPECT_FALSE(is_hit(site.ask("one")));
  const Reply replayed = site.ask("one", {}, true, R"("stream_options":{"include_usage":true},)");
  EXPECT_TRUE(is_hit(replayed));
  EXPECT_TRUE(replayed.complete);
  EXPECT_EQ(replayed.headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(streamed(replayed), "whole");
  EXPECT_NE(replayed.body.find("\"total_tokens\":3"), std::string::npos);
  EXPECT_TRUE(replayed.body.ends_with("data: [DONE]\n\n"));

  EXPECT_FALSE(is_hit(site.ask("two", {}, true)));
  EXPECT_EQ(streamed(site.ask("two", {}, true)), "in pieces");
  const Reply whole = site.ask("two");
  EXPECT_TRUE(is_hit(whole));
  EXPECT_NE(whole.body.find("\"content\":\"in pieces\""), std::string::npos) << whole.body;
  EXPECT_EQ(asked, 2);
}

TEST(Cache, keeps_no_answer_that_did_not_end_well) {
  Counting cut("length");
  const Site site(cut.script());
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(is_hit(site.ask("long")));
  std::atomic<int> asked = 0;
  const Site broken([&](Wire& wire, int) {
    wire.read_request();
    if (++asked % 2 == 0) {
      wire.send("HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}");
      return;
    }
    wire.send(kStreamHead);
    wire.send(
        chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},"
              "\"finish_reason\":\"stop\"}]}\n\n"));
  });
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_hit(broken.ask("stream", {}, true)));
  EXPECT_EQ(broken.statistic("entries"), "0");
}

TEST(Cache, sends_equal_requests_at_the_same_time_once) {
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0;
  bool go = false;
  const Site site([&](Wire& wire, int) {
    wire.read_request();
    std::unique_lock lock(mutex);
    ++asked;
    changed.notify_all();
    changed.wait_for(lock, kPatience, [&] { return go; });
    wire.send(ok(completion("once")));
  });
  std::vector<std::future<Reply>> replies;
  for (int i = 0; i < 6; ++i)
    replies.push_back(std::async(std::launch::async, [&] { return site.ask("all at once"); }));
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kPatience, [&] { return asked > 0; });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(asked, 1);
    go = true;
  }
  changed.notify_all();
  int hits = 0;
  for (auto& reply : replies) {
    const Reply got = reply.get();
    EXPECT_EQ(got.body, completion("once"));
    hits += is_hit(got);
  }
  EXPECT_EQ(hits, 5);
  EXPECT_EQ(asked, 1);
}

TEST(Cache, sends_the_waiting_requests_if_the_first_one_fails) {
  std::atomic<int> asked = 0;
  const Site site([&](Wire& wire, int) {
    wire.read_request();
    const bool first = ++asked == 1;
    if (first) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    wire.send(first ? "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\n{}" : ok(completion("then")));
  });
  auto first = std::async(std::launch::async, [&] { return site.ask("question"); });
  while (asked == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Reply second = site.ask("question");
  EXPECT_EQ(first.get().status, 503);
  EXPECT_EQ(second.body, completion("then"));
}

TEST(Cache, a_failure_is_a_reported_miss) {
  Counting server;
  Site site(server.script());
  site.broken = true;
  const Reply reply = site.ask("hello");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-vsr-cache-degraded"), "true");
  EXPECT_TRUE(is_hit(site.ask("hello"))) << "the same request needs no model";
  EXPECT_EQ(site.statistic("failed"), "1");
}

TEST(Cache, can_be_emptied_wholly_or_in_part) {
  Counting server;
  const Site site(server.script());
  constexpr std::string_view kEntries = "/api/v1/response-cache/entries";
  site.ask("one thing");
  site.ask("quite another");
  const Reply hit = site.ask("one thing");
  ASSERT_TRUE(is_hit(hit));
  const std::string one = fmt::format("{}/{}", kEntries, hit.headers.at("x-vsr-cache-entry"));
  EXPECT_EQ(site.manage("GET", one).status, 200);
  EXPECT_EQ(site.manage("DELETE", one).body, R"({"deleted":1})");
  EXPECT_EQ(site.manage("DELETE", one).status, 404);
  EXPECT_FALSE(is_hit(site.ask("one thing")));
  const std::string listed = site.manage("GET", kEntries).body;
  EXPECT_NE(listed.find("\"decision\":\"any\""), std::string::npos) << listed;
  EXPECT_EQ(listed.find("thing"), std::string::npos) << "questions are not shown: " << listed;
  const auto remove = [&](std::string_view query) {
    return site.manage("DELETE", fmt::format("{}{}", kEntries, query));
  };
  EXPECT_EQ(remove("").status, 400);
  EXPECT_EQ(remove("?modle=m").status, 400);
  EXPECT_EQ(remove("?older_than_seconds=x").status, 400);
  EXPECT_EQ(remove("?model=").status, 400);
  EXPECT_EQ(remove("?model=other").body, R"({"deleted":0})");
  EXPECT_EQ(remove("?model=m&older_than_seconds=3600").body, R"({"deleted":0})");
  EXPECT_EQ(remove("?model=m&decision=any").body, R"({"deleted":2})");
  EXPECT_EQ(remove("?all=true").body, R"({"deleted":0})");
}

TEST(Cache, cannot_be_emptied_by_pages_of_other_sites) {
  Counting server;
  const Site site(server.script());
  const auto remove = [&](std::string_view origin) {
    return site.manage("DELETE", "/api/v1/response-cache/entries?all=true",
                       fmt::format("Origin: {}\r\n", origin));
  };
  EXPECT_EQ(remove("https://evil.test").status, 403);
  EXPECT_EQ(remove("http://localhost:3000").status, 403) << "another program of the machine";
  EXPECT_EQ(remove("http://localhost").status, 200);
}

}  // namespace
}  // namespace signalbox::test
