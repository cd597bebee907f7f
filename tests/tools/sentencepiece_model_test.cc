// Tests the reader with hand-made models, valid and invalid.

#include "tools/vocabulary/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/utf8.h"
#include "tests/tools/sentencepiece_bytes.h"
#include "tools/vocabulary/sentencepiece_merges.h"
#include "tools/vocabulary/sentencepiece_to_hf.h"

namespace signalbox::tools {
namespace {

const std::string kUnknown = piece_bytes("<unk>", 0, 2);
std::string trainer(uint32_t field, uint64_t value) {
  return proto_message(2, proto_varint(field, value));
}
std::string normalizer(uint32_t field, uint64_t value) {
  return proto_message(3, proto_varint(field, value));
}

Error error_of(const std::string& bytes) {
  const auto model = SentencePieceModel::parse(bytes);
  EXPECT_FALSE(model);
  return model ? Error{} : model.error();
}

TEST(SentencePieceModel, reads_pieces_and_settings) {
  const auto model = SentencePieceModel::parse(
      kUnknown + piece_bytes("<s>", 0, 3) + piece_bytes("</s>", 0, 3) + piece_bytes("a", -1.5f) +
      trainer(3, 2) +
      proto_message(3, proto_message(2, "table") + proto_varint(3, 0) + proto_varint(4, 0)) +
      proto_message(9, "later"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->kind, SentencePieceModel::Kind::kBpe);
  ASSERT_EQ(model->pieces.size(), 4u);
  EXPECT_EQ(model->pieces[3].text, "a");
  EXPECT_EQ(model->pieces[3].score, -1.5f);
  EXPECT_EQ(model->unknown_id, 0);
  EXPECT_EQ(model->begin_id, 1);
  EXPECT_EQ(model->end_id, 2);
  EXPECT_EQ(model->charsmap, "table");
  EXPECT_FALSE(model->add_dummy_prefix || model->remove_extra_whitespaces);
}

TEST(SentencePieceModel, has_the_defaults_of_its_format) {
  const auto model = SentencePieceModel::parse(kUnknown);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->kind, SentencePieceModel::Kind::kUnigram);
  EXPECT_TRUE(model->add_dummy_prefix && model->remove_extra_whitespaces);
  EXPECT_FALSE(model->byte_fallback);
  EXPECT_EQ(model->begin_id, -1);  // the model has no such piece
}

TEST(SentencePieceModel, is_recognised_by_its_first_bytes) {
  EXPECT_TRUE(SentencePieceModel::is_one(kUnknown));
  for (const char* other : {"", "{}", "\n", "\n{}", "\n\n\n\n{\"a\": 1}", "PK\x03\x04"}) {
    EXPECT_FALSE(SentencePieceModel::is_one(other)) << other;
  }
}

TEST(SentencePieceModel, errors_name_the_place) {
  EXPECT_EQ(error_of("").message, "no piece has type unknown");
  EXPECT_EQ(error_of(piece_bytes("a")).message, "no piece has type unknown");
  EXPECT_EQ(error_of(kUnknown + piece_bytes("u", 0, 2)).message,
            "pieces[0] and pieces[1] are both of type unknown");
  EXPECT_EQ(error_of(kUnknown + piece_bytes("a") + piece_bytes("a")).message,
            "pieces[2]: duplicate piece \"a\"");
  EXPECT_EQ(error_of(kUnknown + piece_bytes("")).message,
            "pieces[1]: a piece of 0 bytes, expected 1 to 1024");
  EXPECT_EQ(error_of(kUnknown + piece_bytes(std::string(1025, 'a'))).message,
            "pieces[1]: a piece of 1025 bytes, expected 1 to 1024");
  EXPECT_EQ(error_of(kUnknown + piece_bytes("\xFF")).message, "pieces[1]: not UTF-8");
  EXPECT_EQ(error_of(kUnknown + piece_bytes("a", NAN)).message, "pieces[1]: a score of nan");
  EXPECT_EQ(error_of(kUnknown + piece_bytes("a", 0, 7)).message,
            "pieces[1]: type: expected 1 to 6, found 7");
  EXPECT_EQ(error_of(kUnknown + proto_message(1, "\x08\x01")).message,
            "pieces[1]: field 1: expected a string, found a varint");
  EXPECT_EQ(error_of(kUnknown + proto_message(2, "\x18")).message,
            "trainer_spec: offset 1: an unterminated varint");
  EXPECT_EQ(error_of(kUnknown + trainer(35, 1)).message,
            "byte_fallback with pieces for only 0 of 256 bytes");
  EXPECT_EQ(error_of(kUnknown.substr(0, 5)).code, Code::kCorrupt);
}

TEST(SentencePieceModel, refuses_features_that_tokenizer_json_cannot_express) {
  for (const std::string& bytes :
       {piece_bytes("a", 0, 5), trainer(3, 3), trainer(3, 4), trainer(24, 1), normalizer(5, 0)}) {
    EXPECT_EQ(error_of(kUnknown + bytes).code, Code::kUnsupported);
  }
  EXPECT_EQ(error_of(kUnknown + trainer(3, 3)).message,
            "trainer_spec: a model of words is not supported (supported: unigram, bpe)");
}

TEST(SentencePieceModel, without_an_end_piece_none_can_be_added) {
  const auto model = SentencePieceModel::parse(kUnknown);
  ASSERT_TRUE(model);
  const auto marks = sentencepiece_marks(*model, false, true);
  ASSERT_FALSE(marks);
  EXPECT_EQ(marks.error().message, "--eos: the model has no end-of-text piece");
}

TEST(SentencePieceMerges, are_ordered_by_score_and_then_by_the_longer_left_piece) {
  const auto model = SentencePieceModel::parse(
      kUnknown + piece_bytes("a", -9) + piece_bytes("b", -9) + piece_bytes("c", -9) +
      piece_bytes("ab", -2) + piece_bytes("bc", -3) + piece_bytes("abc", -1) +
      piece_bytes("ax", -1) + piece_bytes("<a>", 0, 3));
  ASSERT_TRUE(model);
  std::vector<std::string> found;
  const auto merges = merges_of(*model);
  ASSERT_TRUE(merges) << merges.error().message;
  for (const Merge& merge : *merges) {
    found.push_back(model->pieces[static_cast<size_t>(merge.left)].text + " " +
                    model->pieces[static_cast<size_t>(merge.right)].text);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"ab c", "a bc", "a b", "b c"}));
}

// Without the limit, 256 MB of such pieces would take minutes.
TEST(SentencePieceMerges, of_many_long_pieces_are_refused) {
  std::string bytes = kUnknown + trainer(3, 2);
  for (char32_t i = 0; i < 300; ++i) {
    std::string text(1020, 'a');
    utf8::append(text, 0x4E00 + i);
    bytes += piece_bytes(text);
  }
  const auto model = SentencePieceModel::parse(bytes);
  ASSERT_TRUE(model) << model.error().message;
  const auto json = sentencepiece_to_hf(*model, {});
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code, Code::kTooLarge);
  EXPECT_EQ(json.error().message, "the 301 pieces are too many or too long to derive merges from");
}

}  // namespace
}  // namespace signalbox::tools
