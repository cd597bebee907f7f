// GLiNER: its head compared with PyTorch's layers, the whole network with formulas in double
// precision, the choice of spans, labels and texts of every kind, and directories that are refused.

#include "engine/gliner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "engine/engine.h"
#include "engine/gliner_prompt.h"
#include "engine/pack_model.h"
#include "engine/word_spans.h"
#include "engine/words.h"
#include "kernels/kernels.h"
#include "tests/engine/gliner_network.h"
#include "tests/engine/random_network.h"
#include "weights/safetensors_writer.h"

namespace signalbox::engine {
namespace {

const std::vector<std::string> kLabels = {"name", "a b"};

const kernels::Table& kernels_here() {
  return *kernels::active_table().value();
}

std::vector<float> values_of(const weights::SafeTensors& file, const char* name) {
  const auto tensor = std::ranges::find(file.tensors(), name, &weights::Tensor::name);
  std::vector<float> out(tensor->size());
  widen(*tensor, 0, kernels_here(), out);
  return out;
}

template <class A, class B>
void expect_near(const A& expected, const B& found) {
  ASSERT_EQ(expected.size(), found.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected[i]}));
    worst = std::max(worst, std::abs(double{expected[i]} - found[i]));
  }
  EXPECT_GT(largest, 0.5);
  EXPECT_LE(worst, 1e-4 * largest);
}

struct HeadCase {
  const char* name;
  int32_t width;  // of the encoder's hidden states
  GlinerConfig config;
};

class GlinerGolden : public testing::TestWithParam<HeadCase> {};

TEST_P(GlinerGolden, logits_are_those_of_pytorch) {
  const auto path =
      fmt::format("{}/tests/engine/data/{}.safetensors", SIGNALBOX_SOURCE_DIR, GetParam().name);
  const auto file = weights::SafeTensors::open(path);
  ASSERT_TRUE(file) << file.error().message;
  const auto head = GlinerHead::open(GetParam().config, GetParam().width, *file, kernels_here());
  ASSERT_TRUE(head) << head.error().message;
  GlinerLayout layout;
  for (const float x : values_of(*file, "expected.labels")) layout.labels.push_back(int32_t(x));
  for (const float x : values_of(*file, "expected.words")) layout.words.push_back(int32_t(x));
  Workers workers(2);
  expect_near(values_of(*file, "expected.logits"),
              head->logits(values_of(*file, "expected.x").data(), layout, workers));
}

INSTANTIATE_TEST_SUITE_P(
    Heads, GlinerGolden,
    testing::Values(
        HeadCase{"gliner_projected", 12, {.hidden = 8, .width_max = 4, .lstm_layers = 1}},
        HeadCase{"gliner_deep", 8, {.hidden = 8, .width_max = 3, .lstm_layers = 2}},
        HeadCase{"gliner_plain", 6, {.hidden = 6, .width_max = 12, .lstm_layers = 0}}),
    [](const auto& each) { return std::string(each.param.name); });

// The ids of letters in the test's tokenizer.
int32_t letter(char c, bool begins = true) {
  return 4 + (begins ? 0 : 26) + c - 'a';
}

TEST(GlinerReference, the_engine_marks_what_the_formulas_choose) {
  const GlinerNetwork network;
  const auto model = TextModel::open(network.directory(), {.labels = kLabels, .least_score = 0.3f});
  ASSERT_TRUE(model) << model.error().message;
  // Labels at 1 and 6; "be" has two tokens, and each mark of punctuation is unknown.
  const std::string text = "be it, or  c-d";
  const std::vector<int32_t> ids = {2,
                                    GlinerNetwork::kLabelMark,
                                    letter('n'),
                                    letter('a', false),
                                    letter('m', false),
                                    letter('e', false),
                                    GlinerNetwork::kLabelMark,
                                    letter('a'),
                                    letter('b'),
                                    GlinerNetwork::kTextMark,
                                    letter('b'),
                                    letter('e', false),
                                    letter('i'),
                                    letter('t', false),
                                    1,
                                    letter('o'),
                                    letter('r', false),
                                    letter('c'),
                                    1,
                                    letter('d'),
                                    3};
  EXPECT_EQ((*model)->encode(text).value(), ids);
  const std::vector<double> logits = network.logits(ids, {1, 6}, {10, 12, 14, 15, 17});
  const std::vector<WordSpan> chosen =
      choose_spans(std::vector<float>(logits.begin(), logits.end()), 5, 4, 2, 0.3f);
  ASSERT_FALSE(chosen.empty());
  const std::vector<tokenizer::Span> words = split_words(text);
  const Input input{.text = text};
  const auto answers = (*model)->answer({&input, 1});
  ASSERT_TRUE(answers) << answers.error().message;
  ASSERT_EQ(answers->front().entities.size(), chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Entity& found = answers->front().entities[i];
    EXPECT_EQ(found.type, kLabels[chosen[i].label]);
    EXPECT_EQ(found.begin, words[chosen[i].first].begin);
    EXPECT_EQ(found.end, words[chosen[i].last].end);
    EXPECT_NEAR(found.score, chosen[i].score, 1e-4);
  }
}

TEST(GlinerReference, the_whole_network_agrees_with_the_formulas) {
  const GlinerNetwork network(R"({"num_rnn_layers":2,"max_width":6})");
  const auto model = TextModel::open(network.directory(), {.labels = kLabels});
  ASSERT_TRUE(model) << model.error().message;
  const auto file = weights::SafeTensors::open_directory(network.directory());
  const GlinerConfig config{.hidden = 8, .width_max = 6, .lstm_layers = 2};
  const auto head = GlinerHead::open(config, 12, *file, kernels_here());
  ASSERT_TRUE(head) << head.error().message;
  std::vector<int32_t> ids, words;
  for (int32_t i = 0; i < 60; ++i) ids.push_back(i * 7 % 58);
  for (int32_t i = 9; i < 60; i += 3) words.push_back(i % 4 == 0 ? -1 : i);
  const auto states = (*model)->states(ids);
  ASSERT_TRUE(states) << states.error().message;
  Workers one(1), three(3);
  const float* const x = states->last_hidden_state.data();
  const std::vector<float> logits = head->logits(x, {{1, 4, 7}, words}, one);
  expect_near(network.logits(ids, {1, 4, 7}, words), logits);
  EXPECT_EQ(head->logits(x, {{1, 4, 7}, words}, three), logits) << "the same bits";
}

TEST(Gliner, an_answer_does_not_depend_on_the_other_texts) {
  const GlinerNetwork network;
  const auto model = TextModel::open(network.directory(), {.labels = kLabels, .least_score = 0});
  ASSERT_TRUE(model) << model.error().message;
  std::vector<std::string> texts;
  for (int i = 0; i < 30; ++i)
    texts.push_back(std::string(static_cast<size_t>(i), 'x') + " ab, c " + std::to_string(i));
  texts.emplace_back("");
  std::vector<Input> inputs;
  for (const std::string& text : texts) inputs.push_back({.text = text});
  const auto together = (*model)->answer(inputs);
  ASSERT_TRUE(together) << together.error().message;
  EXPECT_TRUE(together->back().entities.empty());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto alone = (*model)->answer({&inputs[i], 1});
    ASSERT_TRUE(alone) << alone.error().message;
    ASSERT_EQ(alone->front().entities.size(), (*together)[i].entities.size()) << texts[i];
    for (size_t k = 0; k < alone->front().entities.size(); ++k)
      EXPECT_EQ(alone->front().entities[k].score, (*together)[i].entities[k].score) << texts[i];
  }
}

TEST(Gliner, a_tokenizer_with_the_marks_gives_the_same_ids) {
  const GlinerNetwork network;
  const auto plain = TextModel::open(network.directory(), {.labels = kLabels});
  ASSERT_TRUE(plain) << plain.error().message;
  const auto path = network.directory() / "tokenizer.json";
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string begin = R"("added_tokens":[)";
  const auto added = [](std::string_view mark, int32_t id) {
    return fmt::format(R"({{"id":{},"content":"{}","special":true,"single_word":false,)"
                       R"("lstrip":false,"rstrip":false,"normalized":false}},)",
                       id, mark);
  };
  text.insert(text.find(begin) + begin.size(), added("<<ENT>>", 56) + added("<<SEP>>", 57));
  std::ofstream(path) << text;
  for (const char* index : {"56", "-1"}) {
    const GlinerNetwork same(fmt::format(R"({{"class_token_index":{}}})", index));
    std::ofstream(same.directory() / "tokenizer.json") << text;
    const auto marked = TextModel::open(same.directory(), {.labels = kLabels});
    ASSERT_TRUE(marked) << marked.error().message;
    for (const char* each : {"ab c", "<<ENT>> a <<SEP>> b"})
      EXPECT_EQ((*marked)->encode(each).value(), (*plain)->encode(each).value()) << each;
  }
}

TEST(Gliner, an_older_configuration_does_not_name_the_marks) {
  const GlinerNetwork network;
  const auto plain = TextModel::open(network.directory(), {.labels = kLabels});
  ASSERT_TRUE(plain) << plain.error().message;
  const GlinerNetwork older(R"({"class_token_index":-1,"vocab_size":-1})");
  for (const int32_t known : {55, 54, 53}) {  // the last ids of the tokenizer are letters
    write_letter_tokenizer(older.directory() / "tokenizer.json", known);
    const auto model = TextModel::open(older.directory(), {.labels = kLabels});
    ASSERT_EQ(model.has_value(), known != 53) << known;
    if (!model) continue;
    EXPECT_EQ((*model)->encode("ab c").value(), (*plain)->encode("ab c").value()) << known;
  }
}

TEST(Gliner, a_packed_directory_gives_the_same_answers) {
  const GlinerNetwork network;
  for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kI8}) {
    const auto packed = pack_model(network.directory(), {.precision = precision});
    ASSERT_TRUE(packed) << packed.error().message;
    EXPECT_FALSE(packed->matrices.empty());
    const TemporaryDirectory out;
    for (const char* name : {"gliner_config.json", "tokenizer.json"})
      std::filesystem::copy_file(network.directory() / name, out.path() / name);
    ASSERT_TRUE(
        weights::write_safetensors(out.path() / "model.safetensors", packed->tensors.tensors()));
    const OpenOptions options{.labels = kLabels, .least_score = 0};
    const auto plain = TextModel::open(network.directory(), options);
    const auto found = TextModel::open(out.path(), options);
    ASSERT_TRUE(plain && found) << found.error().message;
    const Input input{.text = "ab cd, e"};
    const auto a = (*plain)->answer({&input, 1}), b = (*found)->answer({&input, 1});
    ASSERT_TRUE(a && b);
    ASSERT_EQ(a->front().entities.empty(), false);
    ASSERT_EQ(b->front().entities.empty(), false);
    if (precision != Precision::kF32) continue;
    for (size_t i = 0; i < a->front().entities.size(); ++i)
      EXPECT_NEAR(a->front().entities[i].score, b->front().entities[i].score, 1e-6);
  }
}

TEST(Gliner, keeps_to_the_limit_of_its_tokenizer) {
  const GlinerNetwork network;
  std::ofstream(network.directory() / "tokenizer_config.json") << R"({"model_max_length": 64})";
  const auto model = TextModel::open(network.directory(), {.labels = kLabels});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->tokens_max(), 64 - 9);
}

TEST(Gliner, windows_cover_the_text_within_their_tokens) {
  const GlinerNetwork network;
  const auto model = TextModel::open(network.directory(), {.labels = kLabels});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->tokens_max(), 96 - 9);
  std::string text = "  ";
  for (int i = 0; i < 200; ++i) text += std::string(static_cast<size_t>(1 + i % 9), 'a') + " ";
  const auto windows = (*model)->windows(text, 40, 12);
  ASSERT_TRUE(windows);
  EXPECT_GT(windows->size(), 20u);
  size_t covered = 0;
  for (const std::string_view window : *windows) {
    const auto begin = static_cast<size_t>(window.data() - text.data());
    EXPECT_LE(begin, covered);
    EXPECT_GT(begin + window.size(), covered);
    covered = begin + window.size();
    EXPECT_LE((*model)->tokens({.text = window}).value(), 40);
    EXPECT_FALSE((*model)->is_cut({.text = window}).value());
  }
  EXPECT_EQ(covered, text.size());
  EXPECT_TRUE((*model)->is_cut({.text = text}).value());
  EXPECT_LE((*model)->tokens({.text = text}).value(), (*model)->tokens_max());
  EXPECT_TRUE((*model)->windows(" \n", 40, 12)->empty());
  const std::string long_word(500, 'a');  // cut, and still marked
  EXPECT_EQ((*model)->windows(long_word, 40, 12)->size(), 1u);
  const Input input{.text = long_word};
  EXPECT_TRUE((*model)->answer({&input, 1}));
}

TEST(Gliner, refuses_pairs_adapters_and_embeddings) {
  const GlinerNetwork network;
  const auto unlabelled = TextModel::open(network.directory());
  ASSERT_TRUE(unlabelled) << unlabelled.error().message;
  const Input input{.text = "a"};
  EXPECT_NE((*unlabelled)->answer({&input, 1}).error().message.find("takes labels"),
            std::string::npos);
  const auto model = TextModel::open(network.directory(), {.labels = kLabels});
  ASSERT_TRUE(model) << model.error().message;
  const Input pair{.text = "a", .pair = "b"}, adapted{.text = "a", .adapter = 0};
  EXPECT_EQ((*model)->answer({&pair, 1}).error().code, Code::kInvalid);
  EXPECT_EQ((*model)->answer({&adapted, 1}).error().code, Code::kInvalid);
  const std::vector<std::string_view> texts = {"a"};
  std::vector<float> out(12);
  EXPECT_EQ((*model)->embed(texts, out).error().code, Code::kUnsupported);
  EXPECT_EQ((*model)->states(std::vector<int32_t>{58}).error().code, Code::kInvalid);
  EXPECT_EQ((*model)->states(std::vector<int32_t>{-1}).error().code, Code::kInvalid);
  EXPECT_EQ((*model)->states(std::vector<int32_t>{}).error().code, Code::kInvalid);
}

TEST(Gliner, the_directory_may_name_the_labels) {
  const GlinerNetwork network(R"({"signalbox_labels":["person","a b"]})");
  const auto model = TextModel::open(network.directory());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->heads()[0].labels, (std::vector<std::string>{"person", "a b"}));
  const Input input{.text = "a"};
  EXPECT_TRUE((*model)->answer({&input, 1}));
  const auto other = TextModel::open(network.directory(), {.labels = {"c"}});
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ((*other)->heads()[0].labels, std::vector<std::string>{"c"});
}

TEST(Gliner, the_directory_may_name_the_threshold) {
  const auto count = [](const char* settings, std::optional<float> least) {
    const GlinerNetwork network(settings);
    const auto model =
        TextModel::open(network.directory(), {.labels = kLabels, .least_score = least});
    const Input input{.text = "ab cd, e fg hi"};
    return (*model)->answer({&input, 1})->front().entities.size();
  };
  const char* strict = R"({"signalbox_threshold":0.99})";
  EXPECT_EQ(count("{}", {}), count("{}", 0.5f));
  EXPECT_EQ(count(strict, {}), count("{}", 0.99f));
  EXPECT_LT(count(strict, {}), count(strict, 0.01f));
}

TEST(Gliner, labels_that_cannot_be_used_are_named) {
  const GlinerNetwork network;
  const auto refused = [&](std::vector<std::string> labels, std::string_view message) {
    const auto model = TextModel::open(network.directory(), {.labels = std::move(labels)});
    ASSERT_FALSE(model) << message;
    EXPECT_EQ(model.error().code, Code::kInvalid);
    EXPECT_NE(model.error().message.find(message), std::string::npos) << model.error().message;
  };
  refused({"a", ""}, "label 2: 0 bytes, expected 1 to 200");
  refused({std::string(201, 'a')}, "label 1: 201 bytes");
  refused({"a", "b", "a"}, "label 3: \"a\" is there twice");
  refused({" "}, "label \" \": it has no tokens");
  std::vector<std::string> many;
  for (int i = 0; i <= kLabelsMax; ++i) many.push_back(std::string("l") + std::to_string(i));
  refused(many, "101 labels, expected at most 100");
  refused({std::string(60, 'a')}, "the labels have 62 tokens, expected at most 48");
  EXPECT_FALSE(TextModel::open(network.directory(), {.labels = kLabels, .least_score = 1}));
  const RandomNetwork other(fmt::format("{{{}}}", small_modern_bert("ModernBertModel")));
  const auto model = TextModel::open(other.directory(), {.labels = kLabels});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("only a GLiNER model takes labels"), std::string::npos);
}

TEST(Gliner, an_older_configuration_may_have_no_lstm) {
  const auto layers = [](const char* text) {
    const auto config = weights::HfConfig::parse(text, "gliner_config.json");
    return read_gliner_config(config->root())->lstm_layers;
  };
  EXPECT_EQ(layers("{}"), 1);
  EXPECT_EQ(layers(R"({"has_rnn":false})"), 0);
  EXPECT_EQ(layers(R"({"has_rnn":true,"num_rnn_layers":2})"), 2);
}

TEST(Gliner, a_directory_that_does_not_fit_is_refused_with_the_place) {
  const struct {
    const char* options;
    const char* message;
  } kCases[] = {
      {R"({"span_mode":"markerV1"})", R"(span_mode: "markerV1" is not supported)"},
      {R"({"span_mode":"token_level"})", R"(span_mode: "token_level" is not supported)"},
      {R"({"subtoken_pooling":"mean"})", "subtoken_pooling"},
      {R"({"words_splitter_type":"universal"})", "words_splitter_type"},
      {R"({"post_fusion_schema":"l2l-l2t"})", "post_fusion_schema"},
      {R"({"labels_encoder":"bge"})", "labels_encoder"},
      {R"({"relations_layer":"gcn"})", "relations_layer"},
      {R"({"fuse_layers":true})", "fuse_layers: true is not supported"},
      {R"({"model_type":"gliner_bi_encoder_span"})", "model_type"},
      {R"({"max_width":0})", "max_width"},
      {R"({"max_width":65})", "max_width"},
      {R"({"ent_token":""})", "ent_token: 0 bytes"},
      {R"({"signalbox_threshold":1})", "signalbox_threshold"},
      {R"({"class_token_index":57})", "with ids below 58, found 57 and 58"},
      {R"({"class_token_index":3})", "class_token_index: 3, but tokenizer.json has"},
      {R"({"class_token_index":-1})", "expected the tokens"},
      {R"({"encoder_config":{"model_type":"bert"}})", R"("bert" as the encoder of GLiNER)"},
      {R"({"encoder_config":null})", "encoder_config: missing, and no config.json either"}};
  for (const auto& each : kCases) {
    const GlinerNetwork network;
    const std::string config = [&] {
      std::ifstream file(network.directory() / "gliner_config.json");
      const std::string valid((std::istreambuf_iterator<char>(file)), {});
      return merge_objects(json::Document::parse(each.options).value().root(),
                           json::Document::parse(valid).value().root());
    }();
    network.write_config(config);
    const auto model = TextModel::open(network.directory(), {.labels = kLabels});
    ASSERT_FALSE(model) << each.options;
    EXPECT_NE(model.error().message.find(each.message), std::string::npos) << model.error().message;
  }
}

TEST(Gliner, tensors_that_do_not_fit_are_named) {
  const GlinerNetwork network;
  for (const char* name :
       {"rnn.lstm.weight_hh_l0_reverse", "span_rep_layer.span_rep_layer.out_project.3.weight",
        "prompt_rep_layer.0.bias", "token_rep_layer.projection.weight",
        "token_rep_layer.bert_layer.model.encoder.rel_embeddings.weight"}) {
    for (const bool drops : {true, false}) {
      Checkpoint tensors = network.tensors();
      TestTensor& tensor = tensors.at(name);
      if (drops) {
        tensors.erase(name);
      } else {
        const auto row = static_cast<size_t>(tensor.shape.size() > 1 ? tensor.shape[1] : 1);
        tensor.shape[0] -= 1;
        tensor.values.resize(tensor.values.size() - row);
      }
      network.write(tensors);
      const auto model = TextModel::open(network.directory(), {.labels = kLabels});
      ASSERT_FALSE(model) << name;
      EXPECT_NE(model.error().message.find(name), std::string::npos) << model.error().message;
    }
  }
  const GlinerNetwork deep(R"({"num_rnn_layers":2})");
  network.write(deep.tensors());
  const auto shallow = TextModel::open(network.directory(), {.labels = kLabels});
  ASSERT_FALSE(shallow);
  EXPECT_NE(shallow.error().message.find("num_rnn_layers: 1"), std::string::npos)
      << shallow.error().message;
  Checkpoint infinite = network.tensors();
  infinite.at("prompt_rep_layer.3.bias").values[0] = INFINITY;
  network.write(infinite);
  EXPECT_FALSE(TextModel::open(network.directory(), {.labels = kLabels}));
}

TEST(Gliner, hidden_states_that_are_not_finite_are_an_error) {
  const GlinerNetwork network;
  Checkpoint tensors = network.tensors();
  tensors.at("token_rep_layer.bert_layer.model.embeddings.word_embeddings.weight").values[5 * 12] =
      NAN;
  network.write(tensors);
  const auto model = TextModel::open(network.directory(), {.labels = kLabels});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE((*model)->states(std::vector<int32_t>{4, 6}));
  const auto states = (*model)->states(std::vector<int32_t>{4, 5});
  ASSERT_FALSE(states);
  EXPECT_NE(states.error().message.find("the model's hidden states are not finite"),
            std::string::npos)
      << states.error().message;
}

TEST(WordSpans, takes_the_likeliest_that_do_not_overlap) {
  // (words 4, width 2, labels 2); the last word has no second span.
  std::vector<float> logits(4 * 2 * 2, -5);
  const auto at = [&](int32_t first, int32_t more, int32_t label) -> float& {
    return logits[(first * 2 + more) * 2 + label];
  };
  at(0, 1, 0) = 1;
  at(1, 1, 1) = 2;  // overlaps the one before and is likelier
  at(3, 0, 0) = 0.5f;
  at(3, 0, 1) = 0.5f;  // the same span with another label
  at(3, 1, 0) = 9;     // ends after the last word
  const auto chosen = choose_spans(logits, 4, 2, 2, 0.5f);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0], (WordSpan{1, 2, 1, 1 / (1 + std::exp(-2.0f))}));
  EXPECT_EQ(chosen[1], (WordSpan{3, 3, 0, 1 / (1 + std::exp(-0.5f))}));
  EXPECT_TRUE(choose_spans(logits, 4, 2, 2, 0.95f).empty());
  EXPECT_TRUE(choose_spans({}, 0, 2, 2, 0.5f).empty());
}

TEST(SplitWords, as_the_published_pattern) {
  const auto words = [](std::string_view text) {
    std::vector<std::string> out;
    for (const tokenizer::Span span : split_words(text))
      out.emplace_back(text.substr(span.begin, span.end - span.begin));
    return out;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(
      words("Ada's e-mail: a_b-c@x.org, 3-4!"),
      (Words{"Ada", "'", "s", "e-mail", ":", "a_b-c", "@", "x", ".", "org", ",", "3-4", "!"}));
  EXPECT_EQ(words("-a- --b"), (Words{"-", "a", "-", "-", "-", "b"}));
  EXPECT_EQ(words("Zoë \u00A0Łódź\n東京"), (Words{"Zoë", "Łódź", "東京"}));
  EXPECT_EQ(words("<<ENT>>"), (Words{"<", "<", "ENT", ">", ">"}));
  EXPECT_EQ(words("a\xFF\xC3 b"), (Words{"a", "\xFF", "\xC3", "b"}));
  EXPECT_EQ(words(""), Words{});
  EXPECT_EQ(words(" \t\u2003\x1C\x1F"), Words{});
}

}  // namespace
}  // namespace signalbox::engine
