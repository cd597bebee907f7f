// Tests the reader with hand-made models, valid and invalid.

#include "tools/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tools/sentencepiece_merges.h"
#include "tools/sentencepiece_to_hf.h"

namespace signalbox::tools {
namespace {

std::string varint(uint32_t number, uint64_t value) {
  std::string out;
  for (uint64_t rest : {static_cast<uint64_t>(number << 3), value}) {
    for (; rest >= 0x80; rest >>= 7) out.push_back(static_cast<char>(rest | 0x80));
    out.push_back(static_cast<char>(rest));
  }
  return out;
}

std::string message(uint32_t number, std::string_view bytes) {
  std::string out = varint(number, bytes.size());
  out[0] = static_cast<char>(out[0] | 2);
  return out.append(bytes);
}

std::string piece(std::string_view text, float score = 0, int type = 1) {
  std::string body = message(1, text) + '\x15';
  const auto bits = std::bit_cast<uint32_t>(score);
  for (int i = 0; i < 4; ++i) body.push_back(static_cast<char>(bits >> (8 * i) & 0xFF));
  return message(1, body + varint(3, static_cast<uint64_t>(type)));
}

const std::string kUnknown = piece("<unk>", 0, 2);
std::string trainer(uint32_t field, uint64_t value) {
  return message(2, varint(field, value));
}
std::string normalizer(uint32_t field, uint64_t value) {
  return message(3, varint(field, value));
}

Error error_of(const std::string& bytes) {
  const auto model = SentencePieceModel::parse(bytes);
  EXPECT_FALSE(model);
  return model ? Error{} : model.error();
}

TEST(SentencePieceModel, reads_pieces_and_settings) {
  const auto model = SentencePieceModel::parse(
      kUnknown + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("a", -1.5f) + trainer(3, 2) +
      message(3, message(2, "table") + varint(3, 0) + varint(4, 0)) + message(9, "later"));
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
  EXPECT_EQ(error_of(piece("a")).message, "no piece has type unknown");
  EXPECT_EQ(error_of(kUnknown + piece("u", 0, 2)).message,
            "pieces[0] and pieces[1] are both of type unknown");
  EXPECT_EQ(error_of(kUnknown + piece("a") + piece("a")).message,
            "pieces[2]: duplicate piece \"a\"");
  EXPECT_EQ(error_of(kUnknown + piece("")).message,
            "pieces[1]: a piece of 0 bytes, expected 1 to 1024");
  EXPECT_EQ(error_of(kUnknown + piece(std::string(1025, 'a'))).message,
            "pieces[1]: a piece of 1025 bytes, expected 1 to 1024");
  EXPECT_EQ(error_of(kUnknown + piece("\xFF")).message, "pieces[1]: not UTF-8");
  EXPECT_EQ(error_of(kUnknown + piece("a", NAN)).message, "pieces[1]: a score of nan");
  EXPECT_EQ(error_of(kUnknown + piece("a", 0, 7)).message,
            "pieces[1]: type: expected 1 to 6, found 7");
  EXPECT_EQ(error_of(kUnknown + message(1, "\x08\x01")).message,
            "pieces[1]: field 1: expected a string, found a varint");
  EXPECT_EQ(error_of(kUnknown + message(2, "\x18")).message,
            "trainer_spec: offset 1: an unterminated varint");
  EXPECT_EQ(error_of(kUnknown + trainer(35, 1)).message,
            "byte_fallback with pieces for only 0 of 256 bytes");
  EXPECT_EQ(error_of(kUnknown.substr(0, 5)).code, Code::kCorrupt);
}

TEST(SentencePieceModel, refuses_features_that_tokenizer_json_cannot_express) {
  for (const std::string& bytes :
       {piece("a", 0, 5), trainer(3, 3), trainer(3, 4), trainer(24, 1), normalizer(5, 0)}) {
    EXPECT_EQ(error_of(kUnknown + bytes).code, Code::kUnsupported);
  }
  EXPECT_EQ(error_of(kUnknown + trainer(3, 3)).message,
            "trainer_spec: a model of words is not supported (supported: unigram, bpe)");
}

TEST(SentencePieceModel, without_an_end_piece_none_can_be_added) {
  const auto model = SentencePieceModel::parse(kUnknown);
  ASSERT_TRUE(model);
  const auto json = sentencepiece_to_hf(*model, {.begin = false, .end = true});
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().message, "--eos: the model has no end-of-text piece");
}

TEST(SentencePieceMerges, are_ordered_by_score_and_then_by_the_longer_left_piece) {
  const auto model = SentencePieceModel::parse(
      kUnknown + piece("a", -9) + piece("b", -9) + piece("c", -9) + piece("ab", -2) +
      piece("bc", -3) + piece("abc", -1) + piece("ax", -1) + piece("<a>", 0, 3));
  ASSERT_TRUE(model);
  std::vector<std::string> found;
  for (const Merge& merge : merges_of(*model)) {
    found.push_back(model->pieces[static_cast<size_t>(merge.left)].text + " " +
                    model->pieces[static_cast<size_t>(merge.right)].text);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"ab c", "a bc", "a b", "b c"}));
}

}  // namespace
}  // namespace signalbox::tools
