// Runs `signalbox convert` on sentencepiece models and checks the tokenizer.json, or the error
// message. The models come from the corpus of the fuzz target.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tokenizer/tokenizer.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Convert : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Runs `signalbox convert ARGUMENTS` in the test's folder; returns its exit status.
  int run(const std::string& arguments) {
    const std::string command = "cd '" + folder_.string() +
                                "' && '" SIGNALBOX_PROGRAM "' convert " + arguments + " >out 2>err";
    const int status = std::system(command.c_str());
    out_ = read(folder_ / "out");
    err_ = read(folder_ / "err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::string model(const std::string& name) {
    return SIGNALBOX_SOURCE_DIR "/tests/tools/fuzz/sentencepiece_corpus/" + name;
  }
  std::vector<int32_t> ids(const std::string& file, std::string_view text) const {
    const auto tokenizer = tokenizer::Tokenizer::open(folder_ / file);
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer::Encoding encoding;
    if (tokenizer) (*tokenizer)->encode(text, {}, encoding);
    return encoding.ids;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "signalbox_convert" /
                           testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string out_;
  std::string err_;
};

TEST_F(Convert, writes_the_file_that_is_named) {
  ASSERT_EQ(run(model("unigram") + " new/t.json"), 0) << err_;
  EXPECT_EQ(out_ + err_, "");
  EXPECT_EQ(ids("new/t.json", "a aa"), (std::vector<int32_t>{4, 4, 3}));
}

TEST_F(Convert, writes_into_the_directory_that_is_named) {
  ASSERT_EQ(run("--eos " + model("bpe") + " somewhere"), 0) << err_;
  EXPECT_EQ(ids("somewhere/tokenizer.json", "ab"), (std::vector<int32_t>{5, 2}));
}

TEST_F(Convert, compiles_a_tokenizer_and_a_sentencepiece_model) {
  ASSERT_EQ(run(model("unigram") + " t.sbtok"), 0) << err_;
  EXPECT_EQ(ids("t.sbtok", "a aa"), (std::vector<int32_t>{4, 4, 3}));
  ASSERT_EQ(run(model("bpe") + " t.json"), 0) << err_;
  ASSERT_EQ(run("t.json t.sbtok"), 0) << err_;
  EXPECT_EQ(ids("t.sbtok", "ab"), std::vector<int32_t>{5});
}

TEST_F(Convert, replaces_an_existing_file_or_keeps_it_on_failure) {
  std::ofstream(folder_ / "t.json") << "old";
  EXPECT_EQ(run(model("truncated") + " t.json"), 1);
  EXPECT_EQ(read(folder_ / "t.json"), "old");
  ASSERT_EQ(run(model("unigram") + " t.json"), 0) << err_;
  EXPECT_EQ(ids("t.json", "a"), std::vector<int32_t>{4});
}

TEST_F(Convert, names_the_invalid_file_and_the_place) {
  EXPECT_EQ(run(model("truncated") + " t.json"), 1);
  EXPECT_TRUE(err_.starts_with("signalbox: " + model("truncated") + ": offset ")) << err_;
  EXPECT_EQ(run("nothing.model t.json"), 1);
  EXPECT_NE(err_.find("nothing.model"), std::string::npos) << err_;
  std::ofstream(folder_ / "x") << "[]";
  EXPECT_EQ(run("x t.json"), 1);
  EXPECT_EQ(err_, "signalbox: x: expected a sentencepiece model or a tokenizer.json\n");
  std::ofstream(folder_ / "y") << " {}";
  EXPECT_EQ(run("y t.json"), 1);
  EXPECT_EQ(err_, "signalbox: y: already is a tokenizer.json: OUT must end in .sbtok\n");
  EXPECT_EQ(run("y t.sbtok"), 1);
  EXPECT_EQ(err_, "signalbox: y: the tokenizer.json: model: missing\n");
  std::ofstream(folder_ / "file") << "";
  EXPECT_EQ(run(model("unigram") + " file/t.json"), 1);
  EXPECT_EQ(err_, "signalbox: file/t.json: Not a directory\n");
}

TEST_F(Convert, does_not_wait_for_a_pipe) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe.onnx").c_str(), 0600), 0);
  EXPECT_EQ(run("pipe.onnx new"), 1);
  EXPECT_NE(err_.find("pipe.onnx: not a regular file"), std::string::npos) << err_;
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(run("pipe new"), 1);
  EXPECT_NE(err_.find("pipe: "), std::string::npos) << err_;
}

TEST_F(Convert, requires_both_names) {
  EXPECT_EQ(run("t.json"), 2);
  EXPECT_NE(err_.find("--out is missing"), std::string::npos) << err_;
  EXPECT_EQ(run("a b c"), 2);
  EXPECT_EQ(run("--help"), 0);
  EXPECT_NE(out_.find("sentencepiece"), std::string::npos);
}

}  // namespace
}  // namespace signalbox
