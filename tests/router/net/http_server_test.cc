// Tests the server from a client's socket.

#include <gtest/gtest.h>

#include <future>

#include "tests/router/net/http_site.h"
#include "tests/router/net/sockets.h"

namespace signalbox::test {
namespace {

TEST(HttpServer, keeps_the_connection_for_the_next_request) {
  HttpSite site(echo_handler);
  Wire client = Wire::connect(site.port);
  for (const std::string body : {"one", "", "three"}) {
    client.send(post("/a?b", body));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "POST /a?b " + body);
    EXPECT_TRUE(reply.has("date"));
    EXPECT_FALSE(reply.has("connection"));
  }
}

TEST(HttpServer, answers_pipelined_requests_in_order) {
  HttpSite site(echo_handler);
  Wire client = Wire::connect(site.port);
  std::string all;
  for (int i = 0; i < 50; ++i)
    all += post(fmt::format("/{}", i), std::string(static_cast<size_t>(i) * 20, 'x'));
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.read_reply().body,
              fmt::format("POST /{} {}", i, std::string(static_cast<size_t>(i) * 20, 'x')));
  }
}

TEST(HttpServer, reads_a_request_that_comes_byte_by_byte_and_in_chunks) {
  HttpSite site(echo_handler);
  Wire client = Wire::connect(site.port);
  const std::string_view wire =
      "PUT /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (const char& c : wire) client.send({&c, 1});
  EXPECT_EQ(client.read_reply().body, "PUT /slow abcde");
}

TEST(HttpServer, closes_the_connection_on_request_of_the_client) {
  HttpSite site(echo_handler);
  Wire client = Wire::connect(site.port);
  client.send(get("/", "Connection: close\r\n"));
  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_TRUE(client.closed());
}

TEST(HttpServer, speaks_http_1_0_with_and_without_keep_alive) {
  HttpSite site(echo_handler);
  Wire kept = Wire::connect(site.port);
  for (int i = 0; i < 2; ++i) {
    kept.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(kept.read_reply().headers.at("connection"), "keep-alive");
  }
  Wire once = Wire::connect(site.port);
  once.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(once.read_reply().body, "GET / ");
  EXPECT_TRUE(once.closed());
}

TEST(HttpServer, sends_no_body_to_head) {
  HttpSite site(echo_handler);
  Wire client = Wire::connect(site.port);
  client.send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n" + get("/y"));
  EXPECT_EQ(client.read_reply(true).headers.at("content-length"), "8");
  EXPECT_EQ(client.read_reply().body, "GET /y ");
}

TEST(HttpServer, invites_the_body_of_a_client_that_waits_for_it) {
  HttpSite site(echo_handler);
  Wire client = Wire::connect(site.port);
  client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_EQ(client.read_reply().body, "POST / abc");
  // If the header and the body arrive together, no "100 Continue" may be sent.
  client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(client.read_reply().status, 200);
}

http::Task<> streaming_handler(http::Exchange exchange) {
  http::Headers fields;
  exchange.reply.start(200, fields, std::nullopt);
  co_await exchange.reply.flush();
  for (const std::string_view piece : {"one ", "two ", "three"}) {
    const bool more = co_await exchange.reply.write(piece, false);
    if (!more) co_return;
  }
  co_await exchange.reply.write({}, true);
}

TEST(HttpServer, streams_in_chunks_or_to_the_end_of_the_connection) {
  HttpSite site(streaming_handler);
  Wire client = Wire::connect(site.port);
  for (int i = 0; i < 2; ++i) {
    client.send(get("/"));
    const Reply reply = client.read_reply();
    EXPECT_TRUE(reply.chunked && reply.complete);
    EXPECT_EQ(reply.body, "one two three");
  }
  Wire old = Wire::connect(site.port);
  old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const Reply reply = old.read_reply();
  EXPECT_FALSE(reply.chunked);
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_EQ(reply.body, "one two three");
}

TEST(HttpServer, closes_a_body_that_was_abandoned_without_ending_it) {
  HttpSite site([](http::Exchange exchange) -> http::Task<> {
    http::Headers fields;
    exchange.reply.start(200, fields, std::nullopt);
    co_await exchange.reply.write("half", false);
    exchange.reply.abandon();
  });
  Wire client = Wire::connect(site.port);
  client.send(get("/") + get("/next"));
  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.body, "half");
  EXPECT_FALSE(reply.complete);
  EXPECT_TRUE(client.closed());
}

TEST(HttpServer, slows_the_writer_down_to_the_pace_of_the_client) {
  constexpr size_t kPieces = 256, kPiece = 256 << 10;  // much more than socket buffers hold
  std::atomic<size_t> written{0};
  HttpSite site([&](http::Exchange exchange) -> http::Task<> {
    http::Headers fields;
    exchange.reply.start(200, fields, std::nullopt);
    const std::string piece(kPiece, 'x');
    for (size_t i = 0; i < kPieces; ++i) {
      const bool more = co_await exchange.reply.write(piece, i + 1 == kPieces);
      if (!more) co_return;
      ++written;
    }
  });
  Wire client = Wire::connect(site.port);
  client.send(get("/"));
  client.read_until("\r\n\r\n");
  EXPECT_LT(written.load(), kPieces);
  size_t received = 0;
  for (;;) {
    const size_t size = std::stoul(client.read_until("\r\n"), nullptr, 16);
    received += client.read_exactly(size + 2).size() - 2;
    if (size == 0) break;
  }
  EXPECT_EQ(received, kPieces * kPiece);
}

TEST(HttpServer, answers_500_for_a_handler_that_throws_or_forgets) {
  HttpSite site([](http::Exchange exchange) -> http::Task<> {
    if (exchange.request.target == "/throw") throw std::runtime_error("out of luck");
    co_return;
  });
  for (const char* path : {"/throw", "/forget"}) {
    Wire client = Wire::connect(site.port);
    client.send(get(path));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.body, "{\"error\":\"the router did not produce a reply\"}");
  }
}

TEST(HttpServer, notifies_a_waiting_handler_that_its_client_has_left) {
  for (const bool hard : {false, true}) {
    std::promise<Code> reason;
    HttpSite site([&](http::Exchange exchange) -> http::Task<> {
      const auto executor = co_await http::asio::this_coro::executor;
      http::Timer forever(executor);
      forever.expires_after(kPatience);
      http::Interrupt::Scope scope(exchange.interrupt, [&forever] { forever.cancel(); });
      co_await forever.async_wait(http::kAwait);
      reason.set_value(exchange.interrupt.raised() ? exchange.interrupt.why() : Code::kInternal);
    });
    Wire client = Wire::connect(site.port);
    client.send(get("/") + get("/the/next/one/is/not/a/farewell"));
    if (hard) client.reset();
    client.close();
    EXPECT_EQ(reason.get_future().get(), Code::kCancelled);
  }
}

TEST(HttpServer, names_the_listener_whose_port_is_taken) {
  HttpSite site(echo_handler);
  http::Server second(HttpSite::small(), {});
  config::Listener listener;
  listener.name = "http";
  listener.address = "127.0.0.1";
  listener.port = site.port;
  const auto port = second.listen(listener, echo_handler);
  ASSERT_FALSE(port);
  EXPECT_EQ(
      port.error().message,
      fmt::format("listener \"http\" 127.0.0.1:{}: Address already in use; stop the process that "
                  "listens there, or configure another port",
                  site.port));
  listener.address = "example.com";
  EXPECT_EQ(second.listen(listener, echo_handler).error().message,
            "listener \"http\": address: expected an IP address, found \"example.com\"");
}

TEST(HttpServer, drains_by_finishing_what_is_in_flight) {
  std::promise<void> entered;
  std::promise<void> release;
  auto released = release.get_future().share();
  HttpSite site([&](http::Exchange exchange) -> http::Task<> {
    if (exchange.request.target != "/slow") {
      co_await echo_handler(exchange);
      co_return;
    }
    entered.set_value();
    const auto executor = co_await http::asio::this_coro::executor;
    http::Timer poll(executor);
    while (released.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      poll.expires_after(std::chrono::milliseconds(1));
      co_await poll.async_wait(http::kAwait);
    }
    http::Headers fields;
    co_await exchange.reply.send(200, fields, "done");
  });
  Wire idle = Wire::connect(site.port);
  idle.send(get("/"));
  idle.read_reply();
  Wire busy = Wire::connect(site.port);
  busy.send(get("/slow"));
  entered.get_future().wait();

  auto drained = std::async(std::launch::async, [&] { return site.server.drain(kPatience); });
  EXPECT_TRUE(idle.closed());
  release.set_value();
  EXPECT_EQ(busy.read_reply().body, "done");
  EXPECT_TRUE(busy.closed());
  busy.close();
  EXPECT_TRUE(drained.get());
}

TEST(HttpServer, stops_with_requests_in_flight) {
  std::promise<void> entered;
  HttpSite site([&](http::Exchange exchange) -> http::Task<> {
    const auto executor = co_await http::asio::this_coro::executor;
    http::Timer forever(executor);
    forever.expires_after(kPatience);
    http::Interrupt::Scope scope(exchange.interrupt, [&forever] { forever.cancel(); });
    entered.set_value();
    co_await forever.async_wait(http::kAwait);
  });
  Wire client = Wire::connect(site.port);
  client.send(get("/"));
  entered.get_future().wait();
  EXPECT_FALSE(site.server.drain(std::chrono::milliseconds(1)));
  site.server.stop();
}

}  // namespace
}  // namespace signalbox::test
