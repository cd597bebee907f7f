// Compares /openapi.json with the existing routes.

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/yaml.h"
#include "tests/router/net/gateway.h"
#include "tests/router/net/started.h"

namespace signalbox::test {
namespace {

constexpr std::string_view kWithEveryApi = R"(
version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: 0}]
providers:
  defaults: {default_model: general}
  models: [{name: general, backend_refs: [{type: echo}]}]
global: {services: {management_api: {bind_address: 127.0.0.1, port: 0}}}
)";

using Operations = std::set<std::string>;

Operations described_in_the_source() {
  Operations out;
  const auto root = yaml::load(SIGNALBOX_SOURCE_DIR "/router/admin/openapi.yaml", {});
  EXPECT_TRUE(root) << root.error().message;
  for (const yaml::Entry& path : root->find("paths")->entries)
    for (const yaml::Entry& operation : path.value.entries)
      if (operation.key != "parameters") out.insert(operation.key + " " + path.key);
  return out;
}

TEST(OpenApi, describes_every_route_and_no_other) {
  const auto daemon = started(kWithEveryApi);
  ASSERT_TRUE(daemon);
  Operations served;
  for (const std::string_view listener : {"http", "management"}) {
    Wire client = Wire::connect(daemon->port(listener));
    client.send(get("/openapi.json"));
    const auto document = json::Document::parse(client.read_reply().body);
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_EQ(document->root().find("openapi")->text(), "3.1.0");
    const json::Value paths = *document->root().find("paths");
    for (const auto& [path, operations] : paths.members()) {
      for (const auto& [method, operation] : operations.members()) {
        if (method == "parameters") continue;
        EXPECT_FALSE(operation.find("x-undescribed")) << method << ' ' << path;
        served.insert(std::string(method).append(" ").append(path));
      }
    }
  }
  EXPECT_EQ(served, described_in_the_source());
}

}  // namespace
}  // namespace signalbox::test
