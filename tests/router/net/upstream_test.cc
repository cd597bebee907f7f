// Tests what the upstream receives, what comes back, and how errors before the start of its reply
// are handled.

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "tests/router/net/gateway.h"

namespace signalbox::test {
namespace {

using std::chrono::milliseconds;

/// Keeps answering with `reply` until the other side closes.
Upstream::Script always(std::string reply) {
  return [reply](Wire& wire, int) {
    while (!wire.read_request().empty()) wire.send(reply);
  };
}

/// Sends `reply` to one request and closes.
Upstream::Script once(std::string reply) {
  return [reply](Wire& wire, int) {
    wire.read_request();
    wire.send(reply);
  };
}

TEST(Upstream, receives_the_body_byte_for_byte_and_only_headers_meant_for_it) {
  std::string received;
  Upstream upstream([&](Wire& wire, int) {
    received = wire.read_request();
    wire.send(ok("{}"));
  });
  config::BackendRef ref = backend_at(upstream.port());
  ref.path_prefix = "/api";
  Gateway gateway(ref);
  const std::string body =
      "{\"z\":1e400,\t\"big\":123456789012345678901234567890, \"u\":\"\\u00e9\xc3\xa9\"}\n";
  Wire client = gateway.connect();
  client.send(post("/v1/chat/completions?a=b", body,
                   "Authorization: Bearer client\r\nx-vsr-debug: true\r\nConnection: "
                   "X-Drop\r\nX-Drop: 1\r\nX-Keep:  2 \r\n"
                   "X-Request-Id: theirs\r\n"));
  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_EQ(
      received,
      fmt::format("POST /api/v1/chat/completions?a=b HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n"
                  "Content-Type: application/json\r\nAuthorization: Bearer client\r\nX-Keep: 2\r\n"
                  "x-request-id: id-1\r\nContent-Length: {}\r\n\r\n{}",
                  upstream.port(), body.size(), body));
}

TEST(Upstream, receives_the_configured_key_instead_of_the_key_of_the_client) {
  std::string received;
  Upstream upstream([&](Wire& wire, int) {
    received = wire.read_request();
    wire.send(ok("{}"));
  });
  config::BackendRef ref = backend_at(upstream.port());
  ref.api_key_env = "KEY";
  ref.auth_header = "x-api-key";
  ref.auth_prefix = "";
  const auto ask = [&](std::optional<std::string> key) {
    Gateway gateway(ref, kPatience, Gateway::one_loop(), std::move(key));
    Wire client = gateway.connect();
    client.send(post("/", "{}", "authorization: Bearer client\r\nX-Api-Key: client\r\n"));
    EXPECT_EQ(client.read_reply().status, 200);
  };
  ask("secret");
  EXPECT_NE(received.find("x-api-key: secret\r\n"), std::string::npos);
  EXPECT_EQ(received.find("client"), std::string::npos);
  ask(std::nullopt);
  EXPECT_EQ(received.find("client"), std::string::npos);
}

TEST(Upstream, an_invalid_status_becomes_502) {
  for (const char* status : {"099", "99", "000", "600", "999", "1000", "-20", "2x0"}) {
    Upstream upstream(
        once(fmt::format("HTTP/1.1 {} What\r\nContent-Length: 2\r\n\r\n{{}}", status)));
    const Reply reply = Gateway(backend_at(upstream.port())).ask();
    EXPECT_EQ(reply.status, 502) << status;
    EXPECT_EQ(error_message(reply.body).find("backend \"a\": its reply is not well-formed"), 0U)
        << reply.body;
  }
}

TEST(Upstream, receives_no_identity_of_the_client) {
  std::string received;
  Upstream upstream([&](Wire& wire, int) {
    received = wire.read_request();
    wire.send(ok("{}"));
  });
  config::BackendRef ref = backend_at(upstream.port());
  const std::string sent = post("/", "{}",
                                "Cookie: secret-1\r\nX-Authz-User-Id: secret-2\r\n"
                                "x-authz-tenant-id: secret-3\r\nX-Our-User: secret-4\r\n"
                                "x-our-groups: secret-5\r\nX-User-OpenAI-Key: secret-6\r\n"
                                "x-user-agent-hint: passes\r\nx-api-key: own\r\n");
  const auto ask = [&] {
    Gateway gateway(ref, kPatience, Gateway::one_loop(), {},
                    {.user_id_header = "x-our-user", .user_groups_header = "X-Our-Groups"});
    Wire client = gateway.connect();
    client.send(sent);
    EXPECT_EQ(client.read_reply().status, 200);
  };
  ask();
  EXPECT_EQ(received.find("secret"), std::string::npos) << received;
  EXPECT_NE(received.find("x-user-agent-hint: passes\r\n"), std::string::npos) << received;
  EXPECT_NE(received.find("x-api-key: own\r\n"), std::string::npos) << received;
  ref.api_key_env = "KEY";
  ask();
  EXPECT_EQ(received.find("x-api-key"), std::string::npos) << received;
}

TEST(Upstream, receives_the_key_of_the_file_if_the_environment_has_none) {
  config::Model model;
  config::BackendRef& ref = model.backend_refs.emplace_back();
  ref.name = "b";
  const auto reason = [&model] { return upstream::refused_key(model, "b", 401); };
  EXPECT_EQ(upstream::key_of(ref), std::nullopt);
  ref.api_key = "of the file";
  EXPECT_EQ(upstream::key_of(ref), "of the file");
  ref.api_key_env = "SIGNALBOX_TEST_NO_SUCH_KEY";
  EXPECT_EQ(upstream::key_of(ref), "of the file");
  ::setenv("SIGNALBOX_TEST_KEY_OF", "of the environment \r\n", 1);
  ref.api_key_env = "SIGNALBOX_TEST_KEY_OF";
  EXPECT_EQ(upstream::key_of(ref), "of the environment");
  EXPECT_EQ(reason(),
            "backend \"b\" answered 401 to the router's own key (api_key_env "
            "SIGNALBOX_TEST_KEY_OF)");
  ::setenv("SIGNALBOX_TEST_KEY_OF", "two\nlines", 1);
  EXPECT_EQ(upstream::key_of(ref), "of the file");
  EXPECT_EQ(reason(), "backend \"b\" answered 401 to the router's own key (api_key)");
}

TEST(Upstream, receives_path_and_headers_of_its_provider) {
  std::string received;
  Upstream upstream([&](Wire& wire, int) {
    received = wire.read_request();
    wire.send(ok("{}"));
  });
  config::BackendRef ref = backend_at(upstream.port());
  ref.path_prefix = "/openai";
  ref.chat_path = "/openai/deployments/large/chat/completions";
  ref.api_version = "2025-03-01";
  ref.extra_headers = {{"X-Tenant", "seven"}};
  const auto ask = [&](std::string_view target) {
    Gateway gateway(ref);
    Wire client = gateway.connect();
    client.send(post(target, "{}", "x-tenant: forged\r\nX-Other: passes\r\n"));
    EXPECT_EQ(client.read_reply().status, 200);
    return received.substr(0, received.find("\r\n"));
  };
  EXPECT_EQ(ask("/v1/chat/completions"),
            "POST /openai/deployments/large/chat/completions?api-version=2025-03-01 HTTP/1.1");
  EXPECT_EQ(received.find("forged"), std::string::npos) << received;
  EXPECT_NE(received.find("X-Tenant: seven\r\n"), std::string::npos) << received;
  EXPECT_NE(received.find("X-Other: passes\r\n"), std::string::npos) << received;
  EXPECT_EQ(
      ask("/v1/chat/completions?a=b&api-version=1&c"),
      "POST /openai/deployments/large/chat/completions?api-version=2025-03-01&a=b&c HTTP/1.1");
  EXPECT_EQ(ask("/v1/chat/completions?Api%2DVersion=1&api-version&api-versions=2"),
            "POST /openai/deployments/large/chat/completions?api-version=2025-03-01&"
            "api-versions=2 HTTP/1.1");
  EXPECT_EQ(ask("/v1/completions?a=b"),
            "POST /openai/v1/completions?api-version=2025-03-01&a=b HTTP/1.1");
  ref.api_version.clear();
  EXPECT_EQ(ask("/v1/chat/completions?a=b"),
            "POST /openai/deployments/large/chat/completions?a=b HTTP/1.1");
}

TEST(Upstream, a_reply_keeps_its_status_and_headers_and_bytes) {
  const std::string gzip("\x1f\x8b\x08\x00\x00\r\n\r\n0\r\n", 12);
  Upstream upstream(once(
      "HTTP/1.1 429 Slow Down\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\n"
      "Retry-After: 7\r\nKeep-Alive: timeout=5\r\nx-vsr-selected-model: forged\r\n"
      "X-Request-Id: upstream\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 12\r\n\r\n" +
      gzip));
  Gateway gateway(backend_at(upstream.port()));
  const Reply reply = gateway.ask();
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.body, gzip);
  EXPECT_EQ(reply.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(reply.headers.at("retry-after"), "7");
  EXPECT_EQ(reply.headers.at("x-request-id"), "id-1");
  EXPECT_FALSE(reply.has("keep-alive"));
  EXPECT_FALSE(reply.has("x-vsr-selected-model"));
}

TEST(Upstream, reply_may_be_framed_in_any_way) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::vector<std::pair<std::string, std::string>> replies = {
      {head + "Content-Length: 5\r\n\r\nhello", "hello"},
      {head + "Content-Length: 0\r\n\r\n", ""},
      {head + "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nh\r\n0004\r\nello\r\n0\r\nX-Trailer: "
              "1\r\n\r\n",
       "hello"},
      {"HTTP/1.0 200 OK\r\n\r\nhello", "hello"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + head +
           "Content-Length: 5\r\n\r\nhello",
       "hello"},
      {"HTTP/1.1 204 No Content\r\n\r\n", ""},
  };
  for (const auto& [wire_bytes, body] : replies) {
    // Sends the reply as a whole, and byte by byte.
    for (const bool slowly : {false, true}) {
      Upstream upstream([&, bytes = wire_bytes](Wire& wire, int) {
        wire.read_request();
        for (size_t i = 0; slowly && i < bytes.size(); ++i) wire.send(bytes.substr(i, 1));
        if (!slowly) wire.send(bytes);
      });
      Gateway gateway(backend_at(upstream.port()));
      const Reply reply = gateway.ask();
      EXPECT_TRUE(reply.complete) << wire_bytes;
      EXPECT_EQ(reply.body, body) << wire_bytes;
      EXPECT_EQ(reply.status / 100, 2) << wire_bytes;
    }
  }
}

TEST(Upstream, connection_is_used_again) {
  Upstream upstream(always(ok("{}")));
  {
    Gateway gateway(backend_at(upstream.port()));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(gateway.ask().status, 200);
    EXPECT_EQ(upstream.connections(), 1);
  }
}

TEST(Upstream, connection_that_was_closed_while_idle_is_replaced) {
  Upstream upstream([](Wire& wire, int) {
    wire.read_request();
    wire.send(ok("{}"));
    wire.shutdown_send();
    wire.closed();
  });
  Gateway gateway(backend_at(upstream.port()));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(gateway.ask().status, 200);
  EXPECT_EQ(upstream.connections(), 3);
}

TEST(Upstream, a_request_on_a_connection_that_just_closed_is_sent_once_more) {
  Upstream upstream([](Wire& wire, int number) {
    wire.read_request();
    wire.send(ok("{}"));
    // The next request arrives and is never answered; the router sees an idle connection close.
    if (number == 0) wire.read_request();
    if (number == 0) return;
    while (!wire.read_request().empty()) wire.send(ok("{}"));
  });
  Gateway gateway(backend_at(upstream.port()));
  EXPECT_EQ(gateway.ask().status, 200);
  EXPECT_EQ(gateway.ask().status, 200);
  EXPECT_EQ(upstream.connections(), 2);
}

TEST(Upstream, request_is_not_repeated_on_a_fresh_connection_or_after_a_byte_of_the_reply) {
  std::atomic<int> requests{0};
  Upstream silent([&](Wire& wire, int) {
    wire.read_request();
    ++requests;
  });
  Gateway fresh(backend_at(silent.port()));
  const Reply reply = fresh.ask();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(error_message(reply.body), "backend \"a\": it closed the connection without a reply");
  EXPECT_EQ(requests.load(), 1);

  Upstream partial([](Wire& wire, int) {
    wire.read_request();
    wire.send(ok("{}"));
    if (!wire.read_request().empty()) wire.send("HTTP");
  });
  Gateway begun(backend_at(partial.port()));
  EXPECT_EQ(begun.ask().status, 200);
  const Reply second = begun.ask();
  EXPECT_EQ(second.status, 502);
  EXPECT_EQ(error_message(second.body),
            "backend \"a\": it closed the connection in the middle of its reply header");
  EXPECT_EQ(partial.connections(), 1);
}

TEST(Upstream, a_refused_connection_is_502) {
  Gateway gateway(backend_at(closed_port()));
  const Reply reply = gateway.ask();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(error_message(reply.body), "backend \"a\": cannot connect: Connection refused");
  EXPECT_EQ(reply.headers.at("x-request-id"), "id-1");
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
}

TEST(Upstream, a_server_that_does_not_answer_in_time_is_504_and_disconnected) {
  for (const std::string_view sent : {"", "HTTP/1.1 200 OK\r\nContent-"}) {
    std::atomic<bool> closed{false};
    Upstream upstream([&, sent](Wire& wire, int) {
      wire.read_request();
      wire.send(sent);
      closed = wire.closed();
    });
    Gateway gateway(backend_at(upstream.port()), milliseconds(80));
    Wire client = gateway.connect();
    client.send(post("/", "{}"));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 504);
    EXPECT_EQ(
        error_message(reply.body),
        "backend \"a\": it did not finish within 80 ms, the timeout of the listener \"test\"");
  }
}

TEST(Upstream, a_server_that_does_not_accept_is_504_after_the_connect_timeout) {
  const FullListener full;
  config::HttpLimits limits = Gateway::one_loop();
  limits.connect_timeout = milliseconds(80);
  Gateway gateway(backend_at(full.port()), kPatience, limits);
  const Reply reply = gateway.ask();
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(error_message(reply.body), "backend \"a\": no connection within 80 ms");
}

TEST(Upstream, is_found_by_name) {
  Upstream upstream(always(ok("{}")));
  {
    Gateway gateway(backend_at(upstream.port(), "localhost"));
    EXPECT_EQ(gateway.ask().status, 200);
    EXPECT_EQ(gateway.ask().status, 200);
  }
  Gateway nowhere(backend_at(80, "no-such-host.invalid"));
  const Reply reply = nowhere.ask();
  EXPECT_EQ(reply.status, 502);
  EXPECT_TRUE(error_message(reply.body)
                  .starts_with("backend \"a\": cannot resolve \"no-such-host.invalid\": "));
}

TEST(Upstream, a_malformed_reply_is_502) {
  const std::vector<std::pair<std::string, std::string>> replies = {
      {"SSH-2.0-OpenSSH\r\n\r\n", "its reply is not well-formed HTTP/1.1: bad version"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n",
       "its reply header is longer than 65536 bytes"},
      {"HTTP/1.1 101 Switching Protocols\r\n\r\n",
       "it switched protocols without a request for that"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
       "its reply is not well-formed HTTP/1.1: multiple Content-Length"},
  };
  for (const auto& [bytes, message] : replies) {
    Upstream upstream(once(bytes));
    Gateway gateway(backend_at(upstream.port()));
    const Reply reply = gateway.ask();
    EXPECT_EQ(reply.status, 502) << message;
    EXPECT_EQ(error_message(reply.body), "backend \"a\": " + message);
  }
}

TEST(Upstream, may_refuse_a_request_before_reading_it) {
  const std::string refusal =
      "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig";
  Upstream upstream([&](Wire& wire, int) {
    wire.read_until("\r\n\r\n");
    wire.send(refusal);
    wire.shutdown_send();
    while (!wire.read_exactly(1 << 20).empty()) {
    }
  });
  Gateway gateway(backend_at(upstream.port()));
  const Reply reply = gateway.ask(std::string(8 << 20, ' '));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.body, "big");
}

TEST(Upstream, call_ends_when_the_client_goes_before_the_first_byte) {
  for (const bool hard : {false, true}) {
    std::promise<void> asked;
    std::promise<bool> closed;
    Upstream upstream([&](Wire& wire, int) {
      wire.read_request();
      asked.set_value();
      closed.set_value(wire.closed());
    });
    Gateway gateway(backend_at(upstream.port()));
    Wire client = gateway.connect();
    client.send(post("/", "{}") + post("/pipelined", "{}"));
    asked.get_future().wait();
    if (hard) client.reset();
    client.close();
    EXPECT_TRUE(closed.get_future().get());
  }
}

TEST(Upstream, a_body_that_ends_early_is_cut_off_for_the_client_too) {
  for (const std::string framing :
       {"Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"}) {
    Upstream upstream(once("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + framing));
    Gateway gateway(backend_at(upstream.port()));
    Wire client = gateway.connect();
    client.send(post("/", "{}"));
    const Reply reply = client.read_reply();
    EXPECT_EQ(reply.body, "half");
    EXPECT_FALSE(reply.complete);
  }
}

}  // namespace
}  // namespace signalbox::test
