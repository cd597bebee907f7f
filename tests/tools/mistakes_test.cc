// Tests the messages for mistakes on the command line, as data. Each line of data/mistakes.jsonl
// contains a command, its input (rows or a file), the target of its output unless it is captured,
// its exit status, and its message. The command runs in a folder with an empty file `empty.yaml`, a
// folder `folder`, a file `text` that is not a model, and a configuration `good.yaml`.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/json.h"

namespace signalbox::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfiguration = R"(version: v0.3
listeners: [{name: http, address: 127.0.0.1, port: 0}]
providers: {defaults: {default_model: m}, models: [{name: m, backend_refs: [{type: echo}]}]}
)";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Mistakes : public testing::Test {
 protected:
  Mistakes() : folder_(fs::path(testing::TempDir()) / fmt::format("mistakes_{}", ::getpid())) {
    fs::create_directories(folder_ / "folder");
    std::ofstream(folder_ / "empty.yaml") << "";
    std::ofstream(folder_ / "text") << "no model\n";
    std::ofstream(folder_ / "good.yaml") << kConfiguration;
  }
  ~Mistakes() override { fs::remove_all(folder_); }

  void check(const json::Value& row) const {
    const std::string command(row.find("command")->text());
    const auto rows = row.find("rows");
    std::ofstream(folder_ / "rows") << (rows ? rows->text() : "");
    const auto in = row.find("in"), out = row.find("out");
    const std::string line = fmt::format(
        "cd {} && timeout 20 {} {} <{} 2>message >{}", folder_.string(), SIGNALBOX_PROGRAM, command,
        in ? in->text() : std::string_view("rows"), out ? out->text() : std::string_view("&2"));
    const int status = std::system(line.c_str());
    EXPECT_EQ(WEXITSTATUS(status), *row.find("status")->integer()) << command;
    EXPECT_EQ(read_file(folder_ / "message"), std::string(row.find("message")->text()) + "\n")
        << command;
  }

  const fs::path folder_;
};

TEST_F(Mistakes, are_reported_with_their_place_and_a_remedy) {
  std::ifstream file(fs::path(SIGNALBOX_SOURCE_DIR) / "tests/tools/data/mistakes.jsonl");
  size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << row.error().message << ": " << line;
    check(row->root());
  }
  EXPECT_GT(count, 10U);
}

}  // namespace
}  // namespace signalbox::tools
