// Against Hugging Face's own answers for the tokenizer of all-MiniLM-L6-v2, when both lie beside
// the repository.

#include <sstream>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

TEST(Golden, bert_ids_and_offsets_are_those_of_hugging_face) {
  const std::filesystem::path source = SIGNALBOX_SOURCE_DIR;
  const auto model = source / "models/minilm/tokenizer.json";
  const auto golden = source / "../shared/goldens/tokenizers/bert.jsonl";
  if (!std::filesystem::exists(model))
    GTEST_SKIP() << model << " is not there: signalbox models pull minilm";
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << golden << " is not there";
  const auto tokenizer = Tokenizer::open(model);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 30522);
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

}  // namespace
}  // namespace signalbox::tokenizer
