#pragma once
// Runs a real Redis for tests, either without TLS or with TLS only.

#include <string>
#include <vector>

#include "router/stores/redis.h"
#include "tests/router/certificates.h"
#include "tests/router/server_process.h"

namespace signalbox::test {

class RedisProcess {
 public:
  /// The reason for GTEST_SKIP, or "" if the server is available.
  static std::string missing(bool is_secure = false) {
    if (program().empty()) return "redis-server is not installed";
    return is_secure ? Certificates::missing() : "";
  }
  explicit RedisProcess(bool is_secure) : is_secure_(is_secure) {}

  /// Starts the server without persistence, unless the further options `more` enable it.
  void start(const std::vector<std::string>& more = {}, std::string_view certificate = "localhost",
             bool asks_for_certificates = false) {
    const std::string port = std::to_string(server_.port());
    std::vector<std::string> command{
        program(), "--bind", "127.0.0.1", "--save", "", "--dir", server_.folder().string()};
    const auto add = [&command](const std::vector<std::string>& words) {
      command.insert(command.end(), words.begin(), words.end());
    };
    if (is_secure_) {
      add({"--port", "0", "--tls-port", port, "--tls-ca-cert-file", Certificates::path("ca.pem"),
           "--tls-cert-file", Certificates::path(fmt::format("{}.pem", certificate)),
           "--tls-key-file", Certificates::path(fmt::format("{}.key", certificate)),
           "--tls-auth-clients", asks_for_certificates ? "yes" : "no"});
    } else {
      add({"--port", port});
    }
    add(more);
    server_.start(std::move(command));
  }

  /// Returns the server's address, with the limits that a router uses.
  stores::RedisServer address() const {
    stores::RedisServer out{.host = "localhost", .port = server_.port()};
    if (is_secure_) out.tls = *stores::Tls::create({.authorities = Certificates::path("ca.pem")});
    return out;
  }
  /// Returns the same as configuration keys, optionally with another port in between.
  std::string keys(uint16_t port = 0) const {
    const std::string tls =
        is_secure_ ? fmt::format(", use_tls: true, tls_ca_path: {}", Certificates::path("ca.pem"))
                   : "";
    return fmt::format("address: \"localhost:{}\"{}", port == 0 ? server_.port() : port, tls);
  }
  ServerProcess& server() { return server_; }
  const ServerProcess& server() const { return server_; }

 private:
  static std::string program() {
    return test::program({"/usr/bin/redis-server", "/usr/local/bin/redis-server"});
  }
  const bool is_secure_;
  ServerProcess server_{"redis"};
};

}  // namespace signalbox::test
