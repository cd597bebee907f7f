// Invalid model directories: every line of data/refused.jsonl is rejected with the file, the key
// and the value.

#include <gtest/gtest.h>

#include <fstream>
#include <ostream>

#include "engine/engine.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

struct RefusedCase {
  std::string name;
  json::Document row;
  std::string defaults;
};

void PrintTo(const RefusedCase& refused, std::ostream* out) {
  *out << refused.name;
}

std::vector<std::shared_ptr<RefusedCase>> refused_cases() {
  std::vector<std::shared_ptr<RefusedCase>> out;
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/tests/engine/data/refused.jsonl");
  std::string line;
  std::getline(file, line);
  const auto first = json::Document::parse(line).value();
  const std::string defaults(first.root().find("defaults")->raw());
  while (std::getline(file, line)) {
    auto row = json::Document::parse(line).value();
    const std::string name(row.root().find("name")->text());
    out.push_back(std::make_shared<RefusedCase>(RefusedCase{name, std::move(row), defaults}));
  }
  return out;
}

class Refused : public testing::TestWithParam<std::shared_ptr<RefusedCase>> {};

// Applies the line's change to the directory of a valid network.
void damage(const json::Value& row, const std::string& config, const RandomNetwork& network) {
  Checkpoint tensors = network.tensors();
  if (const auto name = row.find("drop")) tensors.erase(std::string(name->text()));
  if (const auto shapes = row.find("reshape")) {
    for (const json::Member& member : shapes->members()) {
      TestTensor& tensor = tensors.at(std::string(member.key));
      tensor.shape.clear();
      size_t size = 1;
      for (const json::Value& extent : member.value.items()) {
        tensor.shape.push_back(extent.integer().value());
        size *= static_cast<size_t>(tensor.shape.back());
      }
      tensor.values.resize(size);
    }
  }
  network.write(tensors);
  std::ofstream(network.directory() / "config.json") << config;
  if (const auto files = row.find("files")) {
    for (const json::Member& member : files->members()) {
      const auto path = network.directory() / member.key;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << member.value.raw();
    }
  }
}

TEST_P(Refused, errors_name_the_value_and_its_place) {
  const json::Value row = GetParam()->row.root();
  const auto merged = [&](const char* key, const std::string& defaults) {
    const auto own = row.find(key);
    return own ? merge_objects(*own, json::Document::parse(defaults).value().root()) : defaults;
  };
  const std::string valid = merged("network", GetParam()->defaults);
  const std::string config = merged("config", valid);
  const RandomNetwork network(valid);
  damage(row, config, network);
  const auto model = TextModel::open(network.directory());
  ASSERT_FALSE(model);
  const std::string message(row.find("message")->text());
  EXPECT_NE(model.error().message.find(message), std::string::npos)
      << model.error().message << "\nexpected " << message;
  EXPECT_TRUE(model.error().message.starts_with(network.directory().string()))
      << model.error().message;
}

INSTANTIATE_TEST_SUITE_P(Directories, Refused, testing::ValuesIn(refused_cases()),
                         [](const auto& refused) { return refused.param->name; });

}  // namespace
}  // namespace signalbox::engine
