// The program's command line: rows in, rows out, exit codes.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outcome tokenize(const std::string& arguments, const std::string& input) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string name =
      std::string(testing::UnitTest::GetInstance()->current_test_info()->name());
  const auto in = folder / (name + ".in");
  const auto out = folder / (name + ".out");
  const auto err = folder / (name + ".err");
  std::ofstream(in, std::ios::binary) << input;
  const std::string command = std::string(SIGNALBOX_PROGRAM) + " tokenize " + arguments + " <" +
                              in.string() + " >" + out.string() + " 2>" + err.string();
  const int status = std::system(command.c_str());
  return {WEXITSTATUS(status), read_file(out), read_file(err)};
}

const std::string kSmall = "--tokenizer " SIGNALBOX_SOURCE_DIR "/tests/tokenizer/data/small.json ";

TEST(TokenizeCommand, writes_a_row_for_each_row_with_offsets_in_code_points) {
  const Outcome outcome =
      tokenize(kSmall, "{\"text\": \"caf\xC3\xA9 the\"}\n\n{\"text\": \"\", \"more\": 1}\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out,
            "{\"ids\":[2,16,8,3],\"offsets\":[[0,0],[0,4],[5,8],[0,0]],\"type_ids\":[0,0,0,0]}\n"
            "{\"ids\":[2,3],\"offsets\":[[0,0],[0,0]],\"type_ids\":[0,0]}\n");
}

TEST(TokenizeCommand, encodes_a_pair_and_cuts_it) {
  const Outcome outcome =
      tokenize(kSmall + "--max-tokens 6", "{\"text\": \"a\", \"pair\": \"\xC3\xA9 b c b c\"}\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "{\"ids\":[2,5,3,39,6,3],\"offsets\":[[0,0],[0,1],[0,0],[0,1],[2,3],[0,0]],"
            "\"type_ids\":[0,0,0,1,1,1]}\n");
}

TEST(TokenizeCommand, reads_the_settings_of_a_model_directory) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "tokenize_command_model";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "tokenizer.json")
      << read_file(SIGNALBOX_SOURCE_DIR "/tests/tokenizer/data/small.json");
  std::ofstream(folder / "tokenizer_config.json") << R"({"additional_special_tokens": ["router"]})";
  const Outcome outcome =
      tokenize("--no-special-tokens --tokenizer " + folder.string(), "{\"text\": \"xrouterx\"}\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("[1,7]"), std::string::npos) << outcome.out;
  std::filesystem::remove_all(folder);
}

TEST(TokenizeCommand, leaves_out_special_tokens_and_cuts_on_the_left) {
  const Outcome outcome =
      tokenize(kSmall + "--no-special-tokens --max-tokens 2 --truncation-side left",
               "{\"text\": \"a b c\"}\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "{\"ids\":[6,7],\"offsets\":[[2,3],[4,5]],\"type_ids\":[0,0]}\n");
}

TEST(TokenizeCommand, cuts_one_text_of_a_pair) {
  const Outcome outcome = tokenize(kSmall + "--max-tokens 6 --truncation only_second",
                                   "{\"text\": \"a b\", \"pair\": \"c c c\"}\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "{\"ids\":[2,5,6,3,7,3],\"offsets\":[[0,0],[0,1],[2,3],[0,0],[0,1],[0,0]],"
            "\"type_ids\":[0,0,0,0,1,1]}\n");
}

TEST(TokenizeCommand, writes_windows_behind_the_first_as_overflow) {
  const Outcome outcome = tokenize(kSmall + "--max-tokens 4 --stride 1 --no-special-tokens",
                                   "{\"text\": \"a b c a b\"}\n{\"text\": \"a\"}\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "{\"ids\":[5,6,7,5],\"offsets\":[[0,1],[2,3],[4,5],[6,7]],\"type_ids\":[0,0,0,0],"
            "\"overflow\":[{\"ids\":[5,6],\"offsets\":[[6,7],[8,9]],\"type_ids\":[0,0]}]}\n"
            "{\"ids\":[5],\"offsets\":[[0,1]],\"type_ids\":[0],\"overflow\":[]}\n");
}

TEST(TokenizeCommand, too_many_windows_are_an_error) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "a ";
  const Outcome outcome =
      tokenize(kSmall + "--max-tokens 2000 --stride 1999", "{\"text\": \"" + text + "\"}\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "signalbox: line 1: more than 4194304 tokens in all windows\n");
}

TEST(TokenizeCommand, a_row_over_the_limit_is_an_error) {
  const Outcome outcome =
      tokenize(kSmall, "{\"text\": \"a\"}\n{\"text\": \"" + std::string(64 << 20, 'a') + "\"}\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "signalbox: line 2: longer than 67108864 bytes\n");
}

TEST(TokenizeCommand, a_full_disk_is_an_error) {
  const std::string command = "echo '{\"text\": \"a\"}' | " + std::string(SIGNALBOX_PROGRAM) +
                              " tokenize " + kSmall + " >/dev/full 2>/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
}

TEST(TokenizeCommand, a_bad_row_is_named_by_its_line) {
  const Outcome outcome = tokenize(kSmall, "{\"text\": \"a\"}\n{\"text\": 3}\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "signalbox: line 2: text: expected a string, found number\n");
}

TEST(TokenizeCommand, a_bad_pair_is_refused) {
  const Outcome outcome = tokenize(kSmall, "{\"text\": \"a\", \"pair\": null}\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "signalbox: line 1: pair: expected a string, found null\n");
}

TEST(TokenizeCommand, bad_usage_exits_with_two) {
  for (const char* arguments :
       {"", "--tokenizer", "--nonsense", "--max-tokens 0 --tokenizer x",
        "--max-tokens many --tokenizer x", "stray --tokenizer x",
        "--truncation longest --tokenizer x", "--truncation-side up --tokenizer x",
        "--stride -1 --tokenizer x"}) {
    EXPECT_EQ(tokenize(arguments, "").exit_code, 2) << arguments;
  }
}

TEST(TokenizeCommand, a_missing_file_fails_and_help_succeeds) {
  EXPECT_EQ(tokenize("--tokenizer /nonexistent.json", "").exit_code, 1);
  EXPECT_EQ(tokenize("--help", "").exit_code, 0);
}

}  // namespace
