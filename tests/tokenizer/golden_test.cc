// Comparison with Hugging Face's results, if they and the tokenizer files are available: 425 texts
// for each family of tokenizer.

#include <fmt/format.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, ids_and_offsets_are_those_of_hugging_face) {
  const std::filesystem::path source = SIGNALBOX_SOURCE_DIR;
  const auto file = source / fmt::format("build/tokenizers/{}.json", GetParam());
  const auto golden = source / fmt::format("../shared/goldens/tokenizers/{}.jsonl", GetParam());
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << file << " does not exist; run tests/tokenizer/peer/fetch";
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << golden << " does not exist";
  const auto tokenizer = Tokenizer::open(file);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  std::istringstream rows(read_file(golden));
  Encoding encoding;
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    const std::string_view text = row->root().find("text").value().text();
    (*tokenizer)->encode(text, {}, encoding);
    EXPECT_EQ(encoding.ids, integers(row->root().find("ids").value())) << line;
    EXPECT_EQ(code_point_offsets(encoding, text), ranges(row->root().find("offsets").value()))
        << line;
  }
  EXPECT_EQ(count, 425);
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Golden,
                         testing::Values("bert", "modernbert", "gemma2", "gpt2", "t5"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace signalbox::tokenizer
