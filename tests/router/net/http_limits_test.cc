// Every limit must return the right status, and the client must receive the reply although some of
// its bytes were never read.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/router/net/http_site.h"
#include "tests/router/net/sockets.h"

namespace signalbox::test {
namespace {

using std::chrono::milliseconds;

void expect_refusal(Wire& client, int status, std::string_view message) {
  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, status);
  EXPECT_EQ(reply.body, "{\"error\":\"" + std::string(message) + "\"}");
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_TRUE(client.closed());
}

TEST(HttpLimits, refuse_a_header_that_is_too_long) {
  HttpSite site(echo_handler);
  Wire client = Wire::connect(site.port);
  client.send(get("/", "X: " + std::string(200'000, 'x') + "\r\n"));
  expect_refusal(client, 431, "the request header is longer than 4096 bytes");
}

TEST(HttpLimits, refuse_a_body_that_is_too_long_before_reading_it) {
  HttpSite site(echo_handler);
  Wire announced = Wire::connect(site.port);
  announced.send(
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n");
  expect_refusal(announced, 413, "the request body is longer than 65536 bytes");
  Wire sent = Wire::connect(site.port);
  sent.send(post("/", std::string(300'000, 'x')));
  expect_refusal(sent, 413, "the request body is longer than 65536 bytes");
  Wire chunked = Wire::connect(site.port);
  chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "8000\r\n" + std::string(0x8000, 'x') + "\r\n";
  for (int i = 0; i < 3; ++i) chunked.send(chunk);
  expect_refusal(chunked, 413, "the request body is longer than 65536 bytes");
  Wire most = Wire::connect(site.port);
  most.send(post("/", std::string(65536, 'x')));
  EXPECT_EQ(most.read_reply().status, 200);
}

TEST(HttpLimits, a_header_or_body_that_does_not_arrive_ends_the_connection) {
  config::HttpLimits limits = HttpSite::small();
  limits.header_timeout = limits.body_timeout = milliseconds(60);
  HttpSite site(echo_handler, limits);
  Wire header = Wire::connect(site.port);
  header.send("GET / HTT");
  expect_refusal(header, 408, "the request header took too long to arrive");
  Wire body = Wire::connect(site.port);
  body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc");
  expect_refusal(body, 408, "the request body took too long to arrive");
}

TEST(HttpLimits, an_idle_connection_is_closed_without_a_reply) {
  config::HttpLimits limits = HttpSite::small();
  limits.idle_timeout = milliseconds(60);
  HttpSite site(echo_handler, limits);
  Wire fresh = Wire::connect(site.port);
  EXPECT_TRUE(fresh.closed());
  Wire used = Wire::connect(site.port);
  used.send(get("/"));
  EXPECT_EQ(used.read_reply().status, 200);
  EXPECT_TRUE(used.closed());
}

TEST(HttpLimits, a_connection_over_the_limit_is_refused) {
  config::HttpLimits limits = HttpSite::small();
  limits.connections_max = 2;
  limits.connections_per_address_max = 2;
  HttpSite site(echo_handler, limits);
  std::vector<Wire> open;
  for (int i = 0; i < 2; ++i) {
    open.push_back(Wire::connect(site.port));
    open.back().send(get("/"));
    EXPECT_EQ(open.back().read_reply().status, 200);
  }
  Wire third = Wire::connect(site.port);
  third.send(get("/"));
  expect_refusal(third, 503,
                 "the router has too many connections open, from this address or in total");
  open[0].send(get("/", "Connection: close\r\n"));
  open[0].read_reply();
}

TEST(HttpLimits, a_request_over_its_time_is_cancelled_and_then_ended) {
  config::Listener listener;
  listener.timeout = milliseconds(60);
  HttpSite site(
      [](http::Exchange exchange) -> http::Task<> {
        const auto executor = co_await http::asio::this_coro::executor;
        http::Timer forever(executor);
        forever.expires_after(kPatience);
        {
          http::Interrupt::Scope scope(exchange.interrupt, [&forever] { forever.cancel(); });
          co_await forever.async_wait(http::kAwait);
        }
        http::Headers fields;
        const std::string body(code_name(exchange.interrupt.why()));
        co_await exchange.reply.send(504, fields, body);
      },
      HttpSite::small(), listener);
  Wire client = Wire::connect(site.port);
  client.send(get("/"));
  const Reply reply = client.read_reply();
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(reply.body, "deadline");
}

/// A site with room for about 1 MB of bodies. Requests for /hold are answered after release().
class FullSite {
 public:
  void release() { is_released_ = true; }
  bool is_held() const { return is_held_; }
  uint16_t port() const { return site_.port; }
  http::Server::Counts counts() const { return site_.server.counts(); }
  ~FullSite() { release(); }

 private:
  static config::HttpLimits limits() {
    config::HttpLimits out = HttpSite::small();
    out.body_bytes_max = out.bodies_bytes_max = 1 << 20;
    return out;
  }

  std::atomic<bool> is_held_ = false, is_released_ = false;
  HttpSite site_{[this](http::Exchange exchange) -> http::Task<> {
                   const auto executor = co_await http::asio::this_coro::executor;
                   http::Timer timer(executor);
                   if (exchange.request.target == "/hold") is_held_ = true;
                   while (exchange.request.target == "/hold" && !is_released_) {
                     timer.expires_after(milliseconds(5));
                     co_await timer.async_wait(http::kAwait);
                   }
                   http::Headers fields;
                   co_await exchange.reply.send(200, fields, "done");
                 },
                 limits()};
};

constexpr size_t kHolds = 200'000, kWaits = 150'000, kFits = 90'000;  // each counts three times

/// A client that leaves while its body waits; another one that could be served waits behind it.
void expect_place_given_up(bool is_whole, bool resets) {
  FullSite site;
  Wire holder = Wire::connect(site.port());
  holder.send(post("/hold", std::string(kHolds, 'x')));
  EXPECT_TRUE(eventually([&] { return site.is_held(); }));
  Wire leaver = Wire::connect(site.port());
  std::string body = post("/", std::string(kWaits, 'x'));
  if (!is_whole) {
    leaver.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    body = std::string(450'000, 'x');
  }
  leaver.send(body);
  EXPECT_TRUE(eventually([&] { return site.counts().waiting_bodies == 1U; }));
  Wire other = Wire::connect(site.port());
  other.send(post("/", std::string(kFits, 'x')));
  EXPECT_TRUE(eventually([&] { return site.counts().waiting_bodies == 2U; }));
  resets ? leaver.reset() : leaver.close();
  EXPECT_EQ(other.read_reply().status, 200);
  EXPECT_TRUE(eventually([&] { return site.counts().connections == 2U; }));
  site.release();
  EXPECT_EQ(holder.read_reply().status, 200);
}

TEST(HttpLimits, a_client_that_leaves_while_its_body_waits_gives_up_its_place) {
  expect_place_given_up(true, false);
  expect_place_given_up(true, true);
  expect_place_given_up(false, false);
  expect_place_given_up(false, true);
}

TEST(HttpLimits, a_body_waits_for_the_memory_of_another_and_small_ones_pass_it) {
  FullSite site;
  Wire holder = Wire::connect(site.port());
  holder.send(post("/hold", std::string(kHolds, 'x')));
  EXPECT_TRUE(eventually([&] { return site.is_held(); }));
  Wire waits = Wire::connect(site.port());
  waits.send(post("/", std::string(kWaits, 'x')));
  EXPECT_TRUE(eventually([&] { return site.counts().waiting_bodies == 1U; }));
  Wire small = Wire::connect(site.port());
  small.send(post("/", "x"));
  EXPECT_EQ(small.read_reply().status, 200);
  EXPECT_EQ(site.counts().waiting_bodies, 1U);
  site.release();
  EXPECT_EQ(waits.read_reply().status, 200);
  EXPECT_EQ(holder.read_reply().status, 200);
}

TEST(HttpLimits, a_smuggled_request_gets_one_refusal_and_the_connection_closes) {
  HttpSite site(echo_handler);
  for (const std::string framing :
       {"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 6\r\nContent-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"}) {
    Wire client = Wire::connect(site.port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\n" + framing + "\r\nzz\r\n\r\n" + get("/smuggled"));
    EXPECT_EQ(client.read_reply().status, 400);
    EXPECT_TRUE(client.closed());
  }
}

}  // namespace
}  // namespace signalbox::test
