// Token labels to spans, from data/entities.jsonl.

#include "engine/entities.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"

namespace signalbox::engine {
namespace {

TEST(EntityReader, gives_the_spans_of_each_case) {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/tests/engine/data/entities.jsonl");
  size_t read = 0;
  for (std::string line; std::getline(file, line); ++read) {
    const auto document = json::Document::parse(line).value();
    const json::Value row = document.root();
    std::vector<std::string> labels;
    for (const json::Value& label : row.find("labels")->items()) labels.emplace_back(label.text());
    tokenizer::Encoding encoding;
    std::vector<float> probabilities;
    for (const json::Value& token : row.find("tokens")->items()) {
      std::vector<json::Value> cells;
      for (const json::Value& cell : token.items()) cells.push_back(cell);
      encoding.offsets.push_back({static_cast<uint32_t>(cells[0].integer().value()),
                                  static_cast<uint32_t>(cells[1].integer().value())});
      for (const std::string& label : labels) {
        probabilities.push_back(
            label == cells[2].text() ? static_cast<float>(cells[3].number().value()) : 0.01f);
      }
    }
    encoding.first_tokens = {0, static_cast<uint32_t>(encoding.offsets.size())};

    const auto found = EntityReader(labels).read(row.find("text")->text(), encoding,
                                                 encoding.first_tokens, probabilities);
    std::string spelled, expected;
    for (const Entity& entity : found) {
      spelled +=
          fmt::format("{} {}..{} {:.3f}\n", entity.type, entity.begin, entity.end, entity.score);
    }
    for (const json::Value& entity : row.find("entities")->items()) {
      std::vector<json::Value> cells;
      for (const json::Value& cell : entity.items()) cells.push_back(cell);
      expected += fmt::format("{} {}..{} {:.3f}\n", cells[0].text(), cells[1].integer().value(),
                              cells[2].integer().value(), cells[3].number().value());
    }
    EXPECT_EQ(spelled, expected) << row.find("name")->text();
  }
  EXPECT_GT(read, 10u);
}

TEST(EntityReader, only_the_tokens_of_one_text_are_read) {
  const std::vector<std::string> labels = {"O", "X"};
  tokenizer::Encoding encoding;
  encoding.offsets = {{0, 0}, {0, 1}, {0, 0}, {0, 2}, {0, 0}};
  const std::vector<float> all_marked = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const auto first = EntityReader(labels).read("a", encoding, {1, 2}, all_marked);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].end, 1u);
  const auto second = EntityReader(labels).read("bc", encoding, {3, 4}, all_marked);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].end, 2u);
}

}  // namespace
}  // namespace signalbox::engine
