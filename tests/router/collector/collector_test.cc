// Tests how the file's collector is understood. Exports themselves are tested in tests/e2e and with
// the daemon in tests/router/net.

#include "router/collector/collector.h"

#include <gtest/gtest.h>

namespace signalbox::collector {
namespace {

/// The keys of an exporter that the cases set.
struct Keys {
  std::string type = "otlp", endpoint = {}, protocol = {};
  bool insecure = false;
  std::string tls_ca_path = {};
};

/// Returns "sends", "none" or the error, and the notices, of the section with this exporter.
template <class Section>
std::string understood_in(Section section, std::string_view key, const Keys& keys) {
  section.exporter.type = keys.type;
  section.exporter.endpoint = keys.endpoint;
  section.exporter.protocol = keys.protocol;
  section.exporter.insecure = keys.insecure;
  section.exporter.tls_ca_path = keys.tls_ca_path;
  std::vector<std::string> notices;
  const auto send = sender(section, notices);
  std::string out = !send ? "error: " + send.error().message : *send ? "sends" : "none";
  for (const std::string& notice : notices) {
    EXPECT_TRUE(notice.starts_with(key)) << notice;
    out.append("; ").append(notice.substr(key.size()));
  }
  return out;
}

std::string understood(const Keys& keys) {
  return understood_in(config::Observability::Tracing{},
                       "global.services.observability.tracing.exporter.", keys);
}

std::string understood_for_metrics(const Keys& keys) {
  return understood_in(config::Observability::Metrics{},
                       "global.services.observability.metrics.exporter.", keys);
}

TEST(Collector, keys_without_effect_have_a_notice) {
  EXPECT_EQ(understood({.endpoint = "c:4318", .insecure = true}), "sends");
  EXPECT_EQ(understood({.endpoint = "c:4318", .insecure = true, .tls_ca_path = "/ca.pem"}),
            "sends; tls_ca_path: has no effect; traces are sent without TLS");
  EXPECT_EQ(understood({.endpoint = "http://c:4318", .tls_ca_path = "/ca.pem"}),
            "sends; tls_ca_path: has no effect; traces are sent without TLS");
  EXPECT_EQ(understood({.endpoint = "https://c:4318", .insecure = true}),
            "sends; insecure: has no effect; the endpoint's scheme \"https\" means TLS");
}

TEST(Collector, unsupported_collectors_give_a_notice_and_unreadable_files_an_error) {
  EXPECT_EQ(understood({}), "none");
  EXPECT_EQ(understood({.type = "zipkin", .endpoint = "c:4318"}),
            "none; type: \"zipkin\" is not built; no traces are sent");
  EXPECT_EQ(understood({.endpoint = "http://c:1/v1/traces", .protocol = "grpc"}),
            "none; endpoint: gRPC has no path, found \"/v1/traces\"; no traces are sent");
  EXPECT_TRUE(
      understood({.endpoint = "c:4318", .tls_ca_path = "/nowhere/ca.pem"})
          .starts_with("error: global.services.observability.tracing.exporter.tls_ca_path"));
}

TEST(Collector, notices_show_no_part_of_a_url_that_may_be_secret) {
  EXPECT_EQ(understood({.endpoint = "grpc://me:word@c:4317"}),
            "none; endpoint: expected a URL with http:// or https://, found \"grpc://...@c:4317\"; "
            "no traces are sent");
  EXPECT_EQ(understood({.endpoint = "https://c:4318/v1?key=word"}),
            "none; endpoint: expected a URL without a query, a fragment or spaces, found "
            "\"https://c:4318/v1?...\"; no traces are sent");
  for (const char* endpoint :
       {"http://me:word@c:4318", "http://me:wo/rd@c:4318", "me:word@c:4318", "me:wo/rd@c:4318",
        "https://me@c:word/", "me:wo?rd@c:4318", "http://me:wo?rd@c:4318", "c:4318?key=word",
        "https://c?key=word", "https://[::1?key=word]:1"}) {
    const std::string text = understood({.endpoint = endpoint});
    EXPECT_TRUE(text.starts_with("none; endpoint: ")) << text;
    for (const char* part : {"word", "wo/", "rd\"", "wo\"", "wo?"})
      EXPECT_EQ(text.find(part), std::string::npos) << endpoint << ": " << text;
  }
}

TEST(Collector, metrics_have_the_same_keys_with_notices_of_their_own) {
  EXPECT_EQ(understood_for_metrics({}), "none");
  EXPECT_EQ(understood_for_metrics({.endpoint = "c:4318", .insecure = true}), "sends");
  EXPECT_EQ(understood_for_metrics({.endpoint = "http://c:4318", .tls_ca_path = "/ca.pem"}),
            "sends; tls_ca_path: has no effect; metrics are sent without TLS");
  EXPECT_EQ(understood_for_metrics({.type = "zipkin", .endpoint = "c:4318"}),
            "none; type: \"zipkin\" is not built; no metrics are sent");
  EXPECT_TRUE(
      understood_for_metrics({.endpoint = "c:4318", .tls_ca_path = "/nowhere/ca.pem"})
          .starts_with("error: global.services.observability.metrics.exporter.tls_ca_path"));
}

}  // namespace
}  // namespace signalbox::collector
