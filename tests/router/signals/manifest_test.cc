// Tests how the manifest of a knowledge base is read, found and completed.

#include "router/knowledge/manifest.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace signalbox::knowledge {
namespace {

namespace fs = std::filesystem;

std::string mistake(std::string_view text) {
  const auto read = parse_manifest(text, "kb.yaml");
  return read ? "" : read.error().message;
}

TEST(Manifest, mistakes_name_the_line) {
  EXPECT_EQ(mistake("labels:\n  a: 5\n"), "kb.yaml:2: labels.a: expected a list of strings");
  EXPECT_EQ(mistake("labels:\n  a: [x]\nthreshold: high\n"),
            "kb.yaml:3: threshold: expected a number from -1 to 1");
  EXPECT_EQ(mistake("labels: {a: []}"), "kb.yaml: labels: expected at least one with examples");
  EXPECT_EQ(mistake("labels:\n  a: {exemplars: [x]}\n  b: {examples: [y]}\n"),
            "kb.yaml:3: labels.b.examples: expected the key \"exemplars\"");
  EXPECT_EQ(mistake("labels: {a: {exemplars: null, examples: [x]}, b: [y]}"),
            "kb.yaml:1: labels.a.examples: expected the key \"exemplars\"");
  EXPECT_EQ(mistake("labels: {a: [x]}\ngroups: {g: [b]}"),
            "kb.yaml: groups.g: no label \"b\" with examples");
  EXPECT_EQ(mistake("labels: {a: [x]}\nmetrics: [{name: m, positive_group: g, negative_group: h}]"),
            "kb.yaml: metrics: metric \"m\": no group \"g\"");
}

TEST(Manifest, the_built_in_manifests_are_complete) {
  for (const auto& [name, labels] : {std::pair{"privacy_kb", 18U}, {"mmlu_kb", 14U}}) {
    const auto read = parse_manifest(built_in(name), name);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->labels.size(), labels);
    EXPECT_EQ(read->metrics.size(), 1U);
    for (const Label& label : read->labels) EXPECT_GE(label.examples.size(), 6U) << label.name;
  }
  EXPECT_EQ(built_in("other"), "");
}

class Folder {
 public:
  Folder() {
    fs::create_directories(path_ / "kbs/privacy_kb");
    fs::current_path(path_);  // away from the kbs of the tree
  }
  ~Folder() {
    fs::current_path(before_);
    fs::remove_all(path_);
  }
  const fs::path& path() const { return path_; }
  void write(std::string_view name, std::string_view text) const {
    ASSERT_TRUE(write_file(path_ / name, text));
  }

 private:
  fs::path before_ = fs::current_path();
  fs::path path_ = fs::temp_directory_path() / fmt::format("signalbox_kb_{}", ::getpid());
};

TEST(Manifest, a_file_beside_the_configuration_replaces_the_built_in_one) {
  const Folder folder;
  config::KnowledgeBase kb;
  kb.name = "privacy_kb";
  kb.source.path = "knowledge_bases/privacy/";
  EXPECT_EQ(find_manifest(kb, folder.path())->path, "built-in privacy_kb");
  folder.write("kbs/privacy_kb/labels.json", R"({"labels": {"a": {"exemplars": ["x"]}}})");
  EXPECT_EQ(find_manifest(kb, folder.path())->labels.size(), 1U);
  folder.write("kbs/privacy_kb.yaml", "labels: {a: [x], b: [y]}");
  EXPECT_EQ(find_manifest(kb, folder.path())->labels.size(), 2U);
  kb.source.path = "kbs/privacy_kb/";
  EXPECT_EQ(find_manifest(kb, folder.path())->labels.size(), 1U) << "its source comes first";
  kb.name = "mine";
  kb.source.path = "none";
  EXPECT_EQ(find_manifest(kb, folder.path()).error().code, Code::kNotFound);
}

TEST(Manifest, the_configuration_takes_precedence) {
  const auto manifest = parse_manifest(
      "threshold: 0.5\ngroups: {g: [a]}\nlabels: {a: [x]}\nlabel_thresholds: {a: 0.4}", "kb.yaml");
  config::KnowledgeBase kb;
  EXPECT_EQ(complete(kb, *manifest).threshold, 0.5);
  EXPECT_EQ(complete(kb, *manifest).groups.size(), 1U);
  kb.threshold = 0.7;
  kb.groups = {{"other", {"a"}}};
  EXPECT_EQ(complete(kb, *manifest).threshold, 0.7);
  EXPECT_TRUE(complete(kb, *manifest).groups.contains("other"));
  EXPECT_EQ(complete(kb, *manifest).label_thresholds.at("a"), 0.4);
}

}  // namespace
}  // namespace signalbox::knowledge
