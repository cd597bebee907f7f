// The choice of a directory for a task, from data/discover.jsonl, and the listing of a real
// directory.

#include "engine/discover.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "tests/engine/checkpoint.h"

namespace signalbox::engine {
namespace {

TEST(Discover, chooses_a_model_for_each_task_and_reports_why_others_were_not_chosen) {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/tests/engine/data/discover.jsonl");
  size_t read = 0;
  for (std::string line; std::getline(file, line); ++read) {
    const auto document = json::Document::parse(line).value();
    const json::Value row = document.root();
    std::vector<ModelListing> listing;
    for (const json::Member& model : row.find("models")->members()) {
      listing.push_back({std::string(model.key), {}});
      for (const json::Value& name : model.value.items())
        listing.back().files.emplace_back(name.text());
    }
    const Discovery found = discover_classifier(row.find("task")->text(), listing);
    const std::string name(row.find("name")->text());
    std::string choice = "none";
    if (found.choice) {
      const bool adapter = found.choice->kind == Discovery::Kind::kAdapter;
      choice = fmt::format("{} {}", adapter ? "adapter" : "model", found.choice->directory);
    }
    EXPECT_EQ(choice, row.find("choice")->text()) << name;
    std::vector<std::string> others, expected;
    for (const auto& other : found.others)
      others.push_back(fmt::format("{} {}", other.directory, other.reason));
    for (const json::Value& other : row.find("others")->items())
      expected.emplace_back(other.text());
    EXPECT_EQ(others, expected) << name;
  }
  EXPECT_GT(read, 4u);
}

TEST(Discover, lists_the_directories_of_a_directory) {
  const TemporaryDirectory models;
  for (const char* name : {"b", "a"}) {
    std::filesystem::create_directory(models.path() / name);
    std::ofstream(models.path() / name / "config.json") << "{}";
  }
  std::ofstream(models.path() / "a-file") << "";
  const auto listing = list_models(models.path().string());
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->size(), 2u);
  EXPECT_EQ(listing->front().name, "a");
  EXPECT_EQ(listing->front().files, std::vector<std::string>{"config.json"});
  const auto missing = list_models((models.path() / "none").string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace signalbox::engine
