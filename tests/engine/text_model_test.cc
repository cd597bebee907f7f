// The engine's public interface: a model directory gives vectors, which are compared with the
// network in double precision. Also invalid directories.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "engine/bert_config.h"
#include "engine/engine.h"
#include "tests/engine/tiny_model.h"

namespace signalbox::engine {
namespace {

std::unique_ptr<const TextModel> open(const TinyModel& tiny) {
  auto model = TextModel::open(tiny.directory());
  EXPECT_TRUE(model) << model.error().message;
  return std::move(model).value_or(nullptr);
}

TEST(TextModel, hidden_states_equal_the_network_in_double_precision_for_every_dtype) {
  for (const char* dtype : {"F32", "F16", "BF16"}) {
    const TinyModel tiny(tiny_config(), dtype);
    const auto model = open(tiny);
    for (const std::vector<int32_t>& ids :
         {std::vector<int32_t>{2, 3}, {2, 7, 3}, {2, 36, 0, 5, 5, 9, 30, 11, 3}}) {
      const auto found = model->states(ids);
      ASSERT_TRUE(found) << found.error().message;
      const auto expected = tiny.last_hidden_state(ids);
      ASSERT_EQ(found->last_hidden_state.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found->last_hidden_state[i], expected[i], 5e-5) << dtype;
    }
  }
}

TEST(TextModel, windows_cover_a_text_and_end_between_words) {
  const TinyModel tiny(tiny_config(), "F32");
  const auto model = open(tiny);
  std::string text = "  abc de f ";
  for (int i = 0; i < 30; ++i) text += std::string(1 + i % 5, 'g') + (i % 7 == 0 ? "\n " : " ");
  for (const bool long_word : {false, true}) {
    if (long_word) text += std::string(300, 'h');
    const auto windows = model->windows(text, 16, 5);
    ASSERT_TRUE(windows) << windows.error().message;
    ASSERT_GT(windows->size(), 4u);
    size_t covered = 0;
    for (const std::string_view window : *windows) {
      const auto begin = static_cast<size_t>(window.data() - text.data());
      EXPECT_LE(begin, covered);
      EXPECT_GT(begin + window.size(), covered);
      covered = begin + window.size();
      EXPECT_LE(model->tokens({window}).value(), 16) << window;
      if (!long_word && begin > 0) {
        EXPECT_TRUE(std::isspace(text[begin - 1]) || std::isspace(text[begin])) << window;
      }
    }
    EXPECT_EQ(covered, text.size());
    EXPECT_EQ(windows->front().data(), text.data());
  }
  EXPECT_TRUE(model->windows("", 16, 5).value().empty());
  EXPECT_EQ(model->windows("abc", 16, 5).value(), std::vector<std::string_view>{"abc"});
}

TEST(TextModel, reads_tensors_with_the_prefix_of_models_with_a_head) {
  const TinyModel plain(tiny_config(), "F32"), prefixed(tiny_config(), "F32", "bert.");
  EXPECT_EQ(open(plain)->states(std::vector<int32_t>{2, 9, 3}).value().last_hidden_state,
            open(prefixed)->states(std::vector<int32_t>{2, 9, 3}).value().last_hidden_state);
}

TEST(TextModel, embedding_is_the_normalised_mean_of_the_hidden_states) {
  const TinyModel tiny(tiny_config(), "F32");
  const auto model = open(tiny);
  const std::string_view text = "abc xyz q";
  std::vector<float> found(model->dim());
  ASSERT_TRUE(model->embed({&text, 1}, found));
  const auto ids = model->encode(text).value();
  const auto states = tiny.last_hidden_state(ids);
  std::vector<double> mean(model->dim());
  for (size_t i = 0; i < states.size(); ++i)
    mean[i % mean.size()] += states[i] / static_cast<double>(ids.size());
  double squares = 0;
  for (const double x : mean) squares += x * x;
  for (size_t i = 0; i < mean.size(); ++i)
    EXPECT_NEAR(found[i], mean[i] / std::sqrt(squares), 1e-5);
}

TEST(TextModel, a_batch_gives_each_text_the_bits_it_gets_alone) {
  const TinyModel tiny(tiny_config(), "F16");
  const auto model = open(tiny);
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) {  // more than the tokens of one pass
    texts.push_back(std::string(1 + i % 23, static_cast<char>('a' + i % 26)) + " zz");
  }
  std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<float> together(texts.size() * model->dim()), alone(model->dim());
  ASSERT_TRUE(model->embed(views, together));
  for (size_t i = 0; i < views.size(); ++i) {
    ASSERT_TRUE(model->embed({&views[i], 1}, alone));
    EXPECT_EQ(
        std::memcmp(alone.data(), together.data() + i * alone.size(), alone.size() * sizeof(float)),
        0)
        << i;
  }
}

TEST(TextModel, threads_share_one_model) {
  const TinyModel tiny(tiny_config(), "F32");
  const auto model = open(tiny);
  const std::string_view text = "shared model";
  std::vector<float> expected(model->dim());
  ASSERT_TRUE(model->embed({&text, 1}, expected));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        std::vector<float> out(model->dim());
        ASSERT_TRUE(model->embed({&text, 1}, out));
        EXPECT_EQ(out, expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TextModel, layers_of_albert_belong_to_the_groups_of_the_reference) {
  const auto order = [](const char* config) {
    return read_albert(weights::HfConfig::parse(config, "config.json").value().root())
        .value()
        .order;
  };
  EXPECT_EQ(order(R"({"num_hidden_layers":7,"num_hidden_groups":3})"),
            (std::vector<int32_t>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(order(R"({"num_hidden_layers":18,"num_hidden_groups":14})"),
            (std::vector<int32_t>{0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 10, 10, 11, 12, 13}));
}

TEST(TextModel, a_text_over_the_limit_is_cut_on_the_right) {
  const TinyModel tiny(tiny_config(), "F32");
  const auto model = open(tiny);
  EXPECT_EQ(model->tokens_max(), 24);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a ";
  const auto ids = model->encode(text).value();
  EXPECT_EQ(ids.size(), 24u);
  EXPECT_EQ(ids.back(), 3);
  const std::string_view view = text;
  std::vector<float> out(model->dim());
  EXPECT_TRUE(model->embed({&view, 1}, out));
}

TEST(TextModel, a_text_or_pair_is_cut_from_the_first_token_over_the_limit) {
  const TinyModel tiny(tiny_config(), "F32");
  const auto model = open(tiny);
  const auto words = [](int32_t count) {
    std::string out;
    for (int32_t i = 0; i < count; ++i) out += "a ";
    return out;
  };
  const std::string longest = words(1'000'000);
  for (int32_t count = 0; count < 40; ++count) {
    const std::string text = words(count), other = words(10), one = words(1);
    EXPECT_EQ(model->is_cut({.text = text}).value(), count + 2 > 24) << count;
    EXPECT_EQ(model->is_cut({.text = text, .pair = other}).value(), count + 13 > 24) << count;
    EXPECT_EQ(model->is_cut({.text = one, .pair = text}).value(), count + 4 > 24) << count;
    EXPECT_TRUE(model->is_cut({.text = text, .pair = longest}).value()) << count;
  }
}

TEST(TextModel, an_empty_call_and_an_empty_text_are_fine_and_no_ids_are_not) {
  const TinyModel tiny(tiny_config(), "F32");
  const auto model = open(tiny);
  EXPECT_TRUE(model->embed({}, {}));
  EXPECT_TRUE(!model->states({}));
  const std::string_view text;
  std::vector<float> out(model->dim());
  EXPECT_TRUE(model->embed({&text, 1}, out));
}

TEST(TextModel, refuses_ids_and_lengths_out_of_range) {
  const TinyModel tiny(tiny_config(), "F32");
  const auto model = open(tiny);
  EXPECT_EQ(model->states(std::vector<int32_t>{2, 37, 3}).error().message,
            "id 37 is outside the vocabulary of 37");
  EXPECT_EQ(model->states(std::vector<int32_t>{-1}).error().code, Code::kInvalid);
  EXPECT_EQ(model->states(std::vector<int32_t>(25, 2)).error().message,
            "25 ids, the model takes at most 24");
}

// Replaces text in a file of the directory.
void edit(const TinyModel& tiny, const char* file, const std::string& from, const std::string& to) {
  const auto path = tiny.directory() / file;
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  std::ofstream(path, std::ios::binary) << text;
}

std::string open_error(const TinyModel& tiny) {
  const auto model = TextModel::open(tiny.directory());
  return model ? "" : model.error().message;
}

TEST(TextModel, refuses_unsupported_values_by_name) {
  const struct {
    const char *from, *to, *message;
  } cases[] = {
      {R"("model_type":"bert")", R"("model_type":"gpt2")",
       R"(model_type: "gpt2" is not supported (supported: albert, bert, )"},
      {R"("hidden_act":"gelu")", R"("hidden_act":"mish")",
       R"(hidden_act: "mish" is not supported (supported: gelu, gelu_new, )"},
      {R"("model_type":"bert")", R"("model_type":"bert","position_embedding_type":"relative_key")",
       R"(position_embedding_type: "relative_key" is not supported (supported: "absolute"))"},
      {R"("model_type":"bert")", R"("model_type":"bert","is_decoder":true)",
       "is_decoder: true is not supported"},
      {R"("num_attention_heads":3)", R"("num_attention_heads":5)",
       "hidden_size 36 is not a multiple of num_attention_heads 5"},
      {R"("num_hidden_layers":3)", R"("num_hidden_layers":4)",
       R"(tensor "encoder.layer.3.attention.self.query.weight" is missing, expected shape [36, 36])"},
      {R"("intermediate_size":50)", R"("intermediate_size":51)",
       R"(tensor "encoder.layer.0.intermediate.dense.weight" has shape [50, 36], expected [51, 36])"},
      {R"("vocab_size":37)", R"("vocab_size":36)",
       R"(tensor "embeddings.word_embeddings.weight" has shape [37, 36], expected [36, 36])"},
  };
  for (const auto& [from, to, message] : cases) {
    const TinyModel tiny(tiny_config(), "F32");
    edit(tiny, "config.json", from, to);
    EXPECT_NE(open_error(tiny).find(message), std::string::npos) << open_error(tiny);
    EXPECT_NE(open_error(tiny).find(tiny.directory().string()), std::string::npos);
  }
}

TEST(TextModel, refuses_a_tokenizer_with_more_ids_than_the_network) {
  const TinyModel tiny(tiny_config(), "F32");
  edit(tiny, "tokenizer.json", R"("##g":36)", R"("##g":36,"zz":37)");
  EXPECT_EQ(open_error(tiny), tiny.directory().string() +
                                  ": the tokenizer has 38 ids, config.json's vocab_size is 37");
}

TEST(TextModel, names_a_missing_file) {
  for (const char* file : {"config.json", "model.safetensors"}) {
    const TinyModel tiny(tiny_config(), "F32");
    std::filesystem::remove(tiny.directory() / file);
    EXPECT_EQ(open_error(tiny), (tiny.directory() / file).string() + ": No such file or directory");
  }
}

TEST(TextModel, reads_ids_without_a_tokenizer_and_refuses_text) {
  const TinyModel tiny(tiny_config(), "F32");
  std::filesystem::remove(tiny.directory() / "tokenizer.json");
  const auto model = open(tiny);
  EXPECT_TRUE(model->states(std::vector<int32_t>{2, 9, 3}));
  const std::string_view text = "abc";
  std::vector<float> out(model->dim());
  const auto embedded = model->embed({&text, 1}, out);
  ASSERT_FALSE(embedded);
  EXPECT_EQ(embedded.error().message,
            (tiny.directory() / "tokenizer.json").string() +
                ": missing from the model directory, so the model takes ids but no text; "
                "`signalbox convert` makes it from a vocabulary");
}

}  // namespace
}  // namespace signalbox::engine
