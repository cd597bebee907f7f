// Tests personal data through the whole daemon: what an upstream receives, and what the client gets
// back, whole and streamed.

#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/started.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;

constexpr std::string_view kWithMasks = R"(
version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 0, timeout: 20s}
providers:
  defaults: {default_model: m}
  models:
    - {name: m, backend_refs: [{name: a, endpoint: "127.0.0.1:9"}]}
routing:
  signals:
    keywords: [{name: all, keywords: [everything]}]
  decisions:
    - name: all
      priority: 2
      rules: {type: keyword, name: all}
      modelRefs: [{model: m}]
      plugins: [{type: pii_mask}]
    - name: some
      priority: 1
      modelRefs: [{model: m}]
      plugins: [{type: pii_mask, configuration: {types: [EMAIL_ADDRESS]}}]
global:
  services: {management_api: {bind_address: 127.0.0.1, port: 0}}
)";

std::unique_ptr<Daemon> start(uint16_t upstream_port) {
  return started(kWithMasks, served_at(upstream_port));
}

Reply chat_saying(const Daemon& daemon, std::string_view text) {
  Wire client = Wire::connect(daemon.port("http"));
  client.send(
      post("/v1/chat/completions",
           fmt::format(R"({{"model":"auto","messages":[{{"content":"{}","role":"user"}}]}})", text),
           "Accept-Encoding: gzip\r\n"));
  return client.read_reply();
}

TEST(Masking, hides_personal_data_from_the_upstream_and_not_from_the_client) {
  std::string received;
  Upstream upstream([&](Wire& wire, int) {
    received = wire.read_request();
    wire.send(ok(R"({"choices":[{"message":{"content":"Hi [EMAIL_ADDRESS_1]"}}]})"));
  });
  const auto daemon = start(upstream.port());
  const Reply reply = chat_saying(*daemon, "I am ann@example.com");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"choices":[{"message":{"content":"Hi ann@example.com"}}]})");
  EXPECT_NE(received.find("\"I am [EMAIL_ADDRESS_1]\""), std::string::npos) << received;
  EXPECT_NE(received.find("Accept-Encoding: identity\r\n"), std::string::npos) << received;
}

TEST(Masking, restores_personal_data_in_a_stream_that_is_cut_anywhere) {
  const auto event = [](std::string_view text) {
    return fmt::format(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", text);
  };
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(kStreamHead);
    const std::string all =
        event("Hi [EMAIL_ADD") + event("RESS_1") + event("], [") + "data: [DONE]\n\n";
    for (const char& c : all) wire.send(chunk({&c, 1}));
    wire.send("0\r\n\r\n");
  });
  const auto daemon = start(upstream.port());
  const Reply reply = chat_saying(*daemon, "I am ann@example.com");
  EXPECT_TRUE(reply.complete);
  EXPECT_EQ(reply.body, event("Hi ") + event("") + event("ann@example.com, ") +
                            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"[\"},"
                            "\"finish_reason\":null}]}\n\ndata: [DONE]\n\n");
}

TEST(Masking, restores_personal_data_in_a_stream_with_the_encoding_identity) {
  constexpr std::string_view kFirst =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"[EMAIL_ADD\"}}]}\n\n";
  constexpr std::string_view kSecond =
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"RESS_1]\"}}]}\n\n";
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: identity\r\n"
        "Transfer-Encoding: chunked\r\n\r\n");
    wire.send(fmt::format("{}{}0\r\n\r\n", chunk(kFirst), chunk(kSecond)));
  });
  const auto daemon = start(upstream.port());
  const Reply reply = chat_saying(*daemon, "I am ann@example.com");
  EXPECT_TRUE(reply.complete);
  EXPECT_NE(reply.body.find("\"content\":\"ann@example.com\""), std::string::npos) << reply.body;
}

TEST(Masking, does_not_change_the_reply_to_a_request_without_personal_data) {
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send(ok("[EMAIL_ADDRESS_1]"));
  });
  const auto daemon = start(upstream.port());
  const Reply reply = chat_saying(*daemon, "hello");
  EXPECT_EQ(reply.body, "[EMAIL_ADDRESS_1]");
  EXPECT_EQ(reply.headers.at("content-length"), "17");
}

TEST(Masking, passes_on_no_reply_that_it_cannot_read) {
  Upstream upstream([&](Wire& wire, int) {
    wire.read_request();
    wire.send("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n\x0b\x80");
  });
  const auto daemon = start(upstream.port());
  const Reply reply = chat_saying(*daemon, "I am ann@example.com");
  EXPECT_EQ(reply.status, 502);
  EXPECT_NE(error_message(reply.body).find("Content-Encoding: br"), std::string::npos)
      << reply.body;
}

TEST(Masking, refuses_a_request_that_it_cannot_search) {
  int calls = 0;
  Upstream upstream([&](Wire&, int) { ++calls; });
  const auto daemon = start(upstream.port());
  const Reply reply = chat_saying(*daemon, "everything about ann@example.com");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.headers.at("x-vsr-pii-violation"), "true");
  EXPECT_EQ(error_message(reply.body),
            "the search for personal data failed, and the request's route masks personal data");
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace signalbox::test
