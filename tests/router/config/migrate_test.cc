// Tests that files before v0.3 become v0.3, and that the keys that were left out are listed.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/yaml.h"
#include "router/config/load.h"

namespace signalbox::config {
namespace {

namespace fs = std::filesystem;

fs::path file_with(const std::string& text) {
  const fs::path path = fs::path(testing::TempDir()) / "signalbox_migrate.yaml";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// The notices as the data file has them, under the name f.yaml.
std::string joined(const std::vector<std::string>& notices, const fs::path& file) {
  std::string all;
  for (const std::string& notice : notices)
    all += fmt::format("{}f.yaml{}", all.empty() ? "" : "\n", notice.substr(file.string().size()));
  return all;
}

TEST(Migrate, turns_each_older_file_into_v03_and_lists_omitted_keys) {
  const auto cases =
      yaml::load(fs::path(SIGNALBOX_SOURCE_DIR) / "tests/router/config/migrations.yaml");
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_GE(cases->items.size(), 5u);
  for (const yaml::Node& each : cases->items) {
    const std::string& name = each.find("name")->scalar;
    const fs::path path = file_with(each.find("file")->scalar);
    const auto migrated = migrate_file(path);
    ASSERT_TRUE(migrated) << name << ": " << migrated.error().message;
    EXPECT_EQ(migrated->text, each.find("migrated")->scalar) << name;
    EXPECT_EQ(joined(migrated->notices, path), each.find("left_out")->scalar) << name;
  }
}

TEST(Migrate, gives_files_that_pass_the_strict_check_and_mean_the_same) {
  const auto cases =
      yaml::load(fs::path(SIGNALBOX_SOURCE_DIR) / "tests/router/config/migrations.yaml");
  ASSERT_TRUE(cases) << cases.error().message;
  for (const yaml::Node& each : cases->items) {
    const std::string& name = each.find("name")->scalar;
    const auto before = parse(each.find("file")->scalar, "f.yaml");
    const auto after = parse(each.find("migrated")->scalar, "f.yaml", {.strict = true});
    ASSERT_TRUE(before) << name << ": " << before.error().message;
    ASSERT_TRUE(after) << name << ": " << after.error().message;
    const Config& a = before->config;
    const Config& b = after->config;
    EXPECT_EQ(a.providers.default_model, b.providers.default_model) << name;
    ASSERT_EQ(a.providers.models.size(), b.providers.models.size()) << name;
    for (size_t i = 0; i < a.providers.models.size(); ++i) {
      EXPECT_EQ(a.providers.models[i].name, b.providers.models[i].name);
      EXPECT_EQ(a.providers.models[i].backend_refs[0].host,
                b.providers.models[i].backend_refs[0].host);
    }
    ASSERT_EQ(a.routing.decisions.size(), b.routing.decisions.size()) << name;
    for (size_t i = 0; i < a.routing.decisions.size(); ++i) {
      EXPECT_EQ(a.routing.decisions[i].name, b.routing.decisions[i].name);
      EXPECT_EQ(a.routing.decisions[i].missing_plugins, b.routing.decisions[i].missing_plugins);
    }
  }
}

TEST(Migrate, leaves_a_v03_file_as_it_is) {
  const std::string text =
      "# mine\nversion: v0.3\nproviders: {defaults: {default_model: a}, models: [{name: a, "
      "backend_refs: [{type: echo}]}]}\n";
  const auto migrated = migrate_file(file_with(text));
  ASSERT_TRUE(migrated) << migrated.error().message;
  EXPECT_EQ(migrated->text, text);
  EXPECT_TRUE(migrated->notices.empty());
}

TEST(Migrate, refuses_a_file_that_would_not_load) {
  const auto migrated = migrate_file(file_with("vllm_endpoints: []\ndefault_model: a\n"));
  ASSERT_FALSE(migrated);
  EXPECT_NE(migrated.error().message.find(":2: providers.models[0].backend_refs: missing"),
            std::string::npos)
      << migrated.error().message;
}

TEST(Migrate, loading_an_older_file_gives_a_notice) {
  const auto loaded =
      parse("default_model: a\nvllm_endpoints: [{name: e, address: h, port: 1}]\n", "f.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_FALSE(loaded->notices.empty());
  EXPECT_EQ(loaded->notices.front(),
            "f.yaml:1: the file has an older form; `signalbox config migrate` prints it as v0.3");
}

}  // namespace
}  // namespace signalbox::config
