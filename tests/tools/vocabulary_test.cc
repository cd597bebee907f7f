// Tests which class a model's tokenizer has, and the tokenizer.json of each class, with small
// vocabularies. tests/tokenizer/peer compares large ones with Hugging Face's library.

#include <gtest/gtest.h>

#include <map>

#include "tests/tools/sentencepiece_bytes.h"
#include "tokenizer/tokenizer.h"
#include "tools/vocabulary/make_tokenizer.h"

namespace signalbox::tools {
namespace {

using Files = std::map<std::string, std::string>;
using Ids = std::vector<int32_t>;

ModelFiles in_memory(const Files& files) {
  return {.has = [&](const std::string& name) { return files.contains(name); },
          .read = [&](const std::string& name) -> Result<std::string> { return files.at(name); }};
}

std::string class_of(const Files& files) {
  const auto choice = choose_vocabulary(in_memory(files));
  if (!choice) return choice.error().message;
  return choice->found == nullptr ? choice->reason : std::string(choice->found->name);
}

Result<std::string> made(const Files& files) {
  SIGNALBOX_TRY(const auto choice, choose_vocabulary(in_memory(files)));
  if (choice.found == nullptr) return fail(Code::kUnsupported, "{}", choice.reason);
  return make_tokenizer(*choice.found, in_memory(files));
}

std::string error_of(const Files& files) {
  const auto json = made(files);
  EXPECT_FALSE(json);
  return json ? "" : json.error().message;
}

// The ids of a text, and of a pair if there is a second one.
Ids ids_of(const Files& files, std::string_view text, std::string_view second = "") {
  const auto json = made(files);
  if (!json) ADD_FAILURE() << json.error().message;
  if (!json) return {};
  const auto tokenizer = tokenizer::Tokenizer::parse(*json, "made");
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message;
  if (!tokenizer) return {};
  tokenizer::Encoding out;
  if (second.empty()) {
    (*tokenizer)->encode(text, {}, out);
  } else {
    (*tokenizer)->encode_pair(text, second, {}, out);
  }
  return out.ids;
}

const std::string kWords = piece_bytes("\u2581", -4) + piece_bytes("\u2581a", -1) +
                           piece_bytes("b", -2) + piece_bytes("\u2581ab", -2);
const std::string kFairseq =
    piece_bytes("<unk>", 0, 2) + piece_bytes("<s>", 0, 3) + piece_bytes("</s>", 0, 3) + kWords;
const std::string kAlbert = piece_bytes("<pad>", 0, 3) + piece_bytes("<unk>", 0, 2) +
                            piece_bytes("[CLS]", 0, 3) + piece_bytes("[SEP]", 0, 3) +
                            piece_bytes("(", 0, 4) + kWords;
const std::string kT5 =
    piece_bytes("<pad>", 0, 3) + piece_bytes("</s>", 0, 3) + piece_bytes("<unk>", 0, 2) + kWords;

std::string model_type(std::string_view type) {
  return fmt::format(R"({{"model_type": "{}"}})", type);
}

Files xlm_roberta() {
  return {{"config.json", model_type("xlm-roberta")}, {"sentencepiece.bpe.model", kFairseq}};
}
Files t5() {
  return {{"config.json", model_type("t5")}, {"spiece.model", kT5}};
}
Files roberta() {
  return {{"config.json", model_type("roberta")},
          {"vocab.json", R"({"<s>": 0, "</s>": 1, "a": 2, "b": 3, "ab": 4, "\u0120": 5,
                             "<mask>": 6})"},
          {"merges.txt", "#version: 0.2\r\na b\r\n"}};
}
Files with(Files files, const std::string& name, const std::string& content) {
  files[name] = content;
  return files;
}

TEST(VocabularyClass, is_what_the_settings_name_or_the_model_stands_for) {
  EXPECT_EQ(class_of(xlm_roberta()), "XLMRobertaTokenizer");
  EXPECT_EQ(class_of(t5()), "T5Tokenizer");
  EXPECT_EQ(class_of(roberta()), "RobertaTokenizer");
  EXPECT_EQ(class_of(with(roberta(), "config.json",
                          R"({"model_type": "roberta", "tokenizer_class": "GPT2Tokenizer"})")),
            "GPT2Tokenizer");
  const Files multilingual = with(xlm_roberta(), "config.json", model_type("bert"));
  EXPECT_EQ(class_of(multilingual), "BertTokenizer requires vocab.txt, which is missing");
  EXPECT_EQ(class_of(with(multilingual, "tokenizer_config.json",
                          R"({"tokenizer_class": "XLMRobertaTokenizerFast"})")),
            "XLMRobertaTokenizer");
  EXPECT_EQ(class_of(with(xlm_roberta(), "tokenizer_config.json",
                          R"({"tokenizer_class": "PreTrainedTokenizerFast"})")),
            "XLMRobertaTokenizer");
  EXPECT_EQ(class_of(with(
                xlm_roberta(), "config.json",
                R"({"model_type": "xlm-roberta", "tokenizer_class": "PreTrainedTokenizerFast"})")),
            "XLMRobertaTokenizer");
  EXPECT_EQ(class_of({{"gliner_config.json", "{}"}, {"spm.model", ""}}), "DebertaV2Tokenizer");
}

TEST(VocabularyClass, that_is_not_known_has_a_reason) {
  EXPECT_EQ(class_of({{"config.json", model_type("bert")}}), "there is no vocabulary either");
  EXPECT_EQ(class_of(with(roberta(), "config.json", "{}")),
            "no tokenizer_class and no known model_type states how to read vocab.json, merges.txt");
  EXPECT_EQ(class_of(with(roberta(), "tokenizer_config.json",
                          R"({"tokenizer_class": "BertJapaneseTokenizer"})")),
            "tokenizer_class: \"BertJapaneseTokenizer\" is not supported (supported: "
            "AlbertTokenizer, BartTokenizer, BertTokenizer, CamembertTokenizer, "
            "DebertaV2Tokenizer, DistilBertTokenizer, ElectraTokenizer, GemmaTokenizer, "
            "GPT2Tokenizer, LlamaTokenizer, LongformerTokenizer, MPNetTokenizer, Qwen2Tokenizer, "
            "RobertaTokenizer, T5Tokenizer, XLMRobertaTokenizer)");
  Files lacking = roberta();
  lacking.erase("merges.txt");
  EXPECT_EQ(class_of(lacking), "RobertaTokenizer requires merges.txt, which is missing");
}

TEST(MakeTokenizer, xlm_roberta_has_the_ids_of_fairseq) {
  EXPECT_EQ(ids_of(xlm_roberta(), "ab  a x <mask>"), (Ids{0, 7, 5, 4, 3, 8, 2}));
  EXPECT_EQ(ids_of(xlm_roberta(), "a", "ab"), (Ids{0, 5, 2, 2, 7, 2}));
}

TEST(MakeTokenizer, camembert_has_its_own_order) {
  const Files files = with(xlm_roberta(), "config.json", model_type("camembert"));
  EXPECT_EQ(ids_of(files, "ab <pad></s>NOTUSED"), (Ids{5, 10, 1, 2, 6}));
  EXPECT_EQ(ids_of(files, "x<mask>"), (Ids{5, 7, 3, 11, 6}));
}

TEST(MakeTokenizer, albert_folds_case_and_accents_by_default) {
  const Files files{{"config.json", model_type("albert")}, {"spiece.model", kAlbert}};
  EXPECT_EQ(ids_of(files, "\u00C1B (b "), (Ids{2, 8, 5, 4, 7, 3}));
  EXPECT_EQ(ids_of(files, "a", "b"), (Ids{2, 6, 3, 5, 7, 3}));
  const Files cased = with(files, "tokenizer_config.json", R"({"do_lower_case": false})");
  EXPECT_EQ(ids_of(cased, "Ab"), (Ids{2, 5, 1, 7, 3}));
  const Files accents = with(files, "tokenizer_config.json", R"({"keep_accents": true})");
  EXPECT_EQ(ids_of(accents, "\u00E1b"), (Ids{2, 5, 1, 7, 3}));
}

// The normalizer would make one of the two symbols the other.
TEST(MakeTokenizer, symbols_of_users_are_found_before_the_normalizer_of_a_class) {
  const std::string pairs = kAlbert + piece_bytes("AB", 0, 4) + piece_bytes("ab", 0, 4) +
                            proto_message(2, proto_varint(3, 2));
  const Files files{{"config.json", model_type("albert")}, {"spiece.model", pairs}};
  EXPECT_EQ(ids_of(files, "AB ab"), (Ids{2, 9, 10, 3}));
}

TEST(MakeTokenizer, t5_ends_texts_and_has_extra_ids) {
  EXPECT_EQ(ids_of(t5(), "ab<extra_id_0>"), (Ids{6, 106, 1}));
  EXPECT_EQ(ids_of(t5(), "a", "ab"), (Ids{4, 1, 6, 1}));
  const Files two = with(t5(), "tokenizer_config.json", R"({"extra_ids": 2})");
  EXPECT_EQ(ids_of(two, "<extra_id_1><extra_id_0>"), (Ids{7, 8, 1}));
}

TEST(MakeTokenizer, roberta_reads_bytes_and_merges) {
  EXPECT_EQ(ids_of(roberta(), "ab <mask>b"), (Ids{0, 4, 6, 3, 1}));
  EXPECT_EQ(ids_of(roberta(), "a", "ab"), (Ids{0, 2, 1, 1, 4, 1}));
  const Files prefixed = with(roberta(), "tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_EQ(ids_of(prefixed, "ab"), (Ids{0, 5, 4, 1}));
}

TEST(MakeTokenizer, gpt2_has_a_mark_only_if_its_settings_require_one) {
  Files files = with(roberta(), "tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
  EXPECT_EQ(ids_of(files, "ab"), (Ids{4}));
  files["tokenizer_config.json"] =
      R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token": "<s>"})";
  EXPECT_EQ(ids_of(files, "ab", "a"), (Ids{0, 4, 2}));
}

TEST(MakeTokenizer, mpnet_ends_the_first_text_twice) {
  const Files files{{"config.json", model_type("mpnet")},
                    {"vocab.txt", "<s>\n<pad>\n</s>\n<unk>\na\n##b\n[UNK]\n[SEP]\n<mask>\n"}};
  EXPECT_EQ(ids_of(files, "Ab x <mask>"), (Ids{0, 4, 5, 6, 8, 2}));
  EXPECT_EQ(ids_of(files, "a", "ab"), (Ids{0, 4, 2, 2, 4, 5, 2}));
  // BERT's marks are not marks here.
  EXPECT_EQ(ids_of(files, "[SEP]"), (Ids{0, 6, 6, 6, 2}));
  EXPECT_EQ(error_of(with(files, "vocab.txt", "<s>\n[UNK]\n")),
            "vocab.txt: the vocabulary lacks </s>, which MPNet requires");
}

Files qwen() {
  return {{"config.json", model_type("qwen3")},
          {"vocab.json", R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "1": 4, "\u00c3": 5, "\u00a9": 6,
                             "e": 7, "\u010a": 8, "11": 9, "\u0120a": 10})"},
          {"merges.txt", "a b\n1 1\n\u0120 a\n"}};
}

TEST(MakeTokenizer, qwen_composes_characters_and_splits_numbers) {
  // A combined accent becomes one character of two bytes; digits are words of their own.
  EXPECT_EQ(ids_of(qwen(), "e\u0301"), (Ids{5, 6}));
  EXPECT_EQ(ids_of(qwen(), "ab 11\n"), (Ids{2, 3, 4, 4, 8}));
  EXPECT_EQ(ids_of(qwen(), "b a"), (Ids{1, 10}));
  EXPECT_EQ(ids_of(qwen(), "a", "b"), (Ids{0, 1}));
}

TEST(MakeTokenizer, qwen_has_its_mark_after_its_pieces_and_at_the_end_if_its_settings_require_it) {
  EXPECT_EQ(ids_of(qwen(), "a<|endoftext|>"), (Ids{0, 11}));
  const std::string added = R"("added_tokens_decoder": {"11": {"content": "<|endoftext|>"},
                                                        "12": {"content": "<|im_end|>"}})";
  const Files ends = with(qwen(), "tokenizer_config.json",
                          R"({"add_eos_token": true, "eos_token": "<|im_end|>", )" + added + "}");
  EXPECT_EQ(ids_of(ends, "a"), (Ids{0, 12}));
  EXPECT_EQ(ids_of(ends, "a", "<|endoftext|>b"), (Ids{0, 12, 11, 1, 12}));
  const Files others = with(
      qwen(), "tokenizer_config.json",
      R"({"add_eos_token": true, "unk_token": "<u>", "eos_token": "<e>", "pad_token": "<p>"})");
  EXPECT_EQ(ids_of(others, "b<u><p>"), (Ids{1, 12, 13, 11}));
}

std::string byte_pieces() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += piece_bytes(fmt::format("<0x{:02X}>", byte), 0, 6);
  return out;
}

// The bytes have the ids from 3 on, the other pieces those from 259 on.
const std::string kPairs = piece_bytes("<unk>", 0, 2) + piece_bytes("<s>", 0, 3) +
                           piece_bytes("</s>", 0, 3) + byte_pieces() + piece_bytes("\u2581", -3) +
                           piece_bytes("a", -4) + piece_bytes("b", -5) +
                           piece_bytes("\u2581a", -1) + piece_bytes("\u2581ab", -2) +
                           piece_bytes("@@", 0, 4) + piece_bytes("\t\t", 0, 4);
// Field 2: type BPE with bytes for unknown characters; field 3: text stays as it is.
std::string pairs_model(bool adds_prefix) {
  return kPairs + proto_message(2, proto_varint(3, 2) + proto_varint(35, 1)) +
         proto_message(3, proto_varint(3, adds_prefix ? 1 : 0) + proto_varint(4, 0));
}
Files llama(const std::string& settings = "") {
  return {{"config.json", "{}"},
          {"tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizerFast")" + settings + "}"},
          {"tokenizer.model", pairs_model(true)}};
}

TEST(MakeTokenizer, llama_begins_each_part_between_its_tokens_with_a_space) {
  EXPECT_EQ(ids_of(llama(), "ab a@@b\n"), (Ids{1, 263, 262, 264, 259, 261, 13}));
  EXPECT_EQ(ids_of(llama(), "a", "b"), (Ids{1, 262, 1, 259, 261}));
  // Its newer form has a space only in front of the whole text, as sentencepiece has it.
  EXPECT_EQ(ids_of(llama(R"(, "legacy": false)"), "ab a@@b"), (Ids{1, 263, 262, 264, 261}));
  EXPECT_EQ(ids_of(llama(R"(, "add_prefix_space": false)"), "a a"), (Ids{1, 260, 262}));
  EXPECT_EQ(ids_of(llama(R"(, "add_bos_token": false, "add_eos_token": true)"), "a"),
            (Ids{262, 2}));
  EXPECT_EQ(ids_of(llama(R"(, "add_bos_token": false)"), "a"), (Ids{262}));
}

TEST(MakeTokenizer, gemma_has_nothing_in_front_of_a_text_and_knows_tabs) {
  const Files files{{"config.json", model_type("gemma3_text")},
                    {"tokenizer_config.json",
                     R"({"bos_token": "<s>", "eos_token": "</s>", "add_eos_token": true})"},
                    {"tokenizer.model", pairs_model(false)}};
  EXPECT_EQ(class_of(files), "GemmaTokenizer");
  EXPECT_EQ(ids_of(files, "ab a"), (Ids{1, 260, 261, 262, 2}));
  EXPECT_EQ(ids_of(files, "\tb\t\t"), (Ids{1, 12, 261, 265, 2}));
  EXPECT_EQ(error_of(with(files, "tokenizer_config.json", "{}")),
            "tokenizer.model: lacks \"<bos>\", which GemmaTokenizer requires");
  EXPECT_EQ(error_of(with(files, "tokenizer.model", "")),
            "tokenizer.model: no piece has type unknown");
}

TEST(MakeTokenizer, tokens_that_were_added_extend_the_vocabulary) {
  const Files added = with(xlm_roberta(), "added_tokens.json", R"({"<ent>": 9, "<sep>": 10})");
  EXPECT_EQ(ids_of(added, "<ent>ab<sep>"), (Ids{0, 9, 7, 10, 2}));
  const Files special = with(added, "special_tokens_map.json",
                             R"({"mask_token": {"content": "<mask>", "lstrip": false},
                                 "additional_special_tokens": ["<new>", {"content": "<ent>"}]})");
  EXPECT_EQ(ids_of(special, "a <mask><new><ent>"), (Ids{0, 5, 8, 11, 9, 2}));
  // This list replaces the other files.
  const Files listed = with(special, "tokenizer_config.json",
                            R"({"added_tokens_decoder": {"9": {"content": "<x>", "special": true}},
                                "cls_token": {"content": "<x>"}})");
  EXPECT_EQ(error_of(listed),
            "sentencepiece.bpe.model: lacks \"<x>\", which XLMRobertaTokenizer requires");
}

TEST(MakeTokenizer, special_tokens_map_replaces_what_the_configuration_names) {
  Files files = with(xlm_roberta(), "special_tokens_map.json",
                     R"({"cls_token": "<s>", "additional_special_tokens": ["<new>"]})");
  files["tokenizer_config.json"] =
      R"({"cls_token": "<pad>", "additional_special_tokens": ["<old>"]})";
  EXPECT_EQ(ids_of(files, "<new>a<old>"), (Ids{0, 10, 5, 9, 2}));
  files["tokenizer_config.json"] = R"({"cls_token": "<pad>", "added_tokens_decoder": {}})";
  EXPECT_EQ(ids_of(files, "a"), (Ids{1, 5, 2}));
}

TEST(MakeTokenizer, bert_has_the_marks_that_its_settings_name) {
  const Files files{{"config.json", model_type("bert")},
                    {"vocab.txt", "<unk>\n[CLS]\n[SEP]\n<s>\n</s>\na\n[UNK]\n"},
                    {"special_tokens_map.json",
                     R"({"cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>"})"}};
  EXPECT_EQ(ids_of(files, "a b </s>"), (Ids{3, 5, 0, 4, 4}));
}

TEST(MakeTokenizer, deberta_has_its_mask_after_its_pieces) {
  const std::string pieces = piece_bytes("[PAD]", 0, 3) + piece_bytes("[CLS]", 0, 3) +
                             piece_bytes("[SEP]", 0, 3) + piece_bytes("[UNK]", 0, 2) + kWords;
  const Files files{{"config.json", model_type("deberta-v2")}, {"spm.model", pieces}};
  EXPECT_EQ(ids_of(files, "a[MASK]"), (Ids{1, 5, 8, 2}));
  const std::string own = pieces + piece_bytes("[MASK]", 0, 3) + piece_bytes("c");
  EXPECT_EQ(ids_of(with(files, "spm.model", own), "a[MASK]"), (Ids{1, 5, 8, 2}));
}

TEST(MakeTokenizer, errors_name_the_file_and_the_place_of_pieces) {
  const std::string file = "sentencepiece.bpe.model";
  const auto xlm = [&](const std::string& bytes) { return with(xlm_roberta(), file, bytes); };
  EXPECT_EQ(error_of(xlm("")), file + ": no piece has type unknown");
  EXPECT_EQ(error_of(xlm(kT5)), file + ": pieces[0]: expected \"<unk>\", found \"<pad>\"");
  EXPECT_EQ(error_of(xlm(piece_bytes("<unk>", 0, 2))),
            file + ": pieces[1]: expected \"<s>\", found none");
  EXPECT_EQ(error_of(xlm(kFairseq + piece_bytes("<pad>"))),
            file + ": the model has a piece \"<pad>\" of its own");
  EXPECT_EQ(error_of(xlm(kFairseq + piece_bytes("<mask>"))),
            file + ": the model has a piece \"<mask>\" of its own");
  EXPECT_EQ(error_of(xlm(kFairseq + piece_bytes("b"))),
            file + ": pieces[7]: duplicate piece \"b\"");
  for (size_t size = 1; size < kFairseq.size(); ++size)
    (void)made(xlm(kFairseq.substr(0, size)));  // an error or a shorter model
  EXPECT_EQ(error_of(with(t5(), "spiece.model", kT5 + piece_bytes("<extra_id_7>"))),
            "spiece.model: the model has a piece \"<extra_id_7>\" of its own");
  EXPECT_EQ(error_of(with(t5(), "tokenizer_config.json", R"({"extra_ids": 100000})")),
            "tokenizer_config.json: extra_ids: expected an integer from 0 to 1000, found 100000");
}

TEST(MakeTokenizer, errors_name_the_line_of_a_merge) {
  const auto merges = [](const std::string& lines) { return with(roberta(), "merges.txt", lines); };
  EXPECT_EQ(error_of(merges("a b\na c\n")), "merges.txt: line 2: \"c\" is not in vocab.json");
  EXPECT_EQ(error_of(merges("\nb a")), "merges.txt: line 2: \"ba\" is not in vocab.json");
  for (const char* line : {"a", "a ", " b", "a b c", "a  b"}) {
    EXPECT_EQ(error_of(merges(line)),
              fmt::format("merges.txt: line 1: expected two pieces, found \"{}\"", line));
  }
}

TEST(MakeTokenizer, errors_name_the_piece_of_a_vocabulary) {
  const auto vocabulary = [](const std::string& json) {
    return with(roberta(), "vocab.json", json);
  };
  EXPECT_EQ(error_of(vocabulary("[]")), "vocab.json: expected an object of pieces and ids");
  EXPECT_EQ(error_of(vocabulary(R"({"a": 1, "a": 2})")), "vocab.json: \"a\" appears twice");
  EXPECT_EQ(error_of(vocabulary(R"({"a": -1})")),
            "vocab.json: \"a\": expected an id from 0 to 16777215, found \"-1\"");
  EXPECT_EQ(error_of(vocabulary(R"({"a": 99999999})")),
            "vocab.json: \"a\": expected an id from 0 to 16777215, found \"99999999\"");
  EXPECT_TRUE(error_of(vocabulary(R"({"a": 0)")).starts_with("vocab.json: "));
  EXPECT_EQ(error_of(vocabulary(R"({"a": 0, "b": 1, "ab": 2})")),
            "vocab.json: lacks \"<s>\", which RobertaTokenizer requires");
}

TEST(MakeTokenizer, errors_name_the_added_token) {
  const auto added = [](const std::string& json) {
    return with(xlm_roberta(), "added_tokens.json", json);
  };
  EXPECT_EQ(error_of(added(R"({"<ent>": 11})")),
            "added_tokens.json: \"<ent>\": expected the id 9, the first after the vocabulary, "
            "found 11");
  EXPECT_EQ(error_of(added(R"({"<s>": 3})")),
            "added_tokens.json: \"<s>\": expected the id 0, which this piece has in the "
            "vocabulary, found 3");
  EXPECT_EQ(error_of(added(R"({"<ent>": "9"})")),
            "added_tokens.json: \"<ent>\": expected an id from 0 to 16777215, found \"\\\"9\\\"\"");
  EXPECT_EQ(error_of(added("[]")), "added_tokens.json: expected an object, found array");
  const auto settings = [](const std::string& json) {
    return with(xlm_roberta(), "tokenizer_config.json", json);
  };
  EXPECT_EQ(error_of(settings(R"({"added_tokens_decoder": {"x": {"content": "<y>"}}})")),
            "tokenizer_config.json: added_tokens_decoder.x: expected an id from 0 to 16777215, "
            "found \"x\"");
  EXPECT_EQ(error_of(settings(R"({"added_tokens_decoder": {"9": {}}})")),
            "tokenizer_config.json: added_tokens_decoder.9.content: missing");
  EXPECT_EQ(error_of(settings(R"({"mask_token": 5})")),
            "tokenizer_config.json: mask_token: expected an object, found number");
}

}  // namespace
}  // namespace signalbox::tools
