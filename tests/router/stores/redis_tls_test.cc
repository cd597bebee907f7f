// Tests Redis over TLS: which servers are trusted, which are not, and that a router never falls
// back to plain text.

#include <gtest/gtest.h>

#include <future>

#include "router/stores/redis_config.h"
#include "tests/router/net/sockets.h"
#include "tests/router/redis_process.h"

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Certificates;

constexpr milliseconds kLimit{5000};

/// Returns the error of a PING, or "".
std::string error_of(const config::Redis& config, milliseconds limit = kLimit) {
  auto server = redis_server(config);
  if (!server) return server.error().message;
  server->connect_limit = limit;
  const auto answered = Redis(*std::move(server)).run({"PING"}, limit);
  return answered ? "" : answered.error().message;
}

class RedisTls : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = test::RedisProcess::missing(true); !missing.empty())
      GTEST_SKIP() << missing;
  }
  /// Returns the configuration of a router that trusts the authority and calls `host`.
  config::Redis router(const std::string& host = "localhost") const {
    config::Redis out;
    out.host = host;
    out.port = server_.server().port();
    out.use_tls = true;
    out.tls_ca_path = Certificates::path("ca.pem");
    return out;
  }
  std::string failure(std::string_view host, std::string_view why) const {
    return fmt::format("redis {}:{}: {}", host, server_.server().port(), why);
  }
  test::RedisProcess server_{true};
};

TEST_F(RedisTls, carries_answers_of_any_size_over_a_kept_connection) {
  server_.start();
  Redis redis(*redis_server(router()));
  const std::string large(5 << 20, 'x');
  ASSERT_TRUE(redis.run({"SET", "a", large}, kLimit));
  const int64_t connection = redis.run({"CLIENT", "ID"}, kLimit)->number;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(redis.run({"GET", "a"}, kLimit)->text, large);
  EXPECT_EQ(redis.run({"CLIENT", "ID"}, kLimit)->number, connection);
}

// Under the thread sanitizer, this found that the first handshakes wrote to the shared authority.
TEST_F(RedisTls, shakes_hands_on_several_threads_at_once) {
  server_.start();
  for (int round = 0; round < 20; ++round) {
    Redis redis(*redis_server(router()));
    std::vector<std::future<std::string>> threads;
    for (int i = 0; i < 4; ++i) {
      threads.push_back(std::async(std::launch::async, [&redis] {
        const auto answered = redis.run({"PING"}, kLimit);
        return answered ? "" : answered.error().message;
      }));
    }
    for (auto& thread : threads) EXPECT_EQ(thread.get(), "");
  }
}

TEST_F(RedisTls, logs_in_over_tls_and_returns_the_error_of_a_refused_login) {
  server_.start({"--requirepass", "secret"});
  config::Redis config = router();
  EXPECT_NE(error_of(config).find("NOAUTH"), std::string::npos) << error_of(config);
  config.password = "secret";
  EXPECT_EQ(error_of(config), "");
}

TEST_F(RedisTls, refuses_a_certificate_of_another_authority) {
  server_.start();
  config::Redis config = router();
  config.tls_ca_path = Certificates::path("stranger.pem");
  const std::string stranger = error_of(config);
  EXPECT_EQ(stranger.find(failure(
                "localhost", "the TLS handshake failed: certificate verify failed: self-signed")),
            0U)
      << stranger;
  config.tls_ca_path.clear();  // the system's authorities do not include it, either
  EXPECT_NE(error_of(config).find("the TLS handshake failed: certificate verify failed"),
            std::string::npos);
  config.tls_skip_verify = true;
  EXPECT_EQ(error_of(config), "");
}

TEST_F(RedisTls, refuses_a_certificate_for_another_name) {
  server_.start({}, "elsewhere");
  EXPECT_EQ(error_of(router()),
            failure("localhost",
                    "the TLS handshake failed: certificate verify failed: hostname mismatch"));
  EXPECT_EQ(error_of(router("127.0.0.1")),
            failure("127.0.0.1",
                    "the TLS handshake failed: certificate verify failed: IP address mismatch"));
}

TEST_F(RedisTls, accepts_a_certificate_for_the_called_address) {
  server_.start({}, "address");
  EXPECT_EQ(error_of(router("127.0.0.1")), "");
  EXPECT_NE(error_of(router("localhost")).find("hostname mismatch"), std::string::npos);
}

TEST_F(RedisTls, sends_its_own_certificate_if_the_server_requires_one) {
  server_.start({}, "localhost", true);
  config::Redis config = router();
  EXPECT_NE(error_of(config).find("certificate required"), std::string::npos) << error_of(config);
  config.tls_cert_path = Certificates::path("client.pem");
  config.tls_key_path = Certificates::path("client.key");
  EXPECT_EQ(error_of(config), "");
}

TEST_F(RedisTls, plain_text_and_tls_do_not_connect_to_each_other) {
  server_.start();
  config::Redis plain = router();
  plain.use_tls = false;
  EXPECT_NE(error_of(plain, milliseconds(300)), "");
  test::RedisProcess in_the_clear(false);
  in_the_clear.start();
  config::Redis config = router();
  config.port = in_the_clear.server().port();
  EXPECT_NE(error_of(config, milliseconds(300)).find("the TLS handshake failed: "),
            std::string::npos);
  Redis redis(in_the_clear.address());
  const auto commands = redis.run({"INFO", "commandstats"}, kLimit);
  EXPECT_EQ(commands->text.find("cmdstat_ping"), std::string::npos) << "none was sent in the clear";
}

TEST_F(RedisTls, shakes_hands_within_the_limit_of_connecting) {
  test::Upstream silent([](test::Wire& wire, int) { wire.read_until("never"); });
  config::Redis config = router();
  config.port = silent.port();
  auto server = redis_server(config);
  server->connect_limit = milliseconds(200);
  const auto began = std::chrono::steady_clock::now();
  const auto answered = Redis(*server).run({"PING"}, kLimit);
  ASSERT_FALSE(answered);
  EXPECT_EQ(answered.error().code, Code::kDeadline);
  EXPECT_NE(answered.error().message.find("the TLS handshake failed: no reply in time"),
            std::string::npos)
      << answered.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLimit);
}

TEST_F(RedisTls, names_the_file_that_cannot_be_read) {
  config::Redis config = router();
  config.tls_ca_path = "/nowhere/ca.pem";
  EXPECT_EQ(
      error_of(config).find("redis.use_tls: /nowhere/ca.pem: cannot read the CA certificates"), 0U)
      << error_of(config);
  config = router();
  config.tls_cert_path = Certificates::path("client.pem");
  EXPECT_NE(error_of(config).find("a certificate needs its key"), std::string::npos);
  config.tls_key_path = Certificates::path("localhost.key");
  EXPECT_NE(error_of(config).find("cannot read the certificate's key: key values mismatch"),
            std::string::npos)
      << error_of(config);
}

TEST_F(RedisTls, serves_valkey_too) {
  server_.start();
  config::Valkey config;
  config.host = "localhost";
  config.port = server_.server().port();
  config.tls_enabled = true;
  EXPECT_FALSE(Redis(*valkey_server(config)).run({"PING"}, kLimit));
  config.tls_ca_path = Certificates::path("ca.pem");
  EXPECT_TRUE(Redis(*valkey_server(config)).run({"PING"}, kLimit));
  config.tls_ca_path.clear();
  config.tls_insecure_skip_verify = true;
  EXPECT_TRUE(Redis(*valkey_server(config)).run({"PING"}, kLimit));
}

}  // namespace
}  // namespace signalbox::stores
