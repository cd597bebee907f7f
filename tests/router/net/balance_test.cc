// Tests several servers behind one model, some of which misbehave: what a client notices, and what
// it must not notice. The sockets are real; the servers are scripts.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/router/net/balance_site.h"

namespace signalbox::test {
namespace {

TEST(Balance, takes_turns) {
  Server a("a"), b("b");
  Site site({a.port(), b.port()});
  EXPECT_EQ(site.answers(4), "abab");
}

TEST(Balance, a_missing_server_fails_no_request) {
  Server b("b");
  Site site({closed_port(), b.port()});
  for (int i = 0; i < 20; ++i) {
    const Reply reply = site.ask();
    ASSERT_EQ(reply.status, 200);
    ASSERT_EQ(reply.body, "b");
  }
  EXPECT_TRUE(site.status(0).ejected);
}

TEST(Balance, an_unreachable_server_fails_no_request) {
  FullListener a;
  Server b("b");
  Site site({a.port(), b.port()});
  EXPECT_EQ(site.answers(2), "bb");
}

TEST(Balance, a_killed_server_fails_no_request_without_a_reply) {
  auto a = std::make_unique<Server>("a");
  Server b("b");
  Site site({a->port(), b.port()});
  std::atomic<int> failed{0}, answered{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      while (!done) {
        site.ask().status == 200 ? ++answered : ++failed;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return answered > 50; }));
  a->answer("");  // closes connections without answering
  const int before = answered;
  EXPECT_TRUE(eventually([&] { return answered > before + 50; }));
  done = true;
  for (std::thread& each : clients) each.join();
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(site.status(0).ejected);
}

TEST(Balance, errors_of_a_server_reach_the_client_until_it_is_left_out) {
  Server a("a"), b("b");
  a.answer(status_reply(500));
  config::Reliability settings;
  settings.consecutive_5xx = 3;
  settings.base_ejection_time = 60s;
  Site site({a.port(), b.port()}, settings);
  int errors = 0;
  for (int i = 0; i < 20; ++i) errors += site.ask().status == 500;
  EXPECT_EQ(errors, 3);
  EXPECT_EQ(a.asked(), 3);
}

TEST(Balance, requests_with_errors_go_to_other_servers_if_the_file_allows_it) {
  Server a("a"), b("b");
  a.answer(status_reply(500));
  config::Reliability settings;
  settings.retry_on.any_5xx = true;
  Site site({a.port(), b.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-attempts"), "2");
  EXPECT_EQ(site.answers(10), "bbbbbbbbbb");
}

TEST(Balance, the_statuses_that_the_file_lists_go_to_other_servers) {
  Server a("a"), b("b");
  a.answer(status_reply(429));
  config::Reliability settings;
  settings.retry_on.statuses = {408, 429};
  Site site({a.port(), b.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-attempts"), "2");
}

TEST(Balance, a_server_that_is_not_ready_yet_is_passed_over) {
  Server a("a"), b("b");
  a.answer(status_reply(503, "Retry-After: 5\r\n"));
  Site site({a.port(), b.port()});
  EXPECT_EQ(site.answers(3), "bbb");
}

TEST(Balance, a_refusal_by_all_servers_reaches_the_client) {
  Server a("a"), b("b");
  a.answer(status_reply(503, "Retry-After: 5\r\n"));
  b.answer(status_reply(503, "Retry-After: 7\r\n"));
  Site site({a.port(), b.port()});
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.headers.at("retry-after"), "7");
  EXPECT_EQ(reply.headers.at("x-elsewhere"), "yes");
}

TEST(Balance, a_plain_503_is_not_retried) {
  Server a("a"), b("b");
  a.answer(status_reply(503));
  Site site({a.port(), b.port()});
  EXPECT_EQ(site.ask().status, 503);
  EXPECT_EQ(b.asked(), 0);
}

TEST(Balance, no_request_is_repeated_unless_the_file_allows_it) {
  Server a("a"), b("b");
  a.answer("");
  config::Reliability settings;
  settings.retry_on = {true, false, false, false, false};
  Site site({a.port(), b.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.headers.at("x-elsewhere"), "no");
  EXPECT_EQ(b.asked(), 0);
}

TEST(Balance, no_more_servers_are_tried_than_the_file_allows) {
  Server c("c");
  config::Reliability settings;
  settings.retry_count = 1;
  Site site({closed_port(), closed_port(), c.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.headers.at("x-attempts"), "2");
}

TEST(Balance, a_server_that_hangs_is_abandoned_after_its_timeout) {
  Server a("a"), b("b");
  a.wait_before_answers(5s);
  config::Reliability settings;
  settings.reply_timeout = 1s;
  settings.consecutive_5xx = 1;
  Site site({a.port(), b.port()}, settings);
  EXPECT_EQ(site.answers(3), "bbb");
  EXPECT_EQ(a.asked(), 1);
}

TEST(Balance, a_reply_that_has_begun_in_time_may_take_longer) {
  Upstream slow([](Wire& wire, int) {
    wire.read_request();
    wire.send(std::string(kStreamHead) + chunk("data: 1\n\n"));
    std::this_thread::sleep_for(2s);
    wire.send(chunk("data: 2\n\n") + chunk(""));
  });
  config::Reliability settings;
  settings.reply_timeout = 1s;
  Site site({slow.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "data: 1\n\ndata: 2\n\n");
  EXPECT_TRUE(reply.complete);
}

TEST(Balance, a_stream_is_never_begun_twice) {
  std::atomic<int> streams{0};
  const auto script = [&](Wire& wire, int) {
    if (wire.read_request().empty()) return;
    ++streams;
    wire.send(std::string(kStreamHead) + chunk("data: 1\n\n"));
    wire.reset();
  };
  Upstream a(script), b(script);
  config::Reliability settings;
  settings.retry_on = {true, true, true, true, true};
  settings.consecutive_5xx = 2;
  Site site({a.port(), b.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.complete);
  EXPECT_NE(reply.body.find("upstream_error"), std::string::npos) << reply.body;
  EXPECT_EQ(streams, 1);
  // A stream that breaks off counts against the server, too.
  for (int i = 0; i < 3; ++i) site.ask();
  EXPECT_TRUE(site.status(0).ejected || site.status(1).ejected);
}

TEST(Balance, a_slow_server_gets_less_with_the_policy_of_least_requests) {
  Server a("a"), b("b");
  a.wait_before_answers(60ms);
  Site site({a.port(), b.port()}, least());
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      for (int asked = 0; asked < 15; ++asked) site.ask();
    });
  }
  for (std::thread& each : clients) each.join();
  EXPECT_EQ(a.asked() + b.asked(), 60);
  EXPECT_GT(b.asked(), 2 * a.asked());
}

TEST(Balance, requests_queue_for_a_full_server_and_a_full_queue_refuses) {
  Server a("a");
  a.wait_before_answers(1500ms);
  config::Reliability settings;
  settings.max_in_flight = 1;
  settings.queue_max = 1;
  Site site({a.port()}, settings);
  auto first = std::async(std::launch::async, [&] { return site.ask(); });
  EXPECT_TRUE(eventually([&] { return a.asked() == 1; }));
  auto second = std::async(std::launch::async, [&] { return site.ask(); });
  EXPECT_TRUE(eventually([&] { return site.waiting() == 1; }));
  const Reply refused = site.ask();
  EXPECT_EQ(first.get().status, 200);
  EXPECT_EQ(second.get().status, 200);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_EQ(refused.headers.at("x-elsewhere"), "yes");
  EXPECT_EQ(a.asked(), 2);
}

TEST(Balance, no_request_queues_longer_than_the_file_allows) {
  Server a("a");
  a.wait_before_answers(3s);
  config::Reliability settings;
  settings.max_in_flight = 1;
  settings.queue_timeout = 100ms;
  Site site({a.port()}, settings);
  auto first = std::async(std::launch::async, [&] { return site.ask(); });
  EXPECT_TRUE(eventually([&] { return a.asked() == 1; }));
  EXPECT_EQ(site.ask().status, 429);
  EXPECT_EQ(first.get().status, 200);
}

TEST(Balance, a_client_that_leaves_the_queue_gives_its_place_to_the_next) {
  Server a("a");
  a.wait_before_answers(1500ms);
  config::Reliability settings;
  settings.max_in_flight = 1;
  Site site({a.port()}, settings);
  auto first = std::async(std::launch::async, [&] { return site.ask(); });
  EXPECT_TRUE(eventually([&] { return a.asked() == 1; }));
  {
    Wire leaves = site.connect();
    leaves.send(post("/v1/chat/completions", "{}"));
    EXPECT_TRUE(eventually([&] { return site.waiting() == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return site.waiting() == 0; }));
  EXPECT_EQ(site.ask().status, 200);
  EXPECT_EQ(first.get().status, 200);
  EXPECT_EQ(a.asked(), 2);
  EXPECT_TRUE(eventually([&] { return site.status(0).in_flight == 0; }));
}

TEST(Balance, a_session_stays_with_its_server) {
  Server a("a"), b("b"), c("c");
  config::Reliability settings;
  settings.lb_policy = Policy::kSession;
  settings.session_header = "x-user-id";
  Site site({a.port(), b.port(), c.port()}, settings);
  for (const char* user : {"ada", "grace", "edsger", "barbara"}) {
    const std::string answers = site.answers(5, fmt::format("x-user-id: {}\r\n", user));
    EXPECT_EQ(answers, std::string(5, answers.front())) << user;
  }
}

TEST(Balance, a_conversation_goes_to_the_server_that_knows_its_beginning) {
  Server a("a"), b("b");
  config::Reliability settings;
  settings.lb_policy = Policy::kPrefix;
  settings.prefix_block_bytes = 16;
  Site site({a.port(), b.port()}, settings);
  std::string one(200, '1'), two(200, '2');
  const std::string first = site.ask(one).body;
  const std::string second = site.ask(two).body;
  EXPECT_NE(first, second);
  for (int turn = 0; turn < 5; ++turn) {
    one.append(50, static_cast<char>('a' + turn));
    two.append(70, static_cast<char>('k' + turn));
    EXPECT_EQ(site.ask(two).body, second);
    EXPECT_EQ(site.ask(one).body, first);
  }
}

TEST(Balance, health_checks_remove_a_server_and_add_it_again) {
  Server a("a"), b("b");
  a.on("/health", status_reply(503));
  b.on("/health", ok("{}"));
  config::Reliability settings = least();
  settings.health_check_path = "/health";
  settings.health_check_interval = 20ms;
  settings.health_check_timeout = 200ms;
  Site site({a.port(), b.port()}, settings);
  EXPECT_TRUE(eventually([&] { return !site.status(0).healthy; }));
  EXPECT_EQ(site.answers(5), "bbbbb");
  a.on("/health", ok("{}"));
  EXPECT_TRUE(eventually([&] { return site.status(0).healthy; }));
  const std::string answers = site.answers(4);
  EXPECT_NE(answers.find('a'), std::string::npos) << answers;
}

TEST(Balance, the_reported_load_of_servers_decides) {
  Server a("a"), b("b");
  for (Server* each : {&a, &b}) each->on("/health", ok("{}"));
  a.on("/metrics", ok("vllm:num_requests_running{engine=\"0\"} 8.0\n"
                      "vllm:num_requests_waiting{engine=\"0\"} 3.0\n"));
  b.on("/metrics", ok("vllm:num_requests_running{engine=\"0\"} 1.0\n"));
  config::Reliability settings = least();
  settings.health_check_path = "/health";
  settings.health_check_interval = 20ms;
  settings.metrics_interval = 20ms;
  Site site({a.port(), b.port()}, settings);
  EXPECT_TRUE(
      eventually([&] { return site.status(0).others == 11 && site.status(1).others == 1; }));
  EXPECT_EQ(site.answers(6), "bbbbbb");
  a.on("/metrics", status_reply(404));
  EXPECT_TRUE(eventually([&] { return site.status(0).others == 0; }));
  EXPECT_EQ(site.answers(3), "aaa");
}

TEST(Fleet, an_unchanged_model_keeps_the_state_of_its_servers) {
  upstream::Fleet fleet;
  config::Model model;
  model.name = "m";
  model.backend_refs.push_back(backend_at(1));
  const auto none = [](const config::BackendRef&) -> std::unique_ptr<const upstream::Backend> {
    return nullptr;
  };
  const auto first = fleet.balancer(model, none);
  EXPECT_EQ(fleet.balancer(model, none), first);
  model.backend_refs.push_back(backend_at(2));
  EXPECT_NE(fleet.balancer(model, none), first);
}

// A server with its own workers receives the decision, and the body unchanged.
TEST(Backend, sends_the_decision_to_a_router_behind_it) {
  for (const std::string kind : {"dynamo", "production_stack", "vllm"}) {
    Server server("s");
    config::BackendRef ref = backend_at(server.port());
    ref.engine_kind = kind;
    const upstream::HttpBackend backend(ref, {}, std::nullopt);
    HttpSite site([&](http::Exchange exchange) -> http::Task<> {
      http::Headers added, decided;
      decided.add("x-request-id", "theirs");
      decided.add("x-vsr-selected-model", "m");
      decided.add("x-vsr-selected-decision", "math");
      decided.add("x-vsr-schema-version", "2");
      const upstream::Call call{exchange.request.target, exchange.request.headers, added, "id-1",
                                exchange.request.body,   exchange.interrupt,       {},    &decided};
      auto answer = co_await backend.call(call);
      http::Headers fields;
      co_await gateway::relay(**answer, exchange.reply, fields);
    });
    const std::string body = "{\"model\": \"m\",  \"n\":1e400}";
    Wire client = Wire::connect(site.port);
    client.send(post("/v1/chat/completions", body, "x-session-id: one\r\n"));
    EXPECT_EQ(client.read_reply().body, "s");
    const std::string got = server.last_request();
    const bool gets_decision = kind != "vllm";
    EXPECT_EQ(got.find("x-vsr-selected-model: m\r\n") != std::string::npos, gets_decision) << got;
    EXPECT_EQ(got.find("x-vsr-selected-decision: math\r\n") != std::string::npos, gets_decision)
        << got;
    EXPECT_EQ(got.find("x-vsr-schema-version"), std::string::npos) << got;
    EXPECT_NE(got.find("x-session-id: one\r\n"), std::string::npos) << got;
    EXPECT_TRUE(got.ends_with("\r\n\r\n" + body)) << got;
  }
}

}  // namespace
}  // namespace signalbox::test
