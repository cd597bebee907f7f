// Tests TLS on both sides: one router calls another over HTTPS, and neither accepts a connection
// without it.

#include <gtest/gtest.h>

#include "router/config/load.h"
#include "router/daemon/serve.h"
#include "tests/router/certificates.h"
#include "tests/router/net/gateway.h"

namespace signalbox::test {
namespace {

using daemon::Daemon;

std::string path(const char* name) {
  return Certificates::path(name);
}

Result<std::unique_ptr<Daemon>> start(
    std::string_view listener, std::string_view backend,
    std::string_view services = "management_api: {enabled: false}") {
  auto loaded = config::parse(fmt::format(R"(
version: v0.3
listeners:
  - {{name: http, address: 127.0.0.1, port: 0, timeout: 20s{}}}
global: {{services: {{http: {{threads: 2}}, {}}}}}
providers:
  defaults: {{default_model: m}}
  models: [{{name: m, backend_refs: [{{name: a, {}}}]}}]
)",
                                          listener, services, backend),
                              "test.yaml");
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  return Daemon::start(std::move(loaded->config),
                       [](const config::Config&) { return Result<models::Models>{}; });
}

std::string secured() {
  return fmt::format(", tls_cert_path: {}, tls_key_path: {}", path("localhost.pem"),
                     path("localhost.key"));
}

class TlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = Certificates::missing(); !missing.empty())
      GTEST_SKIP() << missing;
    server_ = *start(secured(), "type: echo");
  }
  /// Starts a router that calls server_.
  std::unique_ptr<Daemon> router(std::string_view host, std::string_view trust) const {
    auto made =
        start("", fmt::format("base_url: \"https://{}:{}\"{}", host, server_->port("http"), trust));
    if (!made) ADD_FAILURE() << made.error().message;
    return made ? *std::move(made) : nullptr;
  }
  static std::string authority() { return fmt::format(", tls_ca_path: {}", path("ca.pem")); }
  static Reply chat(const Daemon& daemon, std::string_view text, bool stream = false) {
    Wire client = Wire::connect(daemon.port("http"));
    client.send(post("/v1/chat/completions",
                     fmt::format(R"({{"model":"m","stream":{},"messages":[{{"role":"user",)"
                                 R"("content":"{}"}}]}})",
                                 stream, text)));
    return client.read_reply();
  }

  std::unique_ptr<Daemon> server_;
};

TEST_F(TlsTest, whole_replies_and_streams_use_kept_connections) {
  const auto front = router("localhost", authority());
  for (int i = 0; i < 3; ++i) {
    const Reply whole = chat(*front, "hello there");
    EXPECT_EQ(whole.status, 200) << whole.body;
    EXPECT_NE(whole.body.find("hello there"), std::string::npos);
    const Reply stream = chat(*front, "hello there", true);
    EXPECT_EQ(stream.status, 200);
    EXPECT_NE(stream.body.find("data: [DONE]"), std::string::npos);
  }
  const std::string large(3 << 20, 'x');
  const Reply long_one = chat(*front, large);
  EXPECT_EQ(long_one.status, 200);
  EXPECT_TRUE(long_one.complete);
}

TEST_F(TlsTest, servers_without_a_trusted_certificate_get_no_request) {
  const auto error_of = [](const Daemon& daemon) {
    const Reply reply = chat(daemon, "a secret");
    EXPECT_EQ(reply.status, 502);
    return error_message(reply.body);
  };
  const std::string stranger = error_of(*router("localhost", ""));
  EXPECT_NE(
      stranger.find("the model's server: the TLS handshake failed: certificate verify failed"),
      std::string::npos)
      << stranger;
  const std::string other_name = error_of(*router("127.0.0.1", authority()));
  EXPECT_NE(other_name.find("certificate verify failed"), std::string::npos) << other_name;
  EXPECT_EQ(chat(*router("127.0.0.1", ", tls_skip_verify: true"), "hello").status, 200);
}

TEST_F(TlsTest, plain_text_and_tls_do_not_connect_to_each_other) {
  // A plain request to a TLS listener, and TLS to a plain listener.
  Wire client = Wire::connect(server_->port("http"));
  client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(client.read_until("\r\n\r\n").empty());
  const auto plain = *start("", "type: echo");
  auto front = start("", fmt::format("base_url: \"https://localhost:{}\", tls_skip_verify: true",
                                     plain->port("http")));
  EXPECT_EQ(chat(**front, "hello").status, 502);
  EXPECT_EQ(chat(*router("localhost", authority()), "hello").status, 200);
}

TEST_F(TlsTest, errors_name_the_missing_file) {
  const auto none =
      start(", tls_cert_path: /nowhere/cert.pem, tls_key_path: /nowhere/key.pem", "type: echo");
  ASSERT_FALSE(none);
  EXPECT_NE(
      none.error().message.find("listener \"http\": /nowhere/cert.pem: cannot read a certificate"),
      std::string::npos)
      << none.error().message;
  const auto half = start(fmt::format(", tls_cert_path: {}", path("localhost.pem")), "type: echo");
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().message.find("tls_key_path"), std::string::npos) << half.error().message;
  const auto front = *start("", "base_url: \"https://localhost:1\", tls_ca_path: /nowhere/ca.pem");
  ASSERT_EQ(front->notices().size(), 1U);
  EXPECT_NE(front->notices()[0].find("/nowhere/ca.pem"), std::string::npos);
  EXPECT_EQ(chat(*front, "hello").status, 502);
}

TEST_F(TlsTest, every_listener_needs_a_certificate_and_its_key) {
  const auto refusal = [](const std::string& services) {
    const auto started = start("", "type: echo", services);
    return started ? "" : started.error().message;
  };
  const std::string pair = fmt::format("tls_cert_path: {}, tls_key_path: {}", path("localhost.pem"),
                                       path("elsewhere.key"));
  const std::string other_key = path("elsewhere.key") + ": cannot read the certificate's key";
  const std::string off = ", management_api: {enabled: false}";
  for (const auto& [services, wanted] : std::vector<std::pair<std::string, std::string>>{
           {fmt::format("management_api: {{port: 0, {}}}", pair),
            "listener \"management\": " + other_key},
           {fmt::format("management_api: {{port: 0, tls_key_path: {}}}", path("localhost.key")),
            "management_api: expected tls_cert_path and tls_key_path, found only one of them"},
           {fmt::format("ext_proc: {{enabled: true, port: 0, {}}}{}", pair, off),
            "global.services.ext_proc: " + other_key},
           {fmt::format("ext_proc: {{enabled: true, port: 0, tls_cert_path: {}, tls_key_path: {}, "
                        "tls_client_ca_path: {}}}{}",
                        path("localhost.pem"), path("localhost.key"), path("localhost.key"), off),
            "global.services.ext_proc: " + path("localhost.key") +
                ": cannot read the CA certificates"},
           {fmt::format("ext_proc: {{enabled: true, port: 0, tls_client_ca_path: {}}}{}",
                        path("ca.pem"), off),
            "expected tls_cert_path beside tls_client_ca_path"},
       }) {
    EXPECT_NE(refusal(services).find(wanted), std::string::npos)
        << refusal(services) << "\nfor " << services;
  }
}

}  // namespace
}  // namespace signalbox::test
