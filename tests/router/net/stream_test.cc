// Tests the relay of server-sent events.

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/router/net/gateway.h"

namespace signalbox::test {
namespace {

using std::chrono::milliseconds;

std::string event(int number) {
  return fmt::format("data: {{\"n\":{}}}\n\n", number);
}

TEST(Stream, passes_each_event_before_the_next_one_exists) {
  std::vector<std::promise<void>> seen(5);
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    for (int i = 0; i < 5; ++i) {
      wire.send(chunk(event(i)));
      seen[static_cast<size_t>(i)].get_future().wait();
    }
    wire.send(chunk("data: [DONE]\n\n") + chunk(""));
  });
  Gateway gateway(backend_at(upstream.port()));
  Wire client = gateway.connect();
  client.send(post("/v1/chat/completions", "{\"stream\":true}"));
  const std::string head = client.read_until("\r\n\r\n");
  EXPECT_NE(head.find("Content-Type: text/event-stream; charset=utf-8\r\n"), std::string::npos);
  EXPECT_NE(head.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.read_exactly(chunk(event(i)).size()), chunk(event(i)));
    seen[static_cast<size_t>(i)].set_value();
  }
  EXPECT_EQ(client.read_until("0\r\n\r\n"), chunk("data: [DONE]\n\n") + "0\r\n\r\n");
}

TEST(Stream, sends_the_header_before_the_first_event) {
  std::promise<void> seen;
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    seen.get_future().wait();
    wire.send(chunk(event(0)) + chunk(""));
  });
  Gateway gateway(backend_at(upstream.port()));
  Wire client = gateway.connect();
  client.send(post("/", "{}"));
  EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
  seen.set_value();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), chunk(event(0)) + "0\r\n\r\n");
}

TEST(Stream, is_the_same_however_the_upstream_cuts_it) {
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    const std::string all = event(0) + event(1) + "data: [DONE]\n\n";
    for (const char& c : all) wire.send(chunk({&c, 1}));
    wire.send("0\r\n\r\n");
  });
  Gateway gateway(backend_at(upstream.port()));
  const Reply reply = gateway.ask();
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body, event(0) + event(1) + "data: [DONE]\n\n");
}

TEST(Stream, a_broken_stream_ends_with_an_error_event_and_without_the_last_chunk) {
  // The stream breaks between events, and in the middle of one.
  for (const std::string rest : {"", "data: {\"n\":"}) {
    Upstream upstream([&](Wire& wire, int) {
      wire.read_request();
      wire.send(kStreamHead);
      wire.send(chunk(event(0) + rest));
    });
    Gateway gateway(backend_at(upstream.port()));
    Wire client = gateway.connect();
    client.send(post("/", "{}"));
    const Reply reply = client.read_reply();
    EXPECT_FALSE(reply.complete);
    const std::string before = event(0) + rest + (rest.empty() ? "" : "\n\n") + "data: ";
    ASSERT_TRUE(reply.body.starts_with(before)) << reply.body;
    ASSERT_TRUE(reply.body.ends_with("\n\n"));
    EXPECT_EQ(error_message(reply.body.substr(before.size())),
              "the model's server: it closed the connection in the middle of its reply");
    EXPECT_TRUE(client.closed());
  }
}

TEST(Stream, a_broken_compressed_stream_is_cut_off_without_a_plain_event) {
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    wire.send(chunk("\x1f\x8b"));
  });
  Gateway gateway(backend_at(upstream.port()));
  const Reply reply = gateway.ask();
  EXPECT_FALSE(reply.complete);
  EXPECT_EQ(reply.body, "\x1f\x8b");
}

TEST(Stream, a_stream_that_stalls_past_the_timeout_ends_with_an_error_event) {
  std::promise<bool> closed;
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    wire.send(chunk(event(0)));
    closed.set_value(wire.closed());
  });
  Gateway gateway(backend_at(upstream.port()), milliseconds(80));
  const Reply reply = gateway.ask();
  EXPECT_FALSE(reply.complete);
  const std::string before = event(0) + "data: ";
  ASSERT_TRUE(reply.body.starts_with(before));
  EXPECT_EQ(error_message(reply.body.substr(before.size())),
            "the model's server: it did not finish within 80 ms, the timeout of the listener");
  EXPECT_TRUE(closed.get_future().get());
}

TEST(Stream, ends_at_the_upstream_when_the_client_goes) {
  for (const bool hard : {false, true}) {
    std::promise<bool> closed;
    Upstream upstream([&](Wire& wire, int) {
      wire.read_request();
      wire.send(kStreamHead);
      wire.send(chunk(event(0)));
      closed.set_value(wire.closed());
    });
    Gateway gateway(backend_at(upstream.port()));
    Wire client = gateway.connect();
    client.send(post("/", "{}"));
    client.read_until(event(0));
    if (hard) client.reset();
    client.close();
    EXPECT_TRUE(closed.get_future().get());
  }
}

TEST(Stream, a_fast_upstream_waits_for_a_slow_client) {
  constexpr size_t kPieces = 512;
  const std::string piece = chunk(std::string(128 << 10, 'x'));
  std::atomic<size_t> sent{0};
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    for (size_t i = 0; i < kPieces && wire.send(piece); ++i) ++sent;
    wire.send(chunk(""));
  });
  Gateway gateway(backend_at(upstream.port()));
  Wire client = gateway.connect();
  client.send(post("/", "{}"));
  client.read_until("\r\n\r\n");
  EXPECT_LT(sent.load(), kPieces);
  size_t received = 0;
  for (;;) {
    const size_t size = std::stoul(client.read_until("\r\n"), nullptr, 16);
    received += client.read_exactly(size + 2).size() - 2;
    if (size == 0) break;
  }
  EXPECT_EQ(received, kPieces * (128 << 10));
  EXPECT_EQ(sent.load(), kPieces);
}

TEST(Stream, two_hundred_streams_run_at_once) {
  constexpr int kStreams = 200, kEvents = 20;
  std::atomic<int> waiting{0};
  std::promise<void> all_here;
  auto together = all_here.get_future().share();
  Upstream upstream([&](Wire& wire, int) {
    const std::string request = wire.read_request();
    const std::string body = request.substr(request.find("\r\n\r\n") + 4);
    wire.send(kStreamHead);
    if (++waiting == kStreams) all_here.set_value();
    together.wait();
    for (int i = 0; i < kEvents; ++i) wire.send(chunk(event(i) + ": " + body + "\n\n"));
    wire.send(chunk(""));
  });
  config::HttpLimits limits;
  limits.threads = 2;
  Gateway gateway(backend_at(upstream.port()), kPatience, limits);
  std::vector<Wire> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.push_back(gateway.connect());
    clients.back().send(post("/", fmt::format("{{\"client\":{}}}", i)));
  }
  for (int i = 0; i < kStreams; ++i) {
    std::string expected;
    for (int n = 0; n < kEvents; ++n)
      expected += event(n) + fmt::format(": {{\"client\":{}}}\n\n", i);
    const Reply reply = clients[static_cast<size_t>(i)].read_reply();
    EXPECT_TRUE(reply.complete);
    EXPECT_EQ(reply.body, expected);
  }
}

TEST(EventBoundary, is_an_empty_line_with_any_line_ending) {
  for (const char* tail : {"", "\n\n", "a\n\n", "\r\n\r\n", "\r\r"})
    EXPECT_TRUE(gateway::at_event_boundary(tail)) << tail;
  for (const char* tail : {"\n", "a", "\r\n", "\n\r", "\n\na", "\n "})
    EXPECT_FALSE(gateway::at_event_boundary(tail)) << tail;
}

}  // namespace
}  // namespace signalbox::test
