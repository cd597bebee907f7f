// Runs data/cases.jsonl: each row replaces parts of the small tokenizer (`with`), encodes, and says
// why the answer is what it is.

#include <sstream>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

void run_case(const json::Value& row) {
  const auto with = row.find("with");
  const auto tokenizer = small_tokenizer(with ? with->raw() : "{}");
  ASSERT_NE(tokenizer, nullptr);
  EncodeOptions options;
  if (const auto most = row.find("tokens_max")) {
    options.tokens_max = static_cast<int32_t>(most->integer().value());
  }
  if (const auto special = row.find("special_tokens")) options.special_tokens = special->boolean();
  const std::string_view text = row.find("text").value().text();
  const auto pair = row.find("pair");
  const std::string_view second = pair ? pair->text() : "";
  Encoding encoding;
  if (pair) {
    tokenizer->encode_pair(text, second, options, encoding);
  } else {
    tokenizer->encode(text, options, encoding);
  }
  EXPECT_EQ(encoding.ids, integers(row.find("ids").value()));
  EXPECT_EQ(code_point_offsets(encoding, text, second), ranges(row.find("offsets").value()));
  ASSERT_EQ(encoding.type_ids.size(), encoding.ids.size());
  if (const auto types = row.find("type_ids")) {
    EXPECT_EQ(std::vector<int32_t>(encoding.type_ids.begin(), encoding.type_ids.end()),
              integers(*types));
  }
}

TEST(Cases, give_the_ids_and_offsets_worked_out_by_hand) {
  std::istringstream rows(read_file(data_file("cases.jsonl")));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << line;
    SCOPED_TRACE(document->root().find("why").value().text());
    run_case(document->root());
  }
  EXPECT_GE(count, 75);
}

}  // namespace
}  // namespace signalbox::tokenizer
