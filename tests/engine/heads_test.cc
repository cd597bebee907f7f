// Heads tested through the public interface: labels, scores, pairs, several heads at once,
// embeddings with options. No answer depends on its batch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>

#include "engine/engine.h"
#include "engine/prompts.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

constexpr const char* kSequence = "ModernBertForSequenceClassification";
constexpr const char* kTokens = "ModernBertForTokenClassification";

RandomNetwork network(std::string_view architecture, std::string_view more = "") {
  return RandomNetwork(fmt::format("{{{}{}}}", small_modern_bert(architecture), more), true);
}

std::unique_ptr<const TextModel> open(const RandomNetwork& random,
                                      const OpenOptions& options = {}) {
  auto model = TextModel::open(random.directory(), options);
  EXPECT_TRUE(model) << model.error().message;
  return std::move(model).value_or(nullptr);
}

Answer answer(const TextModel& model, const Input& input, size_t head = 0) {
  auto answers = model.answer({&input, 1});
  EXPECT_TRUE(answers) << answers.error().message;
  return std::move(answers->at(head));
}

void write(const RandomNetwork& random, const char* file, std::string_view text) {
  const auto path = random.directory() / file;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

double sum(const std::vector<float>& values) {
  double out = 0;
  for (const float x : values) out += x;
  return out;
}

TEST(Heads, a_bare_encoder_has_none) {
  const auto model = open(network("ModernBertModel"));
  EXPECT_TRUE(model->heads().empty());
  const Input input{"abc", {}};
  EXPECT_TRUE(model->answer({&input, 1})->empty());
}

TEST(Heads, scores_are_the_softmax_of_the_logits) {
  const RandomNetwork random = network(kSequence);
  const auto model = open(random);
  const Answer found = answer(*model, {"hello there", {}});
  const auto logits = random.reference(model->encode("hello there").value()).logits;
  double total = 0;
  for (const double x : logits) total += std::exp(x);
  ASSERT_EQ(found.scores.size(), logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    EXPECT_NEAR(found.scores[i], std::exp(logits[i]) / total, 1e-4);
  EXPECT_NEAR(sum(found.scores), 1, 1e-6);
}

TEST(Heads, labels_of_a_multi_label_head_are_scored_one_by_one) {
  const RandomNetwork random =
      network(kSequence, R"(,"problem_type":"multi_label_classification")");
  const auto model = open(random);
  EXPECT_EQ(model->heads()[0].scores, Scores::kSigmoid);
  const Answer found = answer(*model, {"hello", {}});
  const auto logits = random.reference(model->encode("hello").value()).logits;
  for (size_t i = 0; i < logits.size(); ++i)
    EXPECT_NEAR(found.scores[i], 1 / (1 + std::exp(-logits[i])), 1e-4);
}

TEST(Heads, a_regression_keeps_its_number) {
  const RandomNetwork random = network(kSequence, R"(,"problem_type":"regression")");
  const auto model = open(random);
  const Answer found = answer(*model, {"hello", {}});
  const auto logits = random.reference(model->encode("hello").value()).logits;
  for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(found.scores[i], logits[i], 1e-4);
}

TEST(Heads, one_number_is_a_probability_unless_the_cross_encoder_has_no_activation) {
  const std::string plain = small_modern_bert(kSequence);
  const std::string one = plain.substr(0, plain.rfind(',')) + R"(,"num_labels":1)";
  EXPECT_EQ(open(RandomNetwork("{" + one + "}"))->heads()[0].scores, Scores::kSigmoid);
  for (const char* more :
       {R"("sentence_transformers":{"activation_fn":"torch.nn.modules.linear.Identity"})",
        R"("sbert_ce_default_activation_function":"torch.nn.modules.linear.Identity")"}) {
    EXPECT_EQ(open(RandomNetwork(fmt::format("{{{},{}}}", one, more)))->heads()[0].scores,
              Scores::kRaw);
  }
  const RandomNetwork single("{" + one + R"(,"problem_type":"single_label_classification"})");
  EXPECT_EQ(open(single)->heads()[0].scores, Scores::kSigmoid);
  const std::string older = one + R"(,"sbert_ce_default_activation_function":)"
                                  R"("torch.nn.modules.linear.Identity")";
  const RandomNetwork multi("{" + older + R"(,"problem_type":"multi_label_classification"})");
  EXPECT_EQ(open(multi)->heads()[0].scores, Scores::kSigmoid);
  const RandomNetwork without("{" + older + R"(,"sentence_transformers":{"version":"4.0"}})");
  EXPECT_EQ(open(without)->heads()[0].scores, Scores::kRaw);
  const RandomNetwork named("{" + one +
                            R"(,"sentence_transformers":{"activation_fn":"torch.nn.Sigmoid"}})");
  EXPECT_EQ(open(named)->heads()[0].scores, Scores::kSigmoid);
  // A file of its own goes before config.json, if it names an activation.
  write(named, kPromptsFile, R"({"prompts":{}})");
  EXPECT_EQ(open(named)->heads()[0].scores, Scores::kSigmoid);
  write(named, kPromptsFile, R"({"activation_fn":"torch.nn.modules.linear.Identity"})");
  EXPECT_EQ(open(named)->heads()[0].scores, Scores::kRaw);
}

TEST(Heads, hidden_states_that_are_not_finite_are_an_error) {
  const RandomNetwork random = network(kSequence);
  Checkpoint tensors = random.tensors();
  tensors.at("model.embeddings.tok_embeddings.weight").values[5 * 48] = NAN;
  random.write(tensors);
  const auto model = open(random);
  EXPECT_TRUE(model->states(std::vector<int32_t>{4, 6}));
  const auto states = model->states(std::vector<int32_t>{4, 5});
  ASSERT_FALSE(states);
  EXPECT_THAT(states.error().message,
              testing::EndsWith(": the model's hidden states are not finite"));
}

// The text's last token is the padding of a network that classifies by its last token.
TEST(Heads, padding_at_the_end_of_a_text_does_not_count_in_a_causal_network) {
  const RandomNetwork random(
      R"({"model_type":"qwen3","architectures":["Qwen3ForSequenceClassification"],"vocab_size":56,)"
      R"("hidden_size":24,"intermediate_size":20,"num_hidden_layers":2,"num_attention_heads":4,)"
      R"("num_key_value_heads":2,"head_dim":8,"max_position_embeddings":64,"pad_token_id":9})");
  const auto logits_of = [&](const std::vector<int32_t>& ids) {
    return open(random)->states(ids)->logits[0];
  };
  EXPECT_EQ(logits_of({3, 5, 9, 9}), logits_of({3, 5}));
  EXPECT_NE(logits_of({3, 9, 5}), logits_of({3, 5}));
  EXPECT_EQ(logits_of({9, 9}), logits_of({9}));
}

TEST(Heads, labels_come_from_the_config_then_from_mapping_files) {
  const RandomNetwork plain = network(kSequence);
  EXPECT_EQ(open(plain)->heads()[0].labels[4], "LABEL_4");
  const RandomNetwork named =
      network(kSequence, R"(,"id2label":{"1":"b","0":"a","2":"c","4":"e","3":"d"})");
  EXPECT_EQ(open(named)->heads()[0].labels, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  const std::vector<std::string> expected = {"v", "w", "x", "y", "z"};
  const struct {
    const char *file, *text;
  } files[] = {
      {"category_mapping.json", R"({"category_to_idx":{"v":0,"w":1,"x":2,"y":3,"z":4},)"
                                R"("idx_to_category":{"0":"v","1":"w","2":"x","3":"y","4":"z"}})"},
      {"pii_type_mapping.json", R"({"label_to_idx":{"z":4,"w":1,"x":2,"y":3,"v":0}})"},
      {"jailbreak_type_mapping.json",
       R"({"id_to_label":{"0":"v","1":"w","2":"x","3":"y","4":"z"}})"},
  };
  for (const auto& [file, text] : files) {
    write(named, file, text);
    EXPECT_EQ(open(named)->heads()[0].labels, expected) << file;
    std::filesystem::remove(named.directory() / file);
  }
}

TEST(Heads, token_labels_become_spans) {
  const RandomNetwork random =
      network(kTokens, R"(,"id2label":{"0":"O","1":"B-X","2":"I-X","3":"B-Y","4":"I-Y"})");
  const auto model = open(random);
  EXPECT_EQ(model->heads()[0].kind, HeadKind::kTokens);
  const std::string text = "some words of the text that have many letters in them";
  const Answer found = answer(*model, {text, {}});
  ASSERT_FALSE(found.entities.empty());
  uint32_t last = 0;
  for (const Entity& entity : found.entities) {
    EXPECT_TRUE(entity.type == "X" || entity.type == "Y");
    EXPECT_LE(last, entity.begin);
    EXPECT_LT(entity.begin, entity.end);
    EXPECT_LE(entity.end, text.size());
    EXPECT_GT(entity.score, 0.2f);
    EXPECT_LE(entity.score, 1.0f);
    last = entity.end;
  }
}

TEST(Heads, the_pair_can_be_marked_by_the_logits_of_its_own_tokens) {
  const RandomNetwork random =
      network(kTokens, R"(,"id2label":{"0":"B-A","1":"B-B","2":"B-C","3":"B-D","4":"B-E"})");
  const auto model = open(random);
  const std::string text = "a long text", pair = "s o m e m o r e";
  const Answer found = answer(*model, {text, pair, kNoAdapter, Marked::kPair});
  ASSERT_EQ(found.tokens.size(), 8u);    // each letter is a word
  ASSERT_EQ(found.entities.size(), 8u);  // each word begins an entity
  EXPECT_EQ(found.entities.front().begin, 0u);
  EXPECT_EQ(found.entities.back().end, pair.size());
  for (size_t i = 0; i < found.tokens.size(); ++i) {
    const TokenScores& token = found.tokens[i];
    EXPECT_EQ(token.end, found.entities[i].end);
    ASSERT_EQ(token.scores.size(), 5u);
    EXPECT_NEAR(std::accumulate(token.scores.begin(), token.scores.end(), 0.0), 1, 1e-5);
    EXPECT_EQ(*std::ranges::max_element(token.scores), found.entities[i].score);
  }
  // The first text affects the result, and a head that marks the text still sees the text.
  EXPECT_NE(answer(*model, {"b", pair, kNoAdapter, Marked::kPair}).tokens[0].scores,
            found.tokens[0].scores);
  const Answer of_text = answer(*model, {text, pair});
  EXPECT_EQ(of_text.entities.back().end, text.size());
  EXPECT_TRUE(of_text.tokens.empty());
  const Input alone{text, {}, kNoAdapter, Marked::kPair};
  EXPECT_EQ(model->answer({&alone, 1}).error().message,
            "the pair is to be marked, but the input has no pair");
}

TEST(Heads, many_heads_read_one_trunk) {
  const RandomNetwork own = network(kSequence), other = network(kTokens),
                      third = network(kSequence);
  Checkpoint tensors = third.tensors();  // its own trunk must not be used
  for (auto& [name, tensor] : tensors) {
    if (name.starts_with("model.")) std::ranges::fill(tensor.values, 0.0f);
    if (name == "classifier.weight") std::ranges::reverse(tensor.values);
  }
  third.write(tensors);
  const auto model = open(own, {.heads = {other.directory(), third.directory()}});
  ASSERT_EQ(model->heads().size(), 3u);
  EXPECT_EQ(model->heads()[1].kind, HeadKind::kTokens);
  EXPECT_EQ(model->heads()[1].name, other.directory().filename().string());
  const Input input{"one pass", {}};
  const auto all = model->answer({&input, 1});
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)[0].scores, answer(*open(own), input).scores);
  EXPECT_TRUE((*all)[1].scores.empty());
  EXPECT_NE((*all)[2].scores, (*all)[0].scores);
  const auto states = model->states(model->encode("one pass").value());
  EXPECT_EQ(states->logits.size(), 3u);
}

// The form written by `signalbox fit` and tools/train: mean, length 1, optionally a layer, classes.
TEST(Heads, a_head_of_ours_may_have_a_layer_before_its_classes) {
  const RandomNetwork trunk = network("ModernBertModel");
  const auto ids = trunk.ids(9);
  const int32_t hidden = open(trunk)->hidden();
  const auto numbers = [&](int64_t count, double step) {
    std::vector<float> out(count);
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(std::sin(step * double(i + 1)));
    return out;
  };
  Checkpoint tensors;
  tensors["dense.weight"] = {{hidden, hidden}, numbers(int64_t{hidden} * hidden, 0.37)};
  tensors["dense.bias"] = {{hidden}, numbers(hidden, 1.1)};
  tensors["classifier.weight"] = {{2, hidden}, numbers(int64_t{2} * hidden, 0.71)};
  tensors["classifier.bias"] = {{2}, {0.25F, -0.5F}};
  TemporaryDirectory directory;
  std::ofstream(directory.path() / "config.json") << fmt::format(
      R"({{"architectures":["LinearForSequenceClassification"],"hidden_size":{},"num_labels":2,)"
      R"("classifier_pooling":"mean","classifier_normalize":true,"classifier_activation":"relu"}})",
      hidden);
  write_checkpoint(directory.path() / "model.safetensors", tensors, "F32");
  const auto states = open(trunk, {.heads = {directory.path()}})->states(ids).value();

  std::vector<double> pooled(hidden), layer(hidden);
  for (size_t i = 0; i < states.last_hidden_state.size(); ++i)
    pooled[i % hidden] += states.last_hidden_state[i];
  const double length =
      std::sqrt(std::inner_product(pooled.begin(), pooled.end(), pooled.begin(), 0.0));
  const auto row = [&](const std::string& name, int32_t i, const std::vector<double>& x) {
    const float* weight = tensors[name + ".weight"].values.data() + int64_t{i} * hidden;
    return std::inner_product(x.begin(), x.end(), weight,
                              double{tensors[name + ".bias"].values[i]});
  };
  for (double& x : pooled) x /= length;
  for (int32_t i = 0; i < hidden; ++i) layer[i] = std::max(0.0, row("dense", i, pooled));
  for (int32_t i = 0; i < 2; ++i)
    EXPECT_NEAR(states.logits[0][i], row("classifier", i, layer), 1e-4);
}

// Writes the directory of a head with `classes` classes; `keys` are added to its config.
void write_own_head(const std::filesystem::path& directory, const Checkpoint& tensors,
                    int32_t hidden, int32_t classes, const char* keys) {
  std::ofstream(directory / "config.json") << fmt::format(
      R"({{"architectures":["LinearForSequenceClassification"],"hidden_size":{},"num_labels":{},{}}})",
      hidden, classes, keys);
  write_checkpoint(directory / "model.safetensors", tensors, "F32");
}

Checkpoint own_classifier(int32_t hidden, int32_t classes) {
  std::vector<float> weight(int64_t{classes} * hidden), bias(classes, 0.1F);
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = static_cast<float>(std::sin(0.71 * double(i + 1)));
  return {{"classifier.weight", {{classes, hidden}, weight}},
          {"classifier.bias", {{classes}, bias}}};
}

TEST(Heads, a_head_of_ours_may_judge_by_the_strongest_part) {
  const RandomNetwork trunk = network("ModernBertModel");
  const int32_t hidden = open(trunk)->hidden();
  const Checkpoint tensors = own_classifier(hidden, 3);
  const float* weight = tensors.at("classifier.weight").values.data();
  TemporaryDirectory directory;
  write_own_head(
      directory.path(), tensors, hidden, 3,
      R"("classifier_pooling":"strongest_part","classifier_part":4,"classifier_step":3)");
  const auto model = open(trunk, {.heads = {directory.path()}});
  for (const int32_t tokens : {2, 4, 5, 9, 10}) {
    const auto states = model->states(trunk.ids(tokens)).value();
    const auto logits_of = [&](int32_t begin, int32_t end) {
      std::vector<double> logits(3, 0.1);
      for (int32_t k = 0; k < 3; ++k) {
        for (int32_t i = 0; i < hidden; ++i) {
          for (int32_t t = begin; t < end; ++t) {
            logits[k] += double{weight[k * hidden + i]} / (end - begin) *
                         states.last_hidden_state[int64_t{t} * hidden + i];
          }
        }
      }
      return logits;
    };
    std::vector<double> best;
    for (int32_t begin = 0;; begin += 3) {  // the last part ends at the text's end
      const int32_t end = std::min(begin + 4, tokens);
      const auto logits = logits_of(std::max(end - 4, 0), end);
      const auto away = [](const auto& x) { return std::max(x[1], x[2]) - x[0]; };
      if (best.empty() || away(logits) > away(best)) best = logits;
      if (end == tokens) break;
    }
    for (int32_t k = 0; k < 3; ++k)
      EXPECT_NEAR(states.logits[0][k], best[k], 1e-4) << tokens << " tokens";
  }
}

// The parts of all sequences of a batch are stored consecutively. Each sequence has its own
// strongest part.
TEST(Heads, parts_of_a_batch_stay_with_their_sequences) {
  const RandomNetwork trunk = network("ModernBertModel");
  const int32_t hidden = open(trunk)->hidden();
  TemporaryDirectory directory;
  write_own_head(
      directory.path(), own_classifier(hidden, 3), hidden, 3,
      R"("classifier_pooling":"strongest_part","classifier_part":4,"classifier_step":3)");
  const auto model = open(trunk, {.heads = {directory.path()}});
  std::vector<std::string> texts;
  for (const int words : {9, 1, 23, 4, 5, 14, 2}) {
    texts.emplace_back();
    for (int k = 0; k < words; ++k)
      texts.back() += fmt::format("{} ", char('a' + (k * 7 + words) % 26));
  }
  std::vector<Input> inputs;
  for (const std::string& text : texts) inputs.push_back({text, {}});
  const auto together = model->answer(inputs);
  ASSERT_TRUE(together);
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(answer(*model, inputs[i]).scores, (*together)[i].scores) << texts[i];
}

TEST(Heads, impossible_sizes_of_parts_are_refused) {
  const RandomNetwork trunk = network("ModernBertModel");
  const int32_t hidden = open(trunk)->hidden();
  const auto error_of = [&](int32_t classes, const char* keys) {
    TemporaryDirectory directory;
    write_own_head(directory.path(), own_classifier(hidden, classes), hidden, classes, keys);
    const auto model = TextModel::open(trunk.directory(), {.heads = {directory.path()}});
    return model ? "opened" : model.error().message;
  };
  EXPECT_THAT(error_of(2, R"("classifier_pooling":"strongest_part","classifier_step":3)"),
              testing::HasSubstr("classifier_part"));
  EXPECT_THAT(
      error_of(2,
               R"("classifier_pooling":"strongest_part","classifier_part":4,"classifier_step":5)"),
      testing::HasSubstr("classifier_step"));
  EXPECT_THAT(
      error_of(1,
               R"("classifier_pooling":"strongest_part","classifier_part":4,"classifier_step":2)"),
      testing::HasSubstr("two classes"));
}

TEST(Heads, name_the_languages_that_they_support) {
  const RandomNetwork trunk = network("ModernBertModel");
  const int32_t hidden = open(trunk)->hidden();
  const auto languages_of = [&](const char* keys) -> Result<std::vector<std::string>> {
    TemporaryDirectory directory;
    write_own_head(directory.path(), own_classifier(hidden, 2), hidden, 2, keys);
    SIGNALBOX_TRY(const auto model,
                  TextModel::open(trunk.directory(), {.heads = {directory.path()}}));
    return model->heads()[0].languages;
  };
  EXPECT_EQ(*languages_of(R"("classifier_languages":["en","de"])"),
            (std::vector<std::string>{"en", "de"}));
  EXPECT_TRUE(languages_of(R"("classifier_pooling":"mean")")->empty());
  for (const char* wrong : {R"(["english"])", R"(["EN"])", R"([""])"}) {
    const auto refused = languages_of(fmt::format(R"("classifier_languages":{})", wrong).c_str());
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message,
                testing::HasSubstr("classifier_languages: expected codes of ISO 639-1"));
  }
  EXPECT_THAT(languages_of(R"("classifier_languages":"en")").error().message,
              testing::HasSubstr("expected an array of strings"));
}

TEST(Heads, may_have_a_shift_only_if_they_name_languages) {
  const RandomNetwork trunk = network("ModernBertModel");
  const int32_t hidden = open(trunk)->hidden();
  const auto shift_of = [&](const char* keys) -> Result<float> {
    TemporaryDirectory directory;
    write_own_head(directory.path(), own_classifier(hidden, 2), hidden, 2, keys);
    SIGNALBOX_TRY(const auto model,
                  TextModel::open(trunk.directory(), {.heads = {directory.path()}}));
    return model->heads()[0].unsupported_shift;
  };
  EXPECT_EQ(*shift_of(R"("classifier_languages":["en"])"), 0);
  EXPECT_EQ(*shift_of(R"("classifier_languages":["en"],"classifier_unsupported_shift":-2.5)"),
            -2.5F);
  for (const char* wrong : {R"("classifier_languages":["en"],"classifier_unsupported_shift":1)",
                            R"("classifier_languages":["en"],"classifier_unsupported_shift":"-1")",
                            R"("classifier_unsupported_shift":-1)"}) {
    const auto refused = shift_of(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().message, testing::HasSubstr("classifier_unsupported_shift"));
  }
}

TEST(Heads, a_further_directory_must_have_a_head_that_fits) {
  const RandomNetwork own = network(kSequence), bare = network("ModernBertModel");
  const auto none = TextModel::open(own.directory(), {.heads = {bare.directory()}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, (bare.directory() / "config.json").string() +
                                      ": architectures: does not name an architecture with a head");
  const RandomNetwork wider(
      R"({"model_type":"modernbert","architectures":["ModernBertForSequenceClassification"],)"
      R"("vocab_size":50,"hidden_size":32,"intermediate_size":8,"num_hidden_layers":1,)"
      R"("num_attention_heads":2})");
  const auto wrong = TextModel::open(own.directory(), {.heads = {wider.directory()}});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("has shape [32, 32], expected [48, 48]"), std::string::npos)
      << wrong.error().message;
}

TEST(Heads, an_answer_has_the_same_bits_in_every_batch) {
  for (const char* architecture : {kSequence, kTokens}) {
    const RandomNetwork random =
        network(architecture, R"(,"norm_bias":true,"classifier_pooling":"mean")");
    const auto model = open(random);
    std::vector<std::string> texts;
    for (int i = 0; i < 60; ++i) {
      texts.emplace_back();
      for (int k = 0; k < 1 + i * 7 % 41; ++k)
        texts.back() += fmt::format("{} ", char('a' + k % 26));
    }
    std::vector<Input> inputs;
    for (const std::string& text : texts) inputs.push_back({text, {}});
    const auto together = model->answer(inputs);
    ASSERT_TRUE(together);
    std::vector<float> embeddings(texts.size() * model->dim()), alone(model->dim());
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    ASSERT_TRUE(model->embed(views, embeddings));
    for (size_t i = 0; i < texts.size(); ++i) {
      const Answer single = answer(*model, inputs[i]);
      EXPECT_EQ(single.scores, (*together)[i].scores) << i;
      ASSERT_EQ(single.entities.size(), (*together)[i].entities.size()) << i;
      for (size_t k = 0; k < single.entities.size(); ++k) {
        EXPECT_EQ(single.entities[k].begin, (*together)[i].entities[k].begin);
        EXPECT_EQ(single.entities[k].score, (*together)[i].entities[k].score);
      }
      ASSERT_TRUE(model->embed({&views[i], 1}, alone));
      EXPECT_EQ(std::memcmp(alone.data(), &embeddings[i * alone.size()], alone.size() * 4), 0) << i;
    }
  }
}

TEST(Heads, a_pair_is_one_sequence_and_its_segments_count_in_bert) {
  const RandomNetwork random(
      R"({"model_type":"bert","architectures":["BertForSequenceClassification"],"vocab_size":56,)"
      R"("hidden_size":24,"intermediate_size":20,"num_hidden_layers":2,"num_attention_heads":2,)"
      R"("max_position_embeddings":64,"type_vocab_size":2,"layer_norm_eps":1e-12,"num_labels":3})",
      true);
  const auto model = open(random);
  const Answer pair = answer(*model, {"a b", "c d"}), swapped = answer(*model, {"c d", "a b"});
  EXPECT_NE(pair.scores, swapped.scores);
  Checkpoint tensors = random.tensors();  // without a difference between segments
  auto& types = tensors.at("bert.embeddings.token_type_embeddings.weight").values;
  std::copy_n(types.begin(), 24, types.begin() + 24);
  random.write(tensors);
  EXPECT_NE(answer(*open(random), {"a b", "c d"}).scores, pair.scores);
}

class Embeddings : public testing::Test {
 protected:
  std::vector<float> embed(const TextModel& model, const EmbedOptions& options) const {
    std::vector<float> out(options.dim != 0 ? options.dim : model.dim());
    const auto done = model.embed({&text_, 1}, options, out);
    EXPECT_TRUE(done) << done.error().message;
    return out;
  }
  // Checks against the first `dim` numbers of `from`, normalised.
  static void expect_direction(const std::vector<double>& from, const std::vector<float>& found) {
    double squares = 0;
    for (size_t i = 0; i < found.size(); ++i) squares += from[i] * from[i];
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], from[i] / std::sqrt(squares), 1e-5) << i;
  }

  const std::string_view text_ = "a small text";
  const RandomNetwork random_ = network("ModernBertModel");
  const std::unique_ptr<const TextModel> model_ = open(random_);
  const std::vector<double> states_ = random_.reference(model_->encode(text_).value()).hidden;
  const size_t hidden_ = static_cast<size_t>(model_->hidden());
};

TEST_F(Embeddings, options_choose_the_pooling) {
  expect_direction(states_, embed(*model_, {.pooling = Pooling::kFirst}));
  expect_direction({states_.end() - static_cast<int64_t>(hidden_), states_.end()},
                   embed(*model_, {.pooling = Pooling::kLast}));
  std::vector<double> mean(hidden_);
  for (size_t i = 0; i < states_.size(); ++i) mean[i % hidden_] += states_[i];
  expect_direction(mean, embed(*model_, {.pooling = Pooling::kMean}));
  EXPECT_EQ(embed(*model_, {}), embed(*model_, {.pooling = Pooling::kMean}));
}

TEST_F(Embeddings, fewer_dimensions_are_the_first_ones_normalised) {
  for (const int32_t dim : {1, 7, 48}) {
    expect_direction(states_, embed(*model_, {.dim = dim, .pooling = Pooling::kFirst}));
  }
}

TEST_F(Embeddings, stopping_early_equals_a_network_with_fewer_layers) {
  write(random_, "config.json", fmt::format("{{{}}}", small_modern_bert("ModernBertModel", 2)));
  EXPECT_EQ(embed(*model_, {.layers = 2}), embed(*open(random_), {}));
  EXPECT_NE(embed(*model_, {.layers = 2}), embed(*model_, {}));
}

TEST_F(Embeddings, options_out_of_range_are_refused) {
  std::vector<float> out(49);
  EXPECT_EQ(model_->embed({&text_, 1}, {.dim = 49}, out).error().message,
            "49 dimensions, the model has 48");
  EXPECT_EQ(model_->embed({&text_, 1}, {.layers = 5}, out).error().message,
            "5 layers, the model has 4");
  EXPECT_EQ(model_->embed({&text_, 1}, {.layers = -1}, out).error().code, Code::kInvalid);
}

TEST_F(Embeddings, a_sentence_transformers_directory_sets_pooling_and_length) {
  write(random_, "modules.json",
        R"([{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},)"
        R"({"idx":1,"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},)"
        R"({"idx":2,"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}])");
  write(random_, "1_Pooling/config.json",
        R"({"word_embedding_dimension":48,"pooling_mode_cls_token":true,)"
        R"("pooling_mode_mean_tokens":false,"pooling_mode_max_tokens":false})");
  write(random_, "sentence_bert_config.json", R"({"max_seq_length":6,"do_lower_case":false})");
  const auto model = open(random_);
  EXPECT_EQ(model->tokens_max(), 6);
  EXPECT_EQ(model->encode(text_)->size(), 6u);
  const auto states = random_.reference(model->encode(text_).value()).hidden;
  expect_direction(states, embed(*model, {}));
  // The folder of the encoder does not exist, because its files were moved beside modules.json.
  write(random_, "modules.json",
        R"([{"idx":0,"path":"0_Transformer","type":"sentence_transformers.models.Transformer"},)"
        R"({"idx":1,"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}])");
  expect_direction(states, embed(*open(random_), {}));
  const std::filesystem::path limit = random_.directory() / "sentence_bert_config.json";
  std::filesystem::rename(limit, random_.directory() / "sentence_xlm-roberta_config.json");
  EXPECT_EQ(open(random_)->tokens_max(), 6);
}

TEST_F(Embeddings, the_settings_of_the_tokenizer_limit_texts_but_not_ids) {
  const std::vector<int32_t> all = model_->encode(text_).value();
  ASSERT_GT(all.size(), 6u);
  write(random_, "tokenizer_config.json", R"({"model_max_length":6,"truncation_side":"left"})");
  const auto model = open(random_);
  EXPECT_EQ(model->tokens_max(), 6);
  EXPECT_TRUE(model->is_cut({text_, {}}).value());
  std::vector<int32_t> kept(all.end() - 5, all.end());
  kept.insert(kept.begin(), all.front());
  EXPECT_EQ(model->encode(text_).value(), kept);
  expect_direction(random_.reference(kept).hidden, embed(*model, {.pooling = Pooling::kFirst}));
  EXPECT_TRUE(model->states(all));
  // The limit of an embedder's own file counts instead, as in sentence-transformers.
  write(random_, "sentence_bert_config.json", R"({"max_seq_length":7})");
  EXPECT_EQ(open(random_)->tokens_max(), 7);
  write(random_, "tokenizer_config.json", R"({"model_max_length":"long"})");
  EXPECT_EQ(TextModel::open(random_.directory()).error().message,
            random_.directory().string() +
                ": tokenizer_config.json: model_max_length: expected a number of tokens from 1, "
                "found \"long\"");
}

}  // namespace
}  // namespace signalbox::engine
