// Language models as embedders, compared with Hugging Face's own modelling code, and the steps from
// hidden states to an embedding. The comparison skips with a message if the shared material is
// missing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "engine/engine.h"
#include "engine/heads.h"
#include "kernels/kernels.h"
#include "tests/engine/random_network.h"
#include "weights/safetensors.h"

namespace signalbox::engine {
namespace {

constexpr int kCasesOfFolder = 5;  // in each folder

double cosine_of(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return dot / std::sqrt(aa * bb);
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY, largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, std::abs(double{a[i]} - b[i]));
    largest = std::max(largest, std::abs(double{a[i]}));
  }
  return worst / largest;
}

class DecoderGoldens : public testing::TestWithParam<std::pair<const char*, Pooling>> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << folder_ << " does not exist";
    if (!kernels::active_table()) GTEST_SKIP() << kernels::active_table().error().message;
    auto expected = weights::SafeTensors::open(folder_ / "expected.safetensors");
    ASSERT_TRUE(expected) << expected.error().message;
    expected_ = *std::move(expected);
  }

  const weights::Tensor& tensor(int number, const char* name) const {
    const std::string full = fmt::format("{}.{}", number, name);
    return *std::ranges::find(expected_.tensors(), full, &weights::Tensor::name);
  }
  std::vector<int32_t> ids(int number) const {
    const weights::Tensor& from = tensor(number, "input_ids");
    std::vector<int64_t> wide(from.size());
    std::memcpy(wide.data(), from.bytes.data(), from.bytes.size());
    return {wide.begin(), wide.end()};
  }
  std::vector<float> floats(int number, const char* name) const {
    std::vector<float> out(tensor(number, name).size());
    widen(tensor(number, name), 0, *kernels::active_table().value(), out);
    return out;
  }
  std::vector<float> embedding(const std::vector<float>& hidden, int32_t width) const {
    const kernels::Table& kernels = *kernels::active_table().value();
    std::vector<float> out(width);
    pool(kernels, GetParam().second, static_cast<int32_t>(hidden.size() / width), width,
         hidden.data(), out.data());
    kernels.l2_normalize(width, out.data());
    return out;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "../shared/goldens" / GetParam().first;
  weights::SafeTensors expected_;
};

TEST_P(DecoderGoldens, hidden_states_and_embeddings_are_those_of_hugging_face) {
  const auto model = TextModel::open(folder_);
  ASSERT_TRUE(model) << model.error().message;
  for (int i = 0; i < kCasesOfFolder; ++i) {
    const auto found = (*model)->states(ids(i));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_LE(largest_difference(floats(i, "last_hidden_state"), found->last_hidden_state), 1e-4);
    EXPECT_LE(largest_difference(floats(i, "embedding"),
                                 embedding(found->last_hidden_state, (*model)->hidden())),
              1e-4);
  }
}

TEST_P(DecoderGoldens, results_in_fewer_bits_are_near_the_goldens) {
  for (const auto& [precision, cosine_min] :
       {std::pair{Precision::kBF16, 0.999}, {Precision::kI8, 0.98}}) {
    const auto model = TextModel::open(folder_, {.precision = precision});
    ASSERT_TRUE(model) << model.error().message;
    double least = 1, least_pooled = 1;
    for (int i = 0; i < kCasesOfFolder; ++i) {
      const auto found = (*model)->states(ids(i));
      ASSERT_TRUE(found) << found.error().message;
      const double all = cosine_of(floats(i, "last_hidden_state"), found->last_hidden_state);
      const double pooled = cosine_of(floats(i, "embedding"),
                                      embedding(found->last_hidden_state, (*model)->hidden()));
      EXPECT_GE(all, cosine_min) << i;
      EXPECT_GE(pooled, cosine_min) << i;
      least = std::min(least, all);
      least_pooled = std::min(least_pooled, pooled);
    }
    std::printf("%s %s: hidden %.6f, embedding %.6f\n", folder_.filename().c_str(),
                precision == Precision::kI8 ? "int8" : "bf16", 1 - least, 1 - least_pooled);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DecoderGoldens,
                         testing::Values(std::pair{"qwen3-embed", Pooling::kLast},
                                         std::pair{"gemma3-embed", Pooling::kMean}),
                         [](const auto& family) {
                           return std::string(family.param.first,
                                              std::strchr(family.param.first, '-'));
                         });

constexpr const char* kSmallQwen =
    R"({"model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"vocab_size":56,)"
    R"("hidden_size":24,"intermediate_size":20,"num_hidden_layers":2,"num_attention_heads":4,)"
    R"("num_key_value_heads":2,"head_dim":8,"max_position_embeddings":64})";

class EmbeddingSteps : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) const {
    const auto path = network_.directory() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  std::vector<float> embed(const EmbedOptions& options = {}) const {
    const auto model = TextModel::open(network_.directory());
    EXPECT_TRUE(model) << model.error().message;
    std::vector<float> out(options.dim != 0 ? options.dim : (*model)->dim());
    EXPECT_TRUE((*model)->embed({&text_, 1}, options, out));
    return out;
  }
  // Writes a dense layer without bias and returns its weights.
  TestTensor write_layer(const std::string& folder, int64_t in, int64_t out,
                         const char* activation = "torch.nn.modules.linear.Identity") const {
    write(folder + "/config.json", fmt::format(R"({{"in_features":{},"out_features":{},)"
                                               R"("bias":false,"activation_function":"{}"}})",
                                               in, out, activation));
    TestTensor w{{out, in}, {}};
    for (int64_t i = 0; i < in * out; ++i)
      w.values.push_back(coarse(std::sin(static_cast<float>(i + in))));
    write_checkpoint(network_.directory() / folder / "model.safetensors", {{"linear.weight", w}},
                     "F32");
    return w;
  }
  // The pooled vector through y = x w^T, normalised.
  static std::vector<float> projected(const std::vector<double>& x, const TestTensor& w) {
    std::vector<double> y(w.shape[0]);
    double squares = 0;
    for (size_t o = 0; o < y.size(); ++o) {
      for (size_t i = 0; i < x.size(); ++i) y[o] += x[i] * w.values[o * x.size() + i];
      squares += y[o] * y[o];
    }
    std::vector<float> out;
    for (const double value : y) out.push_back(static_cast<float>(value / std::sqrt(squares)));
    return out;
  }

  const std::string_view text_ = "a small text";
  const RandomNetwork network_{kSmallQwen, true};
};

TEST_F(EmbeddingSteps, a_mode_of_pooling_may_be_named) {
  write("1_Pooling/config.json",
        R"({"word_embedding_dimension":24,"pooling_mode_mean_tokens":true,"pooling_mode":"Max"})");
  EXPECT_EQ(embed(), embed({.pooling = Pooling::kMax}));
  EXPECT_NE(embed(), embed({.pooling = Pooling::kMean}));
}

// The activation makes the length of the vector count.
TEST_F(EmbeddingSteps, a_normalisation_before_a_dense_layer_is_done) {
  const TestTensor w = write_layer("3_Dense", 24, 40, "torch.nn.modules.activation.Tanh");
  const auto module = [](const char* kind, const char* path) {
    return fmt::format(R"({{"type":"sentence_transformers.models.{}","path":"{}"}})", kind, path);
  };
  write("1_Pooling/config.json",
        R"({"word_embedding_dimension":24,"pooling_mode_lasttoken":true})");
  write("modules.json",
        fmt::format("[{},{},{},{}]", module("Transformer", ""), module("Pooling", "1_Pooling"),
                    module("Normalize", "2_Normalize"), module("Dense", "3_Dense")));
  const auto model = TextModel::open(network_.directory());
  ASSERT_TRUE(model) << model.error().message;
  const auto states = network_.reference((*model)->encode(text_).value()).hidden;
  const std::vector<double> last(states.end() - 24, states.end());
  const double length = std::sqrt(std::inner_product(last.begin(), last.end(), last.begin(), 0.0));
  std::vector<float> expected(40);
  double squares = 0;
  for (size_t o = 0; o < expected.size(); ++o) {
    double sum = 0;
    for (size_t i = 0; i < last.size(); ++i) sum += last[i] / length * w.values[o * 24 + i];
    expected[o] = static_cast<float>(std::tanh(sum));
    squares += std::tanh(sum) * std::tanh(sum);
  }
  for (float& value : expected) value /= static_cast<float>(std::sqrt(squares));
  EXPECT_LE(largest_difference(expected, embed()), 1e-4);
}

TEST_F(EmbeddingSteps, a_causal_network_is_pooled_by_its_last_token) {
  EXPECT_EQ(embed(), embed({.pooling = Pooling::kLast}));
  EXPECT_NE(embed(), embed({.pooling = Pooling::kMean}));
}

TEST_F(EmbeddingSteps, a_pooling_directory_is_read_without_a_list_of_modules) {
  write("1_Pooling/config.json",
        R"({"word_embedding_dimension":24,"pooling_mode_max_tokens":true})");
  EXPECT_EQ(embed(), embed({.pooling = Pooling::kMax}));
  EXPECT_NE(embed(), embed({.pooling = Pooling::kMean}));
}

TEST_F(EmbeddingSteps, max_pooling_takes_the_largest_value_of_each_dimension) {
  const auto model = TextModel::open(network_.directory());
  ASSERT_TRUE(model);
  const auto states = network_.reference((*model)->encode(text_).value()).hidden;
  std::vector<double> most(24, -INFINITY);
  for (size_t i = 0; i < states.size(); ++i) most[i % 24] = std::max(most[i % 24], states[i]);
  TestTensor identity{{24, 24}, std::vector<float>(24 * 24)};
  for (size_t i = 0; i < 24; ++i) identity.values[i * 25] = 1;
  EXPECT_LE(largest_difference(projected(most, identity), embed({.pooling = Pooling::kMax})), 1e-4);
}

TEST_F(EmbeddingSteps, dense_layers_follow_the_pooling) {
  const TestTensor first = write_layer("2_Dense", 24, 40), second = write_layer("3_Dense", 40, 24);
  const auto model = TextModel::open(network_.directory());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->dim(), 24);
  EXPECT_EQ((*model)->hidden(), 24);
  const auto states = network_.reference((*model)->encode(text_).value()).hidden;
  std::vector<double> middle(40);
  for (size_t o = 0; o < 40; ++o)
    for (size_t i = 0; i < 24; ++i)
      middle[o] += states[states.size() - 24 + i] * first.values[o * 24 + i];
  EXPECT_LE(largest_difference(projected(middle, second), embed()), 1e-4);
  std::filesystem::remove_all(network_.directory() / "3_Dense");
  EXPECT_EQ(embed().size(), 40u);
  EXPECT_EQ(embed({.dim = 30}).size(), 30u);  // up to the new width, which is above hidden()
}

}  // namespace
}  // namespace signalbox::engine
