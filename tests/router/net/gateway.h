#pragma once
// Connects a client's socket to an upstream's without routing: every request goes to one backend,
// and its reply is relayed.

#include <memory>
#include <string>

#include "router/gateway/relay.h"
#include "router/http/error_reply.h"
#include "router/upstream/http_backend.h"
#include "tests/router/net/http_site.h"
#include "tests/router/net/sockets.h"

namespace signalbox::test {

inline config::BackendRef backend_at(uint16_t port, std::string host = "127.0.0.1") {
  config::BackendRef ref;
  ref.name = "a";
  ref.host = std::move(host);
  ref.port = port;
  return ref;
}

class Gateway {
 public:
  explicit Gateway(config::BackendRef ref, std::chrono::milliseconds timeout = kPatience,
                   config::HttpLimits limits = one_loop(), std::optional<std::string> api_key = {},
                   config::Authz::Identity identity = {})
      : backend_(ref, limits, std::move(api_key), std::move(identity)),
        site_([this](http::Exchange exchange) { return handle(exchange); }, limits,
              listener(timeout)) {}

  /// Uses one loop, so that consecutive connections share one pool.
  static config::HttpLimits one_loop() {
    config::HttpLimits limits;
    limits.threads = 1;
    return limits;
  }

  Wire connect() const { return Wire::connect(site_.port); }
  /// Sends one request on a new connection and reads the reply.
  Reply ask(std::string_view body = "{}") const {
    Wire client = connect();
    client.send(post("/v1/chat/completions", body));
    return client.read_reply();
  }

 private:
  static config::Listener listener(std::chrono::milliseconds timeout) {
    config::Listener out;
    out.timeout = timeout;
    return out;
  }

  http::Task<> handle(http::Exchange exchange) const {
    const http::Headers added;
    const upstream::Call call{exchange.request.target, exchange.request.headers, added, "id-1",
                              exchange.request.body,   exchange.interrupt};
    auto answer = co_await backend_.call(call);
    http::Headers fields;
    fields.add("x-request-id", "id-1");
    if (answer) {
      co_await gateway::relay(**answer, exchange.reply, fields);
    } else if (answer.error().code == Code::kCancelled) {
      exchange.reply.abandon();
    } else {
      co_await http::send_error(exchange.reply, std::move(fields), answer.error());
    }
  }

  upstream::HttpBackend backend_;
  HttpSite site_;  // last, because its threads use the backend
};

/// Returns the "message" of an error in OpenAI's format.
std::string error_message(const std::string& body);

inline std::string ok(std::string_view body) {
  return fmt::format(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

inline constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: "
    "chunked\r\n\r\n";

inline std::string chunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace signalbox::test
