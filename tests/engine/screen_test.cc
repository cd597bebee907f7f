// Screens: heads after the first layers that clear inputs, so that only the others run through all
// layers. The others get the bits that they get without a screen.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "engine/engine.h"
#include "engine/served_model.h"
#include "tests/engine/pass_threads.h"
#include "tests/engine/random_adapter.h"
#include "tests/engine/random_network.h"

namespace signalbox::engine {
namespace {

constexpr int32_t kHidden = 36;
constexpr const char* kBert =
    R"({"model_type":"bert","architectures":["BertForSequenceClassification"],"vocab_size":50,
        "hidden_size":36,"intermediate_size":50,"num_hidden_layers":3,"num_attention_heads":3,
        "max_position_embeddings":140,"type_vocab_size":2,"num_labels":3})";
// Rotates queries and keys by tables that depend on the lengths in the batch.
constexpr const char* kNomic =
    R"({"model_type":"nomic_bert","architectures":["NomicBertModel"],"vocab_size":50,"n_embd":36,
        "n_inner":256,"n_layer":3,"n_head":3,"n_positions":140,"max_trained_positions":12,
        "rotary_scaling_factor":2,"type_vocab_size":0,"activation_function":"swiglu",
        "rotary_emb_fraction":1.0,"qkv_proj_bias":false,"mlp_fc1_bias":false,
        "mlp_fc2_bias":false})";

Checkpoint nomic_tensors() {
  Checkpoint out;
  double state = 0;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    const bool is_norm = shape.size() == 1;
    TestTensor& tensor = out[name];
    tensor.values.resize(is_norm ? shape[0] : shape[0] * shape[1]);
    for (float& value : tensor.values)
      value = static_cast<float>((is_norm ? 1 : 0) + 0.3 * std::sin(state += 1.7 + state / 9999));
    tensor.shape = std::move(shape);
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {kHidden});
    add(name + ".bias", {kHidden});
  };
  add("embeddings.word_embeddings.weight", {50, kHidden});
  add_norm("emb_ln");
  for (int layer = 0; layer < 3; ++layer) {
    const std::string in = fmt::format("encoder.layers.{}.", layer);
    add(in + "attn.Wqkv.weight", {3 * kHidden, kHidden});
    add(in + "attn.out_proj.weight", {kHidden, kHidden});
    add_norm(in + "norm1");
    add(in + "mlp.fc11.weight", {256, kHidden});
    add(in + "mlp.fc12.weight", {256, kHidden});
    add(in + "mlp.fc2.weight", {kHidden, 256});
    add_norm(in + "norm2");
  }
  return out;
}

// Writes a head that gives class 1 less than half of the probability for most texts.
void write_head(const std::filesystem::path& directory, std::string_view keys, int32_t classes = 2,
                std::string_view kind = "LinearForSequenceClassification") {
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "config.json")
      << fmt::format(R"({{"architectures":["{}"],"hidden_size":{},"num_labels":{}{}{}}})", kind,
                     kHidden, classes, keys.empty() ? "" : ",", keys);
  std::vector<float> weight(static_cast<size_t>(classes) * kHidden), bias(classes);
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = static_cast<float>(std::sin(0.71 * static_cast<double>(i + 1)));
  bias[0] = 2;
  write_checkpoint(
      directory / "model.safetensors",
      {{"classifier.weight", {{classes, kHidden}, weight}}, {"classifier.bias", {{classes}, bias}}},
      "F32");
}

std::string screen_keys(int32_t layers, double limit) {
  return fmt::format(R"("classifier_layers":{},"classifier_clears_below":{})", layers, limit);
}

class Screens : public testing::TestWithParam<const char*> {
 protected:
  Screens() : network_(GetParam(), true) {
    if (GetParam() == kNomic) network_.write(nomic_tensors());
    write_head(directory_.path() / "late", R"("classifier_pooling":"mean")");
    for (int i = 0; i < 60; ++i)
      texts_.push_back(std::string(1 + i * 7 % 23, static_cast<char>('a' + i % 26)) + " b c");
    for (const std::string& text : texts_) inputs_.push_back({.text = text, .screened = true});
  }

  /// Opens the network with the head "late" and the screen, which comes last.
  std::unique_ptr<const TextModel> open(double limit, OpenOptions options = {}) {
    write_head(directory_.path() / "screen", screen_keys(1, limit));
    options.heads = {directory_.path() / "late", directory_.path() / "screen"};
    options.threads = kPassThreads;
    auto model = TextModel::open(network_.directory(), options);
    EXPECT_TRUE(model) << model.error().message;
    return std::move(model).value_or(nullptr);
  }

  std::vector<Answer> answers(const TextModel& model, const std::vector<Input>& inputs) {
    auto all = model.answer(inputs);
    EXPECT_TRUE(all) << all.error().message;
    return std::move(all).value_or(std::vector<Answer>());
  }

  /// The screen's probability of class 1 that a third of the inputs has at most.
  float middle() {
    const auto model = open(0);
    const size_t heads = model->heads().size();
    const auto all = answers(*model, inputs_);
    std::vector<float> found;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      EXPECT_FALSE(all[i * heads].scores.empty());  // a limit of 0 clears nothing
      found.push_back(all[i * heads + heads - 1].scores[1]);
    }
    std::sort(found.begin(), found.end());
    EXPECT_LT(found[21], 0.5F);
    return found[21];
  }

  RandomNetwork network_;
  TemporaryDirectory directory_;
  std::vector<std::string> texts_;
  std::vector<Input> inputs_;
};

TEST_P(Screens, inputs_that_are_not_cleared_keep_their_exact_results) {
  const double limit = middle();
  std::vector<Input> whole = inputs_;
  for (Input& input : whole) input.screened = false;
  for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kI8}) {
    const auto model = open(limit, {.precision = precision});
    ASSERT_NE(model, nullptr);
    const auto heads = model->heads().size();
    const auto screened = answers(*model, inputs_), full = answers(*model, whole);
    ASSERT_EQ(screened.size(), full.size());
    size_t cleared = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Answer& by_screen = full[i * heads + heads - 1];
      EXPECT_EQ(screened[i * heads + heads - 1].scores, by_screen.scores) << i;
      const bool is_cleared = by_screen.scores[1] < model->heads().back().clears_below;
      cleared += is_cleared ? 1 : 0;
      for (size_t h = 0; h + 1 < heads; ++h) {
        ASSERT_FALSE(full[i * heads + h].scores.empty());
        EXPECT_EQ(screened[i * heads + h].scores,
                  is_cleared ? std::vector<float>() : full[i * heads + h].scores)
            << i;
      }
    }
    EXPECT_GT(cleared, 5U);
    EXPECT_LT(cleared, 40U);
  }
}

TEST_P(Screens, read_the_layers_that_their_files_name) {
  write_head(directory_.path() / "screen",
             screen_keys(2, 0.2) + R"(,"classifier_pooling":"mean","classifier_normalize":true)");
  const auto model =
      TextModel::open(network_.directory(), {.heads = {directory_.path() / "screen"}}).value();
  EXPECT_EQ(model->heads().back().layers, 2);
  EXPECT_FLOAT_EQ(model->heads().back().clears_below, 0.2F);
  const std::string_view text = texts_[5];
  std::vector<float> vector(kHidden);
  ASSERT_TRUE(model->embed({&text, 1}, {.layers = 2, .pooling = Pooling::kMean}, vector));
  double difference = 2;  // of the two logits
  for (size_t i = 0; i < kHidden; ++i)
    difference +=
        vector[i] * (std::sin(0.71 * double(i + 1)) - std::sin(0.71 * double(i + 1 + kHidden)));
  const Input input{.text = text};
  EXPECT_NEAR(answers(*model, {input}).back().scores[1], 1 / (1 + std::exp(difference)), 1e-5);
}

TEST_P(Screens, change_no_hidden_states) {
  const auto bare = TextModel::open(network_.directory()).value();
  const auto model = open(0.5);
  const auto ids = network_.ids(30);
  const auto states = model->states(ids).value();
  EXPECT_EQ(states.last_hidden_state, bare->states(ids).value().last_hidden_state);
  for (const auto& logits : states.logits) EXPECT_FALSE(logits.empty());
}

TEST_P(Screens, screens_clear_only_inputs_that_allow_it) {
  const auto model = open(0.5);
  const auto heads = model->heads().size();
  std::vector<Input> inputs = inputs_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i % 3 == 0) inputs[i].screened = false;
    if (i % 3 == 1) inputs[i].raw = true;  // logits are not probabilities
  }
  const auto all = answers(*model, inputs);
  size_t cleared = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_cleared = all[i * heads + heads - 2].scores.empty();
    cleared += is_cleared ? 1 : 0;
    EXPECT_FALSE(is_cleared && i % 3 != 2) << i;
  }
  EXPECT_GT(cleared, 0U);
}

TEST_P(Screens, screens_work_for_queued_requests) {
  const std::shared_ptr<const TextModel> model = open(middle());
  const auto served = serve(model, {.workers = 2}).value();
  const auto direct = answers(*model, inputs_);
  const auto queued = served->answer_within({.is_long = true}, inputs_);
  ASSERT_TRUE(queued) << queued.error().message;
  ASSERT_EQ(queued->size(), direct.size());
  for (size_t i = 0; i < direct.size(); ++i) EXPECT_EQ((*queued)[i].scores, direct[i].scores);
}

INSTANTIATE_TEST_SUITE_P(Networks, Screens, testing::Values(kBert, kNomic), [](const auto& made) {
  return std::string(made.index == 0 ? "bert" : "nomic");
});

RandomAdapter random_adapter(const RandomNetwork& network) {
  const auto row = json::Document::parse(
      R"({"adapter":{"peft_type":"LORA","task_type":"SEQ_CLS","r":4,"lora_alpha":8,"bias":"none",
          "target_modules":["query"],"modules_to_save":["classifier"]},
          "targets":{"query":{"rank":4,"scale":2}},
          "saved":{"classifier.weight":[3,36],"classifier.bias":[3]}})");
  return RandomAdapter(row->root(), network.tensors(), 1);
}

// The inputs of an adapter that shares the trunk have no screen here.
TEST(Screen, judges_no_inputs_of_another_adapter) {
  const RandomNetwork network(kBert, true);
  const RandomAdapter adapter = random_adapter(network);
  TemporaryDirectory directory;
  write_head(directory.path(), screen_keys(1, 0.5));
  const auto model = TextModel::open(
      network.directory(), {.heads = {directory.path()}, .adapters = {adapter.directory()}});
  ASSERT_TRUE(model) << model.error().message;
  std::vector<Input> inputs;
  for (int32_t i = 0; i < 20; ++i)
    inputs.push_back({.text = "a b c", .adapter = i % 2 - 1, .screened = true});
  const auto all = (*model)->answer(inputs);
  ASSERT_TRUE(all) << all.error().message;
  const auto heads = (*model)->heads();
  ASSERT_EQ(heads.size(), 3U);  // the network's, the screen, the adapter's
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Answer* answer = &(*all)[i * 3];
    EXPECT_TRUE(answer[0].scores.empty()) << "cleared, or the adapter's";
    EXPECT_EQ(answer[1].scores.empty(), i % 2 == 1) << i;
    EXPECT_EQ(answer[2].scores.empty(), i % 2 == 0) << i;
  }
}

// Batches of inputs that differ in everything: what remains of a batch moves to other rows, beside
// other neighbours.
TEST(Screen, leaves_the_bits_of_a_full_pass_alone_in_mixed_batches) {
  const RandomNetwork network(kBert, true);
  const RandomAdapter adapter = random_adapter(network);
  TemporaryDirectory directory;
  std::vector<std::string> texts;
  for (int i = 0; i < 90; ++i) {
    texts.emplace_back();
    for (int word = 0; word <= i * 37 % 125; ++word)
      texts.back() += {static_cast<char>('a' + (i * 11 + word * word) % 26), ' '};
  }
  for (const Precision precision : {Precision::kF32, Precision::kI8}) {
    write_head(directory.path(), screen_keys(2, 0.12));
    const auto model = TextModel::open(network.directory(), {.precision = precision,
                                                             .threads = kPassThreads,
                                                             .heads = {directory.path()},
                                                             .adapters = {adapter.directory()}});
    ASSERT_TRUE(model) << model.error().message;
    std::vector<Input> inputs;
    for (size_t i = 0; i < texts.size(); ++i) {
      inputs.push_back(
          {.text = texts[i], .adapter = i % 3 == 0 ? 0 : kNoAdapter, .screened = i % 5 != 1});
    }
    const auto mixed = (*model)->answer(inputs);
    ASSERT_TRUE(mixed) << mixed.error().message;
    const auto heads = (*model)->heads();
    size_t cleared = 0, kept = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Input alone = inputs[i];
      alone.screened = false;
      const auto full = (*model)->answer({&alone, 1});
      ASSERT_TRUE(full) << full.error().message;
      const bool is_cleared = inputs[i].screened && clears(heads[1], (*full)[1]);
      if (alone.adapter == kNoAdapter) ++(is_cleared ? cleared : kept);
      for (size_t h = 0; h < heads.size(); ++h) {
        const bool is_late = heads[h].layers > 2;
        EXPECT_EQ((*mixed)[i * heads.size() + h].scores,
                  is_cleared && is_late ? std::vector<float>() : (*full)[h].scores)
            << i << ", " << heads[h].name;
      }
    }
    EXPECT_GT(cleared, 10U);
    EXPECT_GT(kept, 10U);
  }
}

// A comparison with such a probability is false, so the guard would not match.
TEST(Screen, fails_if_its_scores_are_not_numbers) {
  const RandomNetwork network(kBert, true);
  TemporaryDirectory directory;
  write_head(directory.path(), screen_keys(1, 0.1));
  std::vector<float> weight(2 * kHidden, 3e38F);
  write_checkpoint(
      directory.path() / "model.safetensors",
      {{"classifier.weight", {{2, kHidden}, weight}}, {"classifier.bias", {{2}, {3e38F, 3e38F}}}},
      "F32");
  const auto model = TextModel::open(network.directory(), {.heads = {directory.path()}});
  ASSERT_TRUE(model) << model.error().message;
  const Input input{.text = "a b c d", .screened = true};
  const auto answer = (*model)->answer({&input, 1});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, testing::HasSubstr("are not finite"));
}

TEST(Screen, refuses_values_that_cannot_be) {
  const RandomNetwork network(kBert, true);
  const auto error_of = [&](std::string_view keys, int32_t classes = 2,
                            std::string_view kind = "LinearForSequenceClassification") {
    TemporaryDirectory directory;
    write_head(directory.path(), keys, classes, kind);
    const auto model = TextModel::open(network.directory(), {.heads = {directory.path()}});
    return model ? "opened" : model.error().message;
  };
  using testing::HasSubstr;
  EXPECT_EQ(error_of(screen_keys(2, 0.5)), "opened");
  EXPECT_EQ(error_of(R"("classifier_layers":2)", 5), "opened");  // no screen, but an early head
  EXPECT_THAT(error_of(screen_keys(0, 0.1)), HasSubstr("classifier_layers"));
  EXPECT_THAT(error_of(screen_keys(4, 0.1)), HasSubstr("classifier_layers"));
  EXPECT_THAT(error_of(screen_keys(3, 0.1)), HasSubstr("with classifier_layers below 3"));
  EXPECT_THAT(error_of(R"("classifier_clears_below":0.1)"), HasSubstr("classifier_clears_below"));
  EXPECT_THAT(error_of(screen_keys(1, -0.1)), HasSubstr("classifier_clears_below"));
  EXPECT_THAT(error_of(screen_keys(1, 0.6)), HasSubstr("classifier_clears_below"));
  EXPECT_THAT(error_of(R"("classifier_layers":1,"classifier_clears_below":"low")"),
              HasSubstr("classifier_clears_below"));
  EXPECT_THAT(error_of(screen_keys(1, 0.1), 3), HasSubstr("two classes"));
  EXPECT_THAT(error_of(screen_keys(1, 0.1) + R"(,"problem_type":"multi_label_classification")"),
              HasSubstr("two classes"));
  EXPECT_THAT(error_of(screen_keys(1, 0.1), 2, "LinearForTokenClassification"),
              HasSubstr("two classes"));
}

TEST(Screen, refuses_a_network_with_a_step_after_its_layers) {
  const RandomNetwork network(fmt::format("{{{}}}", small_modern_bert("ModernBertModel")), true);
  const int32_t hidden = TextModel::open(network.directory()).value()->hidden();
  TemporaryDirectory directory;
  std::ofstream(directory.path() / "config.json") << fmt::format(
      R"({{"architectures":["LinearForSequenceClassification"],"hidden_size":{},{}}})", hidden,
      screen_keys(1, 0.1));
  write_checkpoint(directory.path() / "model.safetensors",
                   {{"classifier.weight", {{2, hidden}, std::vector<float>(2 * hidden)}},
                    {"classifier.bias", {{2}, {0, 0}}}},
                   "F32");
  const auto model = TextModel::open(network.directory(), {.heads = {directory.path()}});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, testing::HasSubstr("classifier_layers: 1 of 4 layers"));
}

TEST(Screen, is_the_only_one_of_its_model) {
  const RandomNetwork network(kBert, true);
  TemporaryDirectory directory;
  write_head(directory.path() / "one", screen_keys(1, 0.1));
  write_head(directory.path() / "two", screen_keys(2, 0.1));
  const auto model = TextModel::open(
      network.directory(), {.heads = {directory.path() / "one", directory.path() / "two"}});
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, testing::HasSubstr("the heads one and two both have"));
}

}  // namespace
}  // namespace signalbox::engine
