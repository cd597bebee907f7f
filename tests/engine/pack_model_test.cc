// Packed files: weights packed once and mapped give the same answers, bit for bit, as weights
// packed at every opening. Also invalid packed files.

#include "engine/pack_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/model_memory.h"
#include "kernels/kernels.h"
#include "tests/engine/random_network.h"
#include "tests/engine/tiny_model.h"
#include "weights/safetensors_writer.h"

namespace signalbox::engine {
namespace {

namespace fs = std::filesystem;

// A directory with the weights of `from` in packed form.
class PackedDirectory {
 public:
  PackedDirectory(const fs::path& from, Precision precision) {
    fs::copy_file(from / "config.json", path() / "config.json");
    const auto packed = pack_model(from, {.precision = precision, .error_max = 10});
    EXPECT_TRUE(packed) << packed.error().message;
    if (!packed) return;
    matrices_ = packed->matrices.size();
    EXPECT_TRUE(
        weights::write_safetensors(path() / "model.safetensors", packed->tensors.tensors()));
  }
  const fs::path& path() const { return directory_.path(); }
  size_t matrices() const { return matrices_; }

 private:
  TemporaryDirectory directory_;
  size_t matrices_ = 0;
};

// The sizes are not multiples of any block size. The token table is in 16 bits already.
const std::string kModernBert =
    fmt::format("{{{}}}", small_modern_bert("ModernBertForSequenceClassification"));

const char* const kDeberta =
    R"({"model_type":"deberta-v2",)"
    R"("architectures":["DebertaV2ForSequenceClassification"],"vocab_size":56,"hidden_size":48,)"
    R"("intermediate_size":40,"num_hidden_layers":2,"num_attention_heads":3,)"
    R"("relative_attention":true,"position_buckets":4,"share_att_key":false,"conv_kernel_size":3,)"
    R"("pos_att_type":"c2p|p2c","position_biased_input":false,"num_labels":5})";

void expect_same(const fs::path& plain, const fs::path& packed, Precision precision) {
  const auto expected = TextModel::open(plain, {.precision = precision});
  const auto found = TextModel::open(packed);  // the file defines its format
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(memory_bytes_of(**expected), memory_bytes_of(**found)) << "mapped or not";
  for (const int32_t tokens : {1, 7, 12}) {
    std::vector<int32_t> ids(tokens);
    for (int32_t i = 0; i < tokens; ++i) ids[i] = i * 7 % (*expected)->vocabulary();
    const auto a = (*expected)->states(ids), b = (*found)->states(ids);
    ASSERT_TRUE(a) << a.error().message;
    ASSERT_TRUE(b) << b.error().message;
    EXPECT_EQ(a->last_hidden_state, b->last_hidden_state) << tokens;
    EXPECT_EQ(a->logits, b->logits) << tokens;
  }
}

TEST(PackModel, answers_like_the_unpacked_model_in_every_precision) {
  const RandomNetwork modern(kModernBert, false, "BF16");
  const RandomNetwork deberta(kDeberta, false, "BF16");
  const TinyModel bert(tiny_config(), "BF16");
  for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kI8}) {
    for (const fs::path& plain : {modern.directory(), deberta.directory(), bert.directory()}) {
      const PackedDirectory packed(plain, precision);
      EXPECT_GT(packed.matrices(), 0u);
      expect_same(plain, packed.path(), precision);
    }
  }
}

TEST(PackModel, takes_the_memory_of_its_bits) {
  const RandomNetwork network(kModernBert);
  const auto bytes = [&](Precision precision) {
    const auto model = TextModel::open(network.directory(), {.precision = precision});
    EXPECT_TRUE(model) << model.error().message;
    return memory_bytes_of(**model);
  };
  EXPECT_GT(bytes(Precision::kF32), bytes(Precision::kBF16));
  EXPECT_GT(bytes(Precision::kBF16), bytes(Precision::kI8));
  EXPECT_GT(bytes(Precision::kI8), 0U);
}

TEST(PackModel, reports_the_error_of_each_packed_matrix) {
  const RandomNetwork network(kModernBert);
  const auto exact = pack_model(network.directory(), {.precision = Precision::kF32});
  const auto eight = pack_model(network.directory(), {.precision = Precision::kI8});
  ASSERT_TRUE(exact && eight);
  for (const PackedMatrix& matrix : exact->matrices) EXPECT_EQ(matrix.error, 0) << matrix.name;
  for (const PackedMatrix& matrix : eight->matrices) {
    EXPECT_GT(matrix.error, 1e-3) << matrix.name;
    EXPECT_LT(matrix.error, 2e-2) << matrix.name;
  }
}

// One input of a layer is a thousand times the others, and its weights a thousandth. The network is
// the same, but 8 bits lose most of it.
TEST(PackModel, holds_the_layers_wide_that_8_bits_would_spoil) {
  const RandomNetwork network(kModernBert);
  Checkpoint spoilt = network.tensors();
  for (auto& [name, tensor] : spoilt) {
    if (name.ends_with("layers.2.mlp_norm.weight")) tensor.values[5] *= 1000;
    if (!name.ends_with("layers.2.mlp.Wi.weight")) continue;
    for (size_t at = 5; at < tensor.values.size(); at += tensor.shape[1]) tensor.values[at] /= 1000;
  }
  network.write(spoilt);
  const auto all = pack_model(network.directory(), {.precision = Precision::kI8, .error_max = 10});
  const auto mixed = pack_model(network.directory(), {.precision = Precision::kI8});
  ASSERT_TRUE(all && mixed);
  EXPECT_TRUE(all->wide_layers.empty());
  EXPECT_GT(all->error, 0.1);
  EXPECT_EQ(mixed->wide_layers.front(), 2);
  EXPECT_LT(mixed->error, all->error / 2);
  const auto is_wide = [](const PackedMatrix& matrix) {
    return matrix.format == kernels::Format::kBF16;
  };
  EXPECT_EQ(std::ranges::count_if(mixed->matrices, is_wide),
            4 * static_cast<int64_t>(mixed->wide_layers.size()));
}

TEST(PackModel, refuses_a_model_that_is_packed_already) {
  const RandomNetwork network(kModernBert);
  const PackedDirectory packed(network.directory(), Precision::kI8);
  const auto again = pack_model(packed.path(), {.precision = Precision::kI8});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("its matrices are packed already"), std::string::npos);
}

// A head stored in 8 bits, which none of our commands writes.
TEST(PackModel, a_packed_head_answers) {
  const RandomNetwork network(kModernBert);
  const auto plain = TextModel::open(network.directory());
  ASSERT_TRUE(plain);
  auto packed = pack_model(network.directory(), {.precision = Precision::kF32});
  ASSERT_TRUE(packed);
  const TestTensor& w = network.tensors().at("classifier.weight");  // (classes, hidden)
  const auto out = static_cast<int32_t>(w.shape[0]), in = static_cast<int32_t>(w.shape[1]);
  std::vector<std::byte> bytes(kernels::packed_linear_bytes(kernels::Format::kI8, in, out));
  kernels::pack_linear(kernels::Format::kI8, in, out, w.values.data(), bytes.data());
  const auto size = static_cast<int64_t>(bytes.size());
  ASSERT_TRUE(packed->tensors.add("classifier.packed_int8", weights::Dtype::kU8, {size}, bytes));
  const TemporaryDirectory directory;
  fs::copy_file(network.directory() / "config.json", directory.path() / "config.json");
  const auto file = directory.path() / "model.safetensors";
  ASSERT_TRUE(weights::write_safetensors(file, packed->tensors.tensors()));
  const auto model = TextModel::open(directory.path());
  ASSERT_TRUE(model) << model.error().message;
  const auto a = (*plain)->states(std::vector<int32_t>{1, 2, 3});
  const auto b = (*model)->states(std::vector<int32_t>{1, 2, 3});
  ASSERT_TRUE(a && b);
  for (size_t i = 0; i < a->logits[0].size(); ++i)
    EXPECT_NEAR(a->logits[0][i], b->logits[0][i], 0.05);
}

TEST(PackModel, weights_that_are_not_numbers_are_refused_by_name) {
  const RandomNetwork network(kModernBert);
  Checkpoint spoilt = network.tensors();
  for (auto& [name, tensor] : spoilt) {
    if (name.ends_with("layers.1.attn.Wo.weight")) tensor.values[7] = NAN;
  }
  network.write(spoilt);
  for (const Precision precision : {Precision::kF32, Precision::kI8}) {
    const auto model = TextModel::open(network.directory(), {.precision = precision});
    ASSERT_FALSE(model);
    EXPECT_NE(model.error().message.find("layers.1.attn.Wo.weight\": value 7 is not finite"),
              std::string::npos)
        << model.error().message;
  }
}

TEST(PackModel, refuses_a_packed_matrix_of_another_size) {
  const RandomNetwork network(kModernBert);
  auto packed = pack_model(network.directory(), {.precision = Precision::kI8});
  ASSERT_TRUE(packed);
  const TemporaryDirectory directory;
  fs::copy_file(network.directory() / "config.json", directory.path() / "config.json");
  weights::TensorList changed;
  for (const weights::Tensor& tensor : packed->tensors.tensors()) {
    const bool cut = tensor.name.ends_with("layers.1.mlp.Wi.packed_int8");
    const auto bytes = cut ? tensor.bytes.first(tensor.bytes.size() - 64) : tensor.bytes;
    weights::Shape shape(tensor.shape.begin(), tensor.shape.end());
    if (cut) shape = {static_cast<int64_t>(bytes.size())};
    ASSERT_TRUE(changed.add(std::string(tensor.name), tensor.dtype, shape, bytes));
  }
  ASSERT_TRUE(
      weights::write_safetensors(directory.path() / "model.safetensors", changed.tensors()));
  const auto model = TextModel::open(directory.path());
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kCorrupt);
  EXPECT_NE(model.error().message.find("layers.1.mlp.Wi.packed_int8"), std::string::npos)
      << model.error().message;
}

}  // namespace
}  // namespace signalbox::engine
