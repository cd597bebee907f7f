// Compares the tokenizers that `signalbox convert` makes from sentencepiece models with
// libsentencepiece. Small models of each kind are trained here, and thousands of texts must give
// the same ids. Texts for which tokenizer.json and sentencepiece differ by design are skipped; each
// reason is a function below. The test is a program of its own because libsentencepiece must not be
// linked with another protobuf.

#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "tests/tools/sample_text.h"
#include "tokenizer/normalize/graphemes.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode/unicode.h"
#include "tools/vocabulary/class_pieces.h"
#include "tools/vocabulary/sentencepiece_model.h"
#include "tools/vocabulary/sentencepiece_to_hf.h"

namespace signalbox::tools {
namespace {

using tokenizer::Encoding;
using tokenizer::Tokenizer;

class Sentences final : public sentencepiece::SentenceIterator {
 public:
  bool done() const override { return left_ == 0; }
  void Next() override {
    --left_;
    sentence_ = text_.sentence();
  }
  const std::string& value() const override { return sentence_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  SampleText text_{1};
  std::string sentence_ = text_.sentence();
  int left_ = 4000;
};

std::string train(const std::string& options) {
  Sentences sentences;
  std::string model;
  const auto trained = sentencepiece::SentencePieceTrainer::Train(
      "--minloglevel=2 --num_threads=1 " + options, &sentences, &model);
  EXPECT_TRUE(trained.ok()) << trained.ToString();
  return model;
}

// The same model in both libraries.
struct Pair {
  SentencePieceModel model;
  sentencepiece::SentencePieceProcessor theirs;
  std::unique_ptr<const Tokenizer> ours;
};

std::unique_ptr<Pair> pair_of(const std::string& bytes) {
  auto pair = std::make_unique<Pair>();
  EXPECT_TRUE(pair->theirs.LoadFromSerializedProto(bytes).ok());
  EXPECT_TRUE(SentencePieceModel::is_one(bytes));
  auto model = SentencePieceModel::parse(bytes);
  EXPECT_TRUE(model) << model.error().message;
  pair->model = *std::move(model);
  const auto json = sentencepiece_to_hf(pair->model, {});
  EXPECT_TRUE(json) << json.error().message;
  auto ours = Tokenizer::parse(*json, "converted");
  EXPECT_TRUE(ours) << ours.error().message;
  pair->ours = *std::move(ours);
  return pair;
}

// Skips texts that contain pieces which sentencepiece never finds in text but a tokenizer.json does
// ("<s>", "<unk>", "<0x0A>"), and texts that contain the space mark itself, after which
// sentencepiece adds another one.
bool names_a_piece(std::string_view text) {
  return text.find('<') != std::string_view::npos || text.find("\u2581") != std::string_view::npos;
}

// A Precompiled normalizer works on grapheme clusters, whereas sentencepiece applies the longest
// rule.
bool has_a_cluster(std::string_view text) {
  for (uint32_t i = 0; i < text.size();) {
    const uint32_t end = tokenizer::grapheme_end(text, i);
    if (end - i > utf8::decode(text, i).bytes) return true;
    i = end;
  }
  return false;
}

// Strip removes all white space at the end. sentencepiece removes only spaces; its normalisation
// table converts other white space to spaces, and without a table it remains.
bool ends_in_other_white_space(std::string_view text) {
  char32_t last = 0;
  for (size_t i = 0; i < text.size();) {
    const utf8::Decoded decoded = utf8::decode(text, i);
    if (decoded.code_point != ' ') last = decoded.code_point;
    i += decoded.bytes;
  }
  return tokenizer::unicode::is_whitespace(last);
}

// Metaspace takes the leading space for the mark that it would put in front; sentencepiece adds
// another mark.
bool begins_with_a_kept_space(const Pair& pair, std::string_view text) {
  return text.starts_with(' ') && !pair.model.remove_extra_whitespaces;
}

bool means_something_else(const Pair& pair, std::string_view text) {
  return names_a_piece(text) || begins_with_a_kept_space(pair, text) ||
         (pair.model.charsmap.empty() ? ends_in_other_white_space(text) : has_a_cluster(text));
}

double score(const Pair& pair, const std::vector<int32_t>& ids) {
  double sum = 0;
  for (const int32_t id : ids) sum += pair.model.pieces[static_cast<size_t>(id)].score;
  return sum;
}

// Among paths with equal scores, sentencepiece may choose another one, because it adds in single
// precision.
bool is_a_tie(const Pair& pair, const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return pair.model.kind == SentencePieceModel::Kind::kUnigram &&
         std::abs(score(pair, a) - score(pair, b)) < 1e-5 * (1 + std::abs(score(pair, a)));
}

std::vector<int32_t> theirs(const Pair& pair, const std::string& text) {
  std::vector<int> ids;
  EXPECT_TRUE(pair.theirs.Encode(text, &ids).ok());
  return {ids.begin(), ids.end()};
}

struct Case {
  const char* name;
  const char* options;
};

class SentencePiece : public testing::TestWithParam<Case> {};

TEST_P(SentencePiece, ids_are_those_of_the_library) {
  const auto pair = pair_of(train(GetParam().options));
  SampleText text(7);
  Encoding ours;
  int compared = 0;
  int ties = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string sample = text.mutated();
    if (means_something_else(*pair, sample)) continue;
    ++compared;
    pair->ours->encode(sample, {}, ours);
    const auto expected = theirs(*pair, sample);
    if (ours.ids == expected) continue;
    if (is_a_tie(*pair, ours.ids, expected)) {
      ++ties;
      continue;
    }
    EXPECT_EQ(ours.ids, expected) << sample;
  }
  EXPECT_GE(compared, 3000);
  EXPECT_LE(ties, compared / 100);
  RecordProperty("compared", compared);
  RecordProperty("ties", ties);
}

INSTANTIATE_TEST_SUITE_P(
    Models, SentencePiece,
    testing::Values(
        Case{"unigram", "--model_type=unigram --vocab_size=900"},
        Case{"unigram_bytes", "--model_type=unigram --vocab_size=1000 --byte_fallback=true"},
        Case{"unigram_identity",
             "--model_type=unigram --vocab_size=900 --normalization_rule_name=identity"},
        Case{"unigram_spaces_kept",
             "--model_type=unigram --vocab_size=900 --remove_extra_whitespaces=false "
             "--normalization_rule_name=identity"},
        Case{"unigram_across_spaces",
             "--model_type=unigram --vocab_size=1200 --split_by_whitespace=false"},
        Case{"unigram_no_prefix", "--model_type=unigram --vocab_size=900 --add_dummy_prefix=false"},
        Case{"unigram_folded",
             "--model_type=unigram --vocab_size=800 --normalization_rule_name=nmt_nfkc_cf"},
        Case{"bpe", "--model_type=bpe --vocab_size=900"},
        Case{"bpe_bytes", "--model_type=bpe --vocab_size=1200 --byte_fallback=true"},
        Case{"bpe_identity",
             "--model_type=bpe --vocab_size=900 --normalization_rule_name=identity "
             "--remove_extra_whitespaces=false --byte_fallback=true"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(SentencePieceOffsets, are_those_of_the_library_where_spaces_are_kept) {
  const auto pair =
      pair_of(train("--model_type=unigram --vocab_size=900 --normalization_rule_name=identity "
                    "--remove_extra_whitespaces=false"));
  SampleText text(11);
  Encoding ours;
  for (int i = 0; i < 2000; ++i) {
    const std::string sample = text.mutated();
    if (means_something_else(*pair, sample)) continue;
    const auto expected = pair->theirs.EncodeAsImmutableProto(sample);
    pair->ours->encode(sample, {}, ours);
    if (ours.ids != theirs(*pair, sample)) continue;  // a tie
    for (size_t j = 0; j < ours.ids.size(); ++j) {
      const auto piece = expected.pieces(static_cast<int>(j));
      // The mark in front of the text: our offset is that of the first character, theirs is empty.
      if (piece.end() == 0) continue;
      ASSERT_EQ(ours.offsets[j], (tokenizer::Span{piece.begin(), piece.end()})) << sample;
    }
  }
}

TEST(SentencePieceSymbols, defined_by_users_keep_the_space_in_front_of_them) {
  for (const char* kind : {"unigram --vocab_size=900", "bpe --vocab_size=900",
                           "bpe --vocab_size=900 --remove_extra_whitespaces=false"}) {
    const auto pair =
        pair_of(train(fmt::format("--model_type={} --user_defined_symbols=@@,[X]", kind)));
    for (const std::string text :
         {"the @@ model", "the @@model", "the router [X] [X]decides", "number  [X]  s ", "a [X]"}) {
      Encoding ours;
      pair->ours->encode(text, {}, ours);
      EXPECT_EQ(ours.ids, theirs(*pair, text)) << kind << ": " << text;
    }
  }
}

// The normalisation would turn the first into the second, and the third into a space.
TEST(SentencePieceSymbols, defined_by_users_are_not_normalised) {
  for (const char* kind : {"unigram", "bpe"}) {
    const auto pair = pair_of(train(fmt::format(
        "--model_type={} --vocab_size=900 --user_defined_symbols=\u2122,TM,\u00a0", kind)));
    for (const std::string text :
         {"the\u2122", "the\u2122model", "theTMmodel", "the TM model", "the\u00a0model"}) {
      Encoding ours;
      pair->ours->encode(text, {}, ours);
      EXPECT_EQ(ours.ids, theirs(*pair, text)) << kind << ": " << text;
    }
  }
}

TEST(SentencePieceSymbols, defined_by_users_are_found_first_and_control_symbols_are_tokens) {
  const auto pair =
      pair_of(train("--model_type=unigram --vocab_size=900 --user_defined_symbols=@@,[X] "
                    "--control_symbols=<ctl>"));
  for (const std::string text :
       {"the@@model", "the router[X]@@[X]decides", "number[X]s", "@", "[X", "to@@ a @ model"}) {
    Encoding ours;
    pair->ours->encode(text, {}, ours);
    EXPECT_EQ(ours.ids, theirs(*pair, text)) << text;
  }
  Encoding ours;
  pair->ours->encode("<ctl>the", {}, ours);  // sentencepiece never finds it in text
  ASSERT_FALSE(ours.ids.empty());
  EXPECT_EQ(pair->model.pieces[static_cast<size_t>(ours.ids[0])].text, "<ctl>");
}

// A model with its tokenizer as an encoder of a class has it.
std::unique_ptr<Pair> encoder_of(const VocabularyClass& tokenizer, const std::string& settings,
                                 const std::string& bytes) {
  auto pair = pair_of(bytes);
  const auto read = tokenizer::parse_settings({.config = settings});
  EXPECT_TRUE(read) << read.error().message;
  const auto json = class_tokenizer(tokenizer, bytes, *read);
  EXPECT_TRUE(json) << json.error().message;
  auto ours = Tokenizer::parse(*json, "made");
  EXPECT_TRUE(ours) << ours.error().message;
  pair->ours = *std::move(ours);
  return pair;
}

// Compares the ids of texts. `id_of` returns our id for an id of the library. Returns the number of
// texts.
template <class IdOf, class Skips>
int compare_encoder(const Pair& pair, const IdOf& id_of, const Skips& skips) {
  SampleText text(7);
  Encoding ours;
  int compared = 0;
  int ties = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string sample = text.mutated();
    if (means_something_else(pair, sample) || skips(sample)) continue;
    ++compared;
    const std::vector<int32_t> library = theirs(pair, sample);
    pair.ours->encode(sample, {.special_tokens = false}, ours);
    std::vector<int32_t> expected;
    for (const int32_t id : library) expected.push_back(id_of(id));
    if (ours.ids == expected) continue;
    std::vector<int32_t> found;
    for (const int32_t id : ours.ids) {
      int32_t same = 0;
      while (same < static_cast<int32_t>(pair.model.pieces.size()) && id_of(same) != id) ++same;
      found.push_back(same);
    }
    if (is_a_tie(pair, found, library)) {
      ++ties;
    } else {
      EXPECT_EQ(ours.ids, expected) << sample;
    }
  }
  EXPECT_LE(ties, compared / 100);
  return compared;
}

TEST(SentencePieceEncoder, of_xlm_roberta_splits_as_the_library_under_its_own_ids) {
  const VocabularyClass tokenizer{"XLMRobertaTokenizer", VocabularyKind::kXlmRoberta, {"m"}};
  const auto id_of = [](int32_t id) { return id == 0 ? 3 : id + 1; };
  const auto none = [](const std::string&) { return false; };
  for (const char* kind : {"unigram --vocab_size=900", "bpe --vocab_size=1200 --byte_fallback=true",
                           "unigram --vocab_size=1200 --split_by_whitespace=false"}) {
    const auto pair = encoder_of(tokenizer, "{}", train(fmt::format("--model_type={}", kind)));
    EXPECT_GE(compare_encoder(*pair, id_of, none), 3000) << kind;
  }
}

TEST(SentencePieceEncoder, of_albert_finds_symbols_that_users_defined) {
  const VocabularyClass tokenizer{"AlbertTokenizer", VocabularyKind::kAlbert, {"m"}};
  const auto pair = encoder_of(
      tokenizer, R"({"do_lower_case": false, "keep_accents": true})",
      train("--model_type=unigram --vocab_size=900 --user_defined_symbols=(,),.,@@ "
            "--control_symbols=[CLS],[SEP],[MASK] --bos_id=-1 --eos_id=-1 --pad_id=0 --unk_id=1"));
  const auto same = [](int32_t id) { return id; };
  // ALBERT has its own rules for a comma after a digit and for quotes.
  const auto skips = [](const std::string& text) {
    return text.find(',') != std::string::npos || text.find("''") != std::string::npos;
  };
  EXPECT_GE(compare_encoder(*pair, same, skips), 1500);
  for (const std::string text : {"the (model", "the ( router )decides", "a@@b @@ c", "x @ . (."}) {
    Encoding ours;
    pair->ours->encode(text, {.special_tokens = false}, ours);
    EXPECT_EQ(ours.ids, theirs(*pair, text)) << text;
  }
}

TEST(SentencePieceTemplate, puts_begin_and_end_tokens_around_a_text_on_request) {
  const auto model = SentencePieceModel::parse(train("--model_type=bpe --vocab_size=900"));
  ASSERT_TRUE(model);
  auto marks = sentencepiece_marks(*model, true, true);
  ASSERT_TRUE(marks);
  const auto json = sentencepiece_to_hf(*model, {.marks = *std::move(marks)});
  ASSERT_TRUE(json) << json.error().message;
  const auto tokenizer = Tokenizer::parse(*json, "converted");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  Encoding out;
  (*tokenizer)->encode("the", {}, out);
  EXPECT_EQ(out.ids.front(), 1);
  EXPECT_EQ(out.ids.back(), 2);
  (*tokenizer)->encode_pair("the", "the", {}, out);
  EXPECT_EQ(std::count(out.ids.begin(), out.ids.end(), 2), 2);
  EXPECT_EQ(out.type_ids.back(), 1);
}

}  // namespace
}  // namespace signalbox::tools
