// Runs data/cases.jsonl. Each row replaces parts of the small tokenizer (`with`), encodes a text,
// and explains the expected result.

#include <sstream>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

EncodeOptions options_of(const json::Value& row) {
  EncodeOptions options;
  if (const auto most = row.find("tokens_max")) {
    options.tokens_max = static_cast<int32_t>(most->integer().value());
  }
  if (const auto special = row.find("special_tokens")) options.special_tokens = special->boolean();
  if (const auto strategy = row.find("strategy")) {
    options.strategy = strategy->text() == "only_first" ? TruncationStrategy::kOnlyFirst
                                                        : TruncationStrategy::kOnlySecond;
  }
  if (row.find("left")) options.side = TruncationSide::kLeft;
  if (const auto stride = row.find("stride")) {
    options.stride = static_cast<int32_t>(stride->integer().value());
  }
  return options;
}

std::vector<int32_t> type_ids_of(const Encoding& encoding) {
  return {encoding.type_ids.begin(), encoding.type_ids.end()};
}

// Rows are [ids, type_ids] or [ids, type_ids, offsets]; the latter for a single text.
void expect_windows(const std::vector<Encoding>& windows, std::string_view text,
                    const json::Value& expected) {
  size_t i = 0;
  for (const json::Value& window : expected.items()) {
    ASSERT_LT(i, windows.size());
    std::vector<json::Value> columns;
    for (const json::Value& column : window.items()) columns.push_back(column);
    EXPECT_EQ(windows[i].ids, integers(columns.at(0))) << "window " << i;
    EXPECT_EQ(type_ids_of(windows[i]), integers(columns.at(1))) << "window " << i;
    if (columns.size() > 2) {
      EXPECT_EQ(code_point_offsets(windows[i], text), ranges(columns[2])) << "window " << i;
    }
    ++i;
  }
  EXPECT_EQ(i, windows.size());
}

void run_case(const json::Value& row) {
  const auto with = row.find("with");
  const auto tokenizer = small_tokenizer(with ? with->raw() : "{}");
  ASSERT_NE(tokenizer, nullptr);
  const EncodeOptions options = options_of(row);
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
    EXPECT_EQ(type_ids_of(encoding), integers(*types));
  }
  std::vector<Encoding> windows;
  const auto take = [&](const Encoding& window) {
    windows.push_back(window);
    return true;
  };
  if (pair) {
    tokenizer->encode_pair_windows(text, second, options, take);
  } else {
    tokenizer->encode_windows(text, options, take);
  }
  ASSERT_FALSE(windows.empty());
  EXPECT_EQ(windows[0].ids, encoding.ids) << "encode() gives the first window";
  EXPECT_EQ(windows[0].offsets, encoding.offsets);
  if (const auto expected = row.find("windows")) expect_windows(windows, text, *expected);
}

TEST(Cases, ids_and_offsets_match_those_worked_out_by_hand) {
  std::istringstream rows(read_file(data_file("cases.jsonl")));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto document = json::Document::parse(line);
    ASSERT_TRUE(document) << line;
    SCOPED_TRACE(document->root().find("why").value().text());
    run_case(document->root());
  }
  EXPECT_GE(count, 100);
}

}  // namespace
}  // namespace signalbox::tokenizer
