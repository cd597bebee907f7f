// A configuration that `signalbox config check` accepts starts, and one that it refuses does not.

#include <gtest/gtest.h>

#include <random>

#include "base/file.h"
#include "router/daemon/check.h"
#include "tests/router/certificates.h"
#include "tests/router/net/started.h"
#include "tests/router/temporary_directory.h"

namespace signalbox::test {
namespace {

using Strings = std::vector<std::string>;

class Files {
 public:
  Files(uint32_t seed, const std::string& folder) : random_(seed), folder_(folder) {}

  std::string write() {
    return fmt::format(
        "version: v0.3\n"
        "listeners: [{{name: http, address: {}, port: 0{}}}]\n"
        "providers:\n  defaults: {{default_model: m}}\n"
        "  models:\n"
        "    - {{name: m, backend_refs: [{{type: echo}}]}}\n"
        "    - {{name: n, backend_refs: [{{endpoint: \"127.0.0.1:9\"}}], reliability: "
        "{{health_check_path: /h}}}}\n"
        "routing:\n  decisions:\n"
        "    - {{name: d, rules: {{operator: AND, conditions: []}}, modelRefs: [{{model: m}}, "
        "{{model: n}}]{}}}\n"
        "global:\n"
        "  model_catalog: {{missing_models: ignore}}\n"
        "  services:\n"
        "    management_api: {{port: 0{}{}}}\n"
        "    {}\n    {}\n"
        "  stores: {{{}}}\n"
        "  {}\n",
        pick({"127.0.0.1", "127.0.0.1", "localhost"}), certificate(),
        pick({"", "", ", algorithm: {type: kmeans}", ", algorithm: {type: ratings}"}),
        certificate(), pick({"", "", ", bind_address: 0.0.0.0"}),
        pick({"api: {}", fmt::format("audit: {{file: {}/audit.log}}", folder())}),
        pick({"authz: {}", "observability: {metrics: {port: 0}}",
              "observability: {metrics: {port: 0, bind_address: nowhere}}"}),
        pick({"", fmt::format("contexts: {{enabled: true, directory: {}/contexts}}", folder()),
              fmt::format("vector_store: {{enabled: true, backend_type: memory, "
                          "file_storage_dir: {}/files}}",
                          folder())}),
        pick({"spending: {file: \"" + folder() + "/spending.db\"}",
              fmt::format("integrations: {{looper: {{flow: {{state: {{store_backend: file, file: "
                          "{{directory: {}/states}}}}}}}}}}",
                          folder()),
              "router: {learning: {enabled: true, adaptation: {enabled: true}}}"}));
  }

 private:
  size_t one_of(size_t count) { return random_() % count; }
  std::string pick(const Strings& list) { return list[one_of(list.size())]; }
  // A folder, a new one, or one that cannot be made because it would lie below a file.
  std::string folder() {
    return pick({folder_, folder_ + "/new/deep", folder_, folder_ + "/a_file/below"});
  }
  std::string certificate() {
    const std::string there =
        Certificates::missing().empty()
            ? fmt::format(", tls_cert_path: {}, tls_key_path: {}",
                          Certificates::path("localhost.pem"), Certificates::path("localhost.key"))
            : "";
    return pick({"", "", there, there, ", tls_cert_path: /gone/a.pem, tls_key_path: /gone/a.key"});
  }

  std::mt19937 random_;
  std::string folder_;
};

TEST(Check, accepts_what_starts_and_refuses_what_does_not) {
  size_t accepted = 0, refused = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const TemporaryDirectory folder;
    ASSERT_TRUE(write_file(folder.path() / "a_file", "text"));
    const std::string text = Files(seed, folder.path().string()).write();
    auto loaded = config::parse(text, (folder.path() / "config.yaml").string());
    ASSERT_TRUE(loaded) << text << loaded.error().message;
    const auto checked = daemon::check(loaded->config);
    const bool makes_nothing = !std::filesystem::exists(folder.path() / "new");
    EXPECT_TRUE(makes_nothing);
    const auto started = daemon::Daemon::start(std::move(loaded->config), no_models);
    ASSERT_EQ(checked.has_value(), started.has_value())
        << text << (checked ? started.error().message : checked.error().message);
    ++(checked ? accepted : refused);
  }
  EXPECT_GT(accepted, 3U);
  EXPECT_GT(refused, 10U);
}

TEST(Check, refuses_other_files_that_do_not_start) {
  const TemporaryDirectory folder;
  ASSERT_TRUE(write_file(folder.path() / "a_file", "text"));
  constexpr std::string_view kIssuer =
      "access: {tokens: [{name: a, issuer: \"https://a.example\", audiences: [b], jwks_file: ";
  struct Case {
    std::string services, global;
    bool starts;
  };
  for (const Case& each : std::vector<Case>{{"api: {}", "access: {keys_file: gone}", true},
                                            {"api: {}", "access: {keys_file: a_file}", false},
                                            {"api: {}", "access: {keys_file: .}", false},
                                            {"api: {}", std::string(kIssuer) + "gone}]}", false},
                                            {"api: {}", std::string(kIssuer) + "a_file}]}", false},
                                            {"audit: {file: .}", "access: {}", false},
                                            {"api: {}", "spending: {file: .}", false}}) {
    const std::string text = fmt::format(
        "version: v0.3\nlisteners: [{{name: http, address: 127.0.0.1, port: 0}}]\n"
        "providers:\n  defaults: {{default_model: m}}\n"
        "  models: [{{name: m, backend_refs: [{{type: echo}}]}}]\n"
        "global:\n  services: {{management_api: {{port: 0}}, {}}}\n  {}\n",
        each.services, each.global);
    auto loaded = config::parse(text, (folder.path() / "config.yaml").string());
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto checked = daemon::check(loaded->config);
    EXPECT_EQ(checked.has_value(), each.starts) << text;
    const auto started = daemon::Daemon::start(std::move(loaded->config), no_models);
    EXPECT_EQ(started.has_value(), each.starts) << text;
  }
}

}  // namespace
}  // namespace signalbox::test
