// Every entry of every tier that this processor supports, compared with the double-precision
// reference, with buffers that end at an unmapped page.

#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/ref/ref.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/guarded.h"

namespace signalbox::kernels {
namespace {

std::vector<float> normal(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> out(n);
  for (float& x : out) x = distribution(random);
  return out;
}

double largest_error(const ref::Vector& expected, Guarded<float>& found) {
  double worst = expected.size() == found.size() ? 0 : INFINITY;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(expected[i] - found[i]);
    worst = error <= worst ? worst : error;  // NaN propagates
  }
  return worst;
}

ref::Vector widened(const std::vector<float>& x) {
  return {x.begin(), x.end()};
}

class Kernels : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const auto table = table_of(GetParam());
    if (!table) GTEST_SKIP() << table.error().message;
    table_ = *table;
  }
  void attend(const AttentionShape& shape, const float* qkv, float* scratch, float* out) const {
    for (int32_t head = 0; head < shape.heads; ++head)
      table_->attention(shape, head, qkv, nullptr, scratch, out);
  }

  const Table* table_ = nullptr;
};

TEST_P(Kernels, names_its_tier_and_fills_every_entry) {
  EXPECT_EQ(table_->tier, GetParam());
  const auto* bytes = reinterpret_cast<const std::byte*>(table_);
  for (size_t at = sizeof(std::string_view); at < sizeof(Table); at += sizeof(void*)) {
    void* entry;
    std::memcpy(&entry, bytes + at, sizeof entry);
    EXPECT_NE(entry, nullptr) << "entry at byte " << at;
  }
}

TEST_P(Kernels, quantized_rows_are_within_half_a_scale_and_the_same_on_every_tier) {
  const Table& base = **table_of("base");
  for (const auto& [rows, cols] : kMatrixCases) {
    auto x = normal(rows * cols, 8);
    if (rows > 1) std::fill_n(x.begin(), cols, 0.0f);  // a row of zeros
    const int64_t stride = quantized_row_bytes(cols);
    Guarded<float> gx(x), scales(rows), base_scales(rows);
    Guarded<uint8_t> q(rows * stride), base_q(rows * stride);
    table_->quantize_rows(rows, cols, gx.data(), q.data(), scales.data());
    base.quantize_rows(rows, cols, gx.data(), base_q.data(), base_scales.data());
    ASSERT_EQ(std::memcmp(q.data(), base_q.data(), rows * stride), 0) << rows << " " << cols;
    for (int64_t r = 0; r < rows; ++r) {
      ASSERT_EQ(scales[r], base_scales[r]);
      for (int64_t c = 0; c < cols; ++c) {
        const double value = (q[r * stride + c] - 128) * static_cast<double>(scales[r]);
        ASSERT_LE(std::abs(value - x[r * cols + c]), 0.5001 * scales[r]) << r << " " << c;
      }
      for (int64_t c = cols; c < stride; ++c) ASSERT_EQ(q[r * stride + c], 128);
    }
  }
}

TEST_P(Kernels, gelu_keeps_its_limits) {
  Guarded<float> x(std::vector<float>{-1e30f, -40.0f, 0.0f, 40.0f, 1e30f});
  table_->gelu(5, x.data());
  EXPECT_EQ(x[1], 0.0f);
  EXPECT_EQ(x[2], 0.0f);
  EXPECT_EQ(x[3], 40.0f);
  EXPECT_EQ(x[4], 1e30f);
}

TEST_P(Kernels, layer_norm) {
  for (const auto& [rows, cols] : kMatrixCases) {
    if (cols < 2) continue;  // a row with one value has no variance
    const auto x = normal(rows * cols, 5);
    const auto gamma = normal(cols, 8), beta = normal(cols, 9);
    Guarded<float> y(rows * cols), gx(x), ggamma(gamma), gbeta(beta);
    const float eps = 1e-5f;
    table_->layer_norm(rows, cols, ggamma.data(), gbeta.data(), eps, gx.data(), y.data());
    EXPECT_LE(
        largest_error(ref::layer_norm(rows, cols, gamma.data(), beta.data(), eps, widened(x)), y),
        kNormBound)
        << cols;
  }
}

TEST_P(Kernels, attention) {
  for (const AttentionShape& shape : kAttentionCases) {
    const auto qkv = normal(shape.tokens * shape.qkv_width(), 10);
    Guarded<float> gqkv(qkv), scratch(attention_scratch(shape));
    Guarded<float> out(static_cast<size_t>(shape.tokens) * shape.heads * shape.head_dim);
    attend(shape, gqkv.data(), scratch.data(), out.data());
    EXPECT_LE(largest_error(ref::attention(shape, qkv.data()), out), kAttentionBound)
        << shape.tokens << " " << shape.heads << " " << shape.head_dim << " " << shape.window;
  }
}

TEST_P(Kernels, attention_in_integers) {
  for (const AttentionShape& shape : kAttentionCases) {
    const auto qkv = normal(shape.tokens * shape.qkv_width(), 10);
    Guarded<float> gqkv(qkv), out(static_cast<size_t>(shape.tokens) * shape.heads * shape.head_dim);
    Guarded<char> scratch(attention_i16_scratch(shape));
    for (int32_t head = 0; head < shape.heads; ++head)
      table_->attention_i16(shape, head, gqkv.data(), nullptr, scratch.data(), out.data());
    EXPECT_LE(largest_error(ref::attention(shape, qkv.data()), out), kAttentionI16Bound)
        << shape.tokens << " " << shape.heads << " " << shape.head_dim << " " << shape.window;
  }
}

TEST_P(Kernels, keys_out_of_the_window_do_not_touch_a_query) {
  const AttentionShape shape{200, 1, 16, 20};
  auto qkv = normal(size_t{200} * 3 * 16, 20);
  std::vector<float> scratch(attention_scratch(shape)), before(200 * 16), after(200 * 16);
  attend(shape, qkv.data(), scratch.data(), before.data());
  for (size_t i = 0; i < 16; ++i) qkv[(100 * 3 + 1) * 16 + i] = qkv[(100 * 3 + 2) * 16 + i] = 1e30f;
  attend(shape, qkv.data(), scratch.data(), after.data());
  for (const int64_t token : {0, 79, 121, 199}) {
    EXPECT_EQ(std::memcmp(&before[token * 16], &after[token * 16], 16 * sizeof(float)), 0) << token;
  }
  EXPECT_NE(before[80 * 16], after[80 * 16]);
}

TEST_P(Kernels, a_window_over_the_whole_sequence_changes_nothing) {
  const AttentionShape plain{150, 2, 24}, wide{150, 2, 24, 149};
  const auto qkv = normal(size_t{150} * 3 * 48, 21);
  std::vector<float> scratch(attention_scratch(plain)), a(150 * 48), b(150 * 48);
  attend(plain, qkv.data(), scratch.data(), a.data());
  attend(wide, qkv.data(), scratch.data(), b.data());
  EXPECT_EQ(a, b);
}

TEST_P(Kernels, rope) {
  for (const AttentionShape& shape : kRopeCases) {
    const auto qkv = normal(shape.tokens * shape.qkv_width(), 22);
    const auto rotations = normal(size_t{1} * shape.tokens * shape.head_dim, 23);
    Guarded<float> found(qkv), table(rotations);
    table_->rope(shape, table.data(), found.data());
    EXPECT_LE(largest_error(ref::rope(shape, rotations.data(), qkv.data()), found),
              kElementwiseBound)
        << shape.head_dim;
  }
}

TEST_P(Kernels, rms_norm) {
  for (const auto& [rows, cols] : kMatrixCases) {
    const auto x = normal(rows * cols, 5), gamma = normal(cols, 8);
    Guarded<float> y(rows * cols), gx(x), ggamma(gamma);
    const float eps = 1e-6f;
    table_->rms_norm(rows, cols, ggamma.data(), eps, gx.data(), y.data());
    EXPECT_LE(largest_error(ref::rms_norm(rows, cols, gamma.data(), eps, widened(x)), y),
              kNormBound)
        << cols;
    table_->rms_norm(rows, cols, ggamma.data(), eps, gx.data(), gx.data());  // in place
    for (size_t i = 0; i < gx.size(); ++i) ASSERT_EQ(gx[i], y[i]);
  }
}

TEST_P(Kernels, later_keys_do_not_touch_a_causal_query) {
  const AttentionShape shape{200, 2, 16, kNoWindow, 1, true};
  auto qkv = normal(shape.tokens * shape.qkv_width(), 20);
  std::vector<float> scratch(attention_scratch(shape)), before(200 * 32), after(200 * 32);
  attend(shape, qkv.data(), scratch.data(), before.data());
  for (size_t i = 0; i < 32; ++i) qkv[100 * 64 + 32 + i] = 1e30f;  // key and value of token 100
  attend(shape, qkv.data(), scratch.data(), after.data());
  EXPECT_EQ(std::memcmp(before.data(), after.data(), 100 * 32 * sizeof(float)), 0);
  EXPECT_NE(before[100 * 32], after[100 * 32]);
}

TEST_P(Kernels, activations) {
  for (const auto& [rows, cols] : kMatrixCases) {
    auto x = normal(rows * cols, 25);
    for (float& v : x) v *= 5;
    Guarded<float> tangent(x), positive(x), gelu(x), with_tanh(x);
    table_->gelu(rows * cols, gelu.data());
    EXPECT_LE(largest_error(ref::gelu(widened(x)), gelu), kElementwiseBound) << cols;
    table_->gelu_tanh(rows * cols, with_tanh.data());
    EXPECT_LE(largest_error(ref::gelu_tanh(widened(x)), with_tanh), kElementwiseBound) << cols;
    table_->tanh(rows * cols, tangent.data());
    table_->relu(rows * cols, positive.data());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(tangent[i], std::tanh(static_cast<double>(x[i])), kElementwiseBound) << x[i];
      EXPECT_EQ(positive[i], x[i] > 0 ? x[i] : 0.0f);
    }
  }
}

TEST_P(Kernels, attention_survives_scores_of_any_size) {
  const AttentionShape shape{7, 1, 8};
  auto qkv = normal(7 * 3 * 8, 11);
  for (float& x : qkv) x *= 1000;
  Guarded<float> gqkv(qkv), scratch(attention_scratch(shape)), out(7 * 8);
  attend(shape, gqkv.data(), scratch.data(), out.data());
  const auto expected = ref::attention(shape, qkv.data());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(out[i], expected[i], 0.01);
}

TEST_P(Kernels, dot_products_of_bytes_are_exact) {
  constexpr int32_t kRows = 11;
  for (const int32_t cols : {1, 3, 15, 16, 31, 63, 64, 65, 100, 128, 384, 1000, 32768}) {
    std::mt19937 random(31);
    Guarded<uint8_t> q(cols);
    std::vector<std::unique_ptr<Guarded<uint8_t>>> rows;
    for (int32_t i = 0; i < cols; ++i) q[i] = static_cast<uint8_t>(1 + random() % 255);
    for (int32_t r = 0; r < kRows; ++r) {
      rows.push_back(std::make_unique<Guarded<uint8_t>>(cols));
      for (int32_t i = 0; i < cols; ++i) (*rows[r])[i] = static_cast<uint8_t>(random());
    }
    if (cols == 32768) std::fill_n(q.data(), cols, uint8_t{255});
    std::fill_n(rows[0]->data(), cols, uint8_t{255});  // the largest sums of either sign
    std::fill_n(rows[1]->data(), cols, uint8_t{1});
    for (const int32_t n : {0, 1, 3, 4, 5, kRows}) {
      std::vector<const uint8_t*> at(n);
      for (int32_t r = 0; r < n; ++r) at[r] = rows[r]->data();
      Guarded<int32_t> sums(n);
      table_->dots_i8(n, cols, q.data(), at.data(), sums.data());
      for (int32_t r = 0; r < n; ++r) {
        int64_t sum = 0;
        for (int32_t i = 0; i < cols; ++i) sum += (q[i] - 128) * ((*rows[r])[i] - 128);
        ASSERT_EQ(sums[r], sum) << cols << " " << n << " " << r;
      }
    }
  }
}

TEST_P(Kernels, means_norms_and_dots) {
  for (const auto& [rows, cols] : kMatrixCases) {
    const auto x = normal(rows * cols, 12);
    Guarded<float> gx(x), mean(cols);
    table_->mean_rows(rows, cols, gx.data(), mean.data());
    EXPECT_LE(largest_error(ref::mean_rows(rows, cols, x.data()), mean), kElementwiseBound);

    const auto row = normal(cols, 13), other = normal(cols, 14);
    Guarded<float> a(row), b(other), unit(row);
    double dot = 0, squares = 0;
    for (int32_t i = 0; i < cols; ++i) {
      dot += static_cast<double>(row[i]) * other[i];
      squares += static_cast<double>(row[i]) * row[i];
    }
    EXPECT_NEAR(table_->dot(cols, a.data(), b.data()), dot, kElementwiseBound * cols);
    table_->l2_normalize(cols, unit.data());
    for (int32_t i = 0; i < cols; ++i)
      EXPECT_NEAR(unit[i], row[i] / std::sqrt(squares), kElementwiseBound);
    table_->add(cols, a.data(), b.data());
    for (int32_t i = 0; i < cols; ++i) EXPECT_EQ(b[i], row[i] + other[i]);
  }
  Guarded<float> zeros(std::vector<float>(5, 0.0f));
  table_->l2_normalize(5, zeros.data());
  EXPECT_EQ(zeros[3], 0.0f);
}

TEST_P(Kernels, every_half_and_every_bfloat16_widens_exactly) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  Guarded<uint16_t> bits(all);
  Guarded<float> half(all.size()), brain(all.size());
  table_->widen_f16(65536, bits.data(), half.data());
  table_->widen_bf16(65536, bits.data(), brain.data());
  for (uint32_t i = 0; i < 65536; ++i) {
    const double value = ref::half_value(static_cast<uint16_t>(i));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(half[i])) << i;
    } else {
      ASSERT_EQ(half[i], value) << i;
      ASSERT_EQ(std::signbit(half[i]), std::signbit(value)) << i;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(brain[i]), i << 16);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, Kernels,
                         testing::ValuesIn(tier_names().begin(), tier_names().end()),
                         [](const auto& tier) { return std::string(tier.param); });

TEST(KernelDispatch, an_unknown_tier_is_refused_by_name) {
  const auto table = table_of("avx1024");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, Code::kInvalid);
  EXPECT_NE(table.error().message.find("unknown kernel tier \"avx1024\" (known: base"),
            std::string::npos);
}

TEST(KernelDispatch, the_base_tier_runs_everywhere) {
  EXPECT_TRUE(table_of("base"));
}

}  // namespace
}  // namespace signalbox::kernels
