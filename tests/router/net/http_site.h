#pragma once
// A server with one listener and a handler of the test, on a port that the system chooses.

#include <string>
#include <utility>

#include "router/http/server.h"

namespace signalbox::test {

class HttpSite {
 public:
  explicit HttpSite(http::Handler handler, config::HttpLimits limits = small(),
                    config::Listener listener = {})
      : server(limits, [](int, std::string_view message) {
          return "{\"error\":\"" + std::string(message) + "\"}";
        }) {
    listener.name = "test";
    listener.address = "127.0.0.1";
    port = server.listen(listener, std::move(handler)).value();
    server.start();
  }

  static config::HttpLimits small() {
    config::HttpLimits limits;
    limits.threads = 2;
    limits.header_bytes_max = 4096;
    limits.body_bytes_max = 65536;
    return limits;
  }

  http::Server server;
  uint16_t port = 0;
};

/// Answers with "METHOD target body".
inline http::Task<> echo_handler(http::Exchange exchange) {
  const std::string body =
      exchange.request.method + " " + exchange.request.target + " " + exchange.request.body;
  http::Headers fields;
  fields.add("Content-Type", "text/plain");
  co_await exchange.reply.send(200, fields, body);
}

}  // namespace signalbox::test
