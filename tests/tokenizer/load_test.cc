// Invalid files and their errors. data/refused.jsonl replaces parts of the small tokenizer and
// gives the expected code and message.

#include <sstream>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

Error error_of(std::string_view json) {
  const auto tokenizer = Tokenizer::parse(json, "t.json");
  EXPECT_FALSE(tokenizer) << json.substr(0, 200);
  return tokenizer ? Error{} : tokenizer.error();
}

TEST(Load, wrong_or_unsupported_values_are_refused_with_their_path) {
  std::istringstream rows(read_file(data_file("refused.jsonl")));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    const Error error = error_of(small_json(row->root().find("with").value().raw()));
    EXPECT_EQ(code_name(error.code), row->root().find("code").value().text()) << line;
    EXPECT_EQ(error.message, "t.json: " + std::string(row->root().find("message").value().text()))
        << line;
  }
  EXPECT_GE(count, 45);
}

TEST(Load, other_values_than_objects_are_corrupt) {
  for (const std::string_view json :
       {"", "[]", "null", "{", "{}x", "\"\"", "\xFF", "{\"model\": {\"vocab\": "}) {
    EXPECT_EQ(error_of(json).code, Code::kCorrupt) << json;
  }
  EXPECT_EQ(error_of("[]").message, "t.json: expected an object, found array");
  EXPECT_EQ(error_of("{}").message, "t.json: model: missing");
}

TEST(Load, every_truncated_file_is_an_error) {
  const std::string json = small_json();
  for (size_t size = 0; size < json.size(); size += 7) {
    ASSERT_FALSE(Tokenizer::parse(std::string_view(json).substr(0, size), "t.json")) << size;
  }
}

TEST(Load, only_the_model_is_required) {
  const auto document = json::Document::parse(small_json());
  json::Writer out;
  out.begin_object().key("model").raw(document->root().find("model")->raw());
  const auto tokenizer = Tokenizer::parse(out.end_object().take(), "t.json");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  Encoding encoding;
  (*tokenizer)->encode("the", {}, encoding);
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{8}));
}

TEST(Load, a_piece_longer_than_any_word_is_refused) {
  const std::string json =
      R"({"model": {"type": "WordPiece", "vocab": {")" + std::string(2000, 'a') + R"(": 0}}})";
  EXPECT_EQ(error_of(small_json(json)).message,
            "t.json: model.vocab[\"" + std::string(64, 'a') +
                "\"...]: a piece of 2000 bytes, expected at most 1024");
}

TEST(Load, a_file_that_is_not_there_is_not_found) {
  const auto tokenizer = Tokenizer::open("/nonexistent/tokenizer.json");
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code, Code::kNotFound);
}

TEST(Load, opens_a_file_and_counts_its_ids) {
  const auto tokenizer = Tokenizer::open(data_file("small.json"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 44);
}

TEST(Load, ids_may_have_gaps) {
  const auto tokenizer = small_tokenizer(
      R"({"model": {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "##",
          "max_input_chars_per_word": 9, "vocab": {"u": 90, "a": 7}}, "added_tokens": [], "post_processor": null})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->vocabulary_size(), 91);
}

}  // namespace
}  // namespace signalbox::tokenizer
