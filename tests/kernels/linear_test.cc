// Linear layers of every format and every finish on every tier, compared with the double-precision
// product of the factors as stored in the format. Products in single precision also by OpenBLAS.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/ref/ref.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/guarded.h"

namespace signalbox::kernels {
namespace {

constexpr Finish kFinishes[] = {Finish::kStore, Finish::kAdd,       Finish::kGelu,
                                Finish::kGeglu, Finish::kGegluTanh, Finish::kSwiglu};

std::vector<float> normal_values(size_t n, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> out(n);
  for (float& x : out) x = scale * distribution(random);
  return out;
}

// Rounds to bfloat16 and back by definition: the nearer neighbour, or the even one if both are
// equally near.
float rounded_to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto below = std::bit_cast<float>(bits & 0xFFFF0000u);
  const auto above = std::bit_cast<float>((bits & 0xFFFF0000u) + 0x10000u);
  const double down = std::abs(static_cast<double>(x) - below);
  const double up = std::abs(static_cast<double>(above) - x);
  const bool below_is_even = (bits & 0x10000u) == 0;
  return down < up || (down == up && below_is_even) ? below : above;
}

ref::Vector with_finish(Finish finish, int64_t rows, int64_t out, const ref::Vector& sums,
                        const float* bias, const std::vector<float>& before) {
  ref::Vector v(sums);
  for (size_t i = 0; i < v.size(); ++i) v[i] += bias == nullptr ? 0 : bias[i % out];
  if (finish == Finish::kAdd) {
    for (size_t i = 0; i < v.size(); ++i) v[i] += before[i];
  }
  if (finish == Finish::kGelu) return ref::gelu(v);
  if (!is_gated(finish)) return v;
  const ref::Vector active = finish == Finish::kGeglu       ? ref::gelu(v)
                             : finish == Finish::kGegluTanh ? ref::gelu_tanh(v)
                                                            : ref::silu(v);
  ref::Vector gated;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < out / 2; ++c) {
      gated.push_back(active[r * out + c] * v[r * out + out / 2 + c]);
    }
  }
  return gated;
}

struct Candidate {
  std::string_view tier;
  Gemm gemm;
};

class Linears : public testing::TestWithParam<Candidate> {
 protected:
  void SetUp() override {
    const auto table = table_of(GetParam().tier, GetParam().gemm);
    if (!table) GTEST_SKIP() << table.error().message;
    table_ = *table;
  }

  // The formats that this candidate multiplies in its own way.
  static std::vector<Format> formats() {
    if (GetParam().gemm == Gemm::kOpenBlas) return {Format::kF32};
    return {Format::kF32, Format::kBF16, Format::kI8};
  }

  void run(Format format, const LinearShape& shape, const float* x, const void* packed,
           const Epilogue& epilogue, float* y) const {
    switch (format) {
      case Format::kF32:
        return table_->linear_f32(shape, x, packed, epilogue, y);
      case Format::kBF16: {
        Guarded<float> scratch(bf16_scratch(shape));
        return table_->linear_bf16(shape, x, scratch.data(), packed, epilogue, y);
      }
      case Format::kI8: {
        Guarded<uint8_t> q(shape.rows * quantized_row_bytes(shape.in));
        Guarded<float> scales(shape.rows);
        table_->quantize_rows(shape.rows, shape.in, x, q.data(), scales.data());
        return table_->linear_i8(shape, q.data(), scales.data(), packed, epilogue, y);
      }
    }
  }

  void check(Format format, const LinearCase& at, const std::vector<float>& x,
             const std::vector<float>& w, const ref::Vector& sums, double bound) const {
    const auto bias = normal_values(at.out, 3);
    for (const Finish finish : kFinishes) {
      const bool gated = is_gated(finish);
      const bool activates = gated || finish == Finish::kGelu;
      Guarded<char> packed(packed_linear_bytes(format, at.in, at.out, gated));
      Guarded<float> packed_bias(packed_bias_size(at.out, gated));
      pack_linear(format, at.in, at.out, w.data(), packed.data(), gated);
      pack_bias(at.out, bias.data(), packed_bias.data(), gated);
      for (const float* used : {static_cast<const float*>(nullptr), bias.data()}) {
        const auto before = normal_values(at.rows * (gated ? at.out / 2 : at.out), 4);
        const auto expected = with_finish(finish, at.rows, at.out, sums, used, before);
        Guarded<float> gx(x), y(before);
        run(format, {at.rows, at.in, at.out}, gx.data(), packed.data(),
            {finish, used == nullptr ? nullptr : packed_bias.data()}, y.data());
        double worst = 0;
        for (size_t i = 0; i < expected.size(); ++i) {
          const double error = std::abs(expected[i] - y[i]) / (1 + std::abs(expected[i]));
          worst = error <= worst ? worst : error;
        }
        EXPECT_LE(worst, bound + (activates ? kElementwiseBound : 0))
            << at.rows << " " << at.in << " " << at.out << " finish " << static_cast<int>(finish);
      }
    }
  }

  const Table* table_ = nullptr;
};

// Formats that only our own kernels multiply.
class NarrowLinears : public Linears {};

TEST_P(Linears, products_in_single_precision_match_the_reference) {
  for (const LinearCase& at : kLinearCases) {
    const auto x = normal_values(at.rows * at.in, 1), w = normal_values(at.out * at.in, 2);
    check(Format::kF32, at, x, w, ref::linear(at.rows, at.in, at.out, x.data(), w.data()),
          2 * linear_bound(at.in));
  }
}

TEST_P(NarrowLinears, products_in_bfloat16_match_the_reference) {
  for (const LinearCase& at : kLinearCases) {
    const auto x = normal_values(at.rows * at.in, 1), w = normal_values(at.out * at.in, 2);
    auto narrow_x = x, narrow_w = w;
    if (GetParam().tier == "bf16" || GetParam().tier == "amx") {
      for (float& v : narrow_x) v = rounded_to_bf16(v);
    }
    for (float& v : narrow_w) v = rounded_to_bf16(v);
    check(Format::kBF16, at, x, w,
          ref::linear(at.rows, at.in, at.out, narrow_x.data(), narrow_w.data()),
          2 * linear_bound(at.in));
  }
}

TEST_P(NarrowLinears, sums_in_eight_bits_are_exact) {
  std::vector<LinearCase> cases(std::begin(kLinearCases), std::end(kLinearCases));
  cases.push_back({7, 1604, 128});  // whole panels of several blocks, for every Product
  for (const LinearCase& at : cases) {
    auto x = normal_values(at.rows * at.in, 1), w = normal_values(at.out * at.in, 2);
    // Includes extreme values, which saturate if sums are too narrow.
    for (size_t i = 0; i < w.size(); i += 3) w[i] = i % 2 == 0 ? 4.0f : -4.0f;
    for (size_t i = 0; i < x.size(); i += 5) x[i] = 5.0f;
    std::vector<int> qx(x.size()), qw(w.size());
    std::vector<float> x_scales, w_scales;
    for (int64_t r = 0; r < at.rows; ++r)
      x_scales.push_back(quantize(at.in, &x[r * at.in], &qx[r * at.in]));
    for (int64_t c = 0; c < at.out; ++c)
      w_scales.push_back(quantize(at.in, &w[c * at.in], &qw[c * at.in]));
    ref::Vector sums(static_cast<size_t>(at.rows) * at.out);
    std::vector<float> exact(sums.size());
    for (int64_t r = 0; r < at.rows; ++r) {
      for (int64_t c = 0; c < at.out; ++c) {
        int32_t sum = 0;
        for (int64_t k = 0; k < at.in; ++k) sum += qx[r * at.in + k] * qw[c * at.in + k];
        exact[r * at.out + c] = static_cast<float>(sum) * (w_scales[c] * x_scales[r]);
        sums[r * at.out + c] = exact[r * at.out + c];
      }
    }
    check(Format::kI8, at, x, w, sums, 2 * linear_bound(at.in));
    Guarded<char> packed(packed_linear_bytes(Format::kI8, at.in, at.out));
    pack_linear(Format::kI8, at.in, at.out, w.data(), packed.data());
    Guarded<float> gx(x), y(exact.size());
    run(Format::kI8, {at.rows, at.in, at.out}, gx.data(), packed.data(), {}, y.data());
    EXPECT_EQ(std::memcmp(y.data(), exact.data(), exact.size() * sizeof(float)), 0)
        << at.rows << " " << at.in << " " << at.out;
  }
}

TEST_P(Linears, a_row_does_not_depend_on_the_number_of_rows) {
  const int32_t rows = 401, in = 205, out = 90;
  const auto x = normal_values(rows * in, 18), w = normal_values(out * in, 19);
  for (const Format format : formats()) {
    for (const Finish finish : {Finish::kStore, Finish::kGelu, Finish::kGeglu, Finish::kSwiglu}) {
      const bool gated = is_gated(finish);
      const int32_t width = gated ? out / 2 : out;
      Guarded<char> packed(packed_linear_bytes(format, in, out, gated));
      pack_linear(format, in, out, w.data(), packed.data(), gated);
      std::vector<float> together(rows * width);
      run(format, {rows, in, out}, x.data(), packed.data(), {finish}, together.data());
      for (const int32_t count : {1, 2, 3, 5, 6, 7, 11, 12, 13, 64, 192, 193, 300}) {
        for (const int32_t first : {0, 1, 77}) {
          std::vector<float> part(count * width);
          run(format, {count, in, out}, x.data() + first * in, packed.data(), {finish},
              part.data());
          EXPECT_EQ(std::memcmp(part.data(), together.data() + first * width,
                                part.size() * sizeof(float)),
                    0)
              << count << " format " << static_cast<int>(format);
        }
      }
    }
  }
}

// Inner sizes of real models, at which OpenBLAS has several kernels: a row alone and in a batch, in
// every place of a block.
TEST_P(Linears, a_row_of_a_model_is_the_same_alone_and_in_a_batch) {
  const int32_t rows = 64, out = 128;
  for (const int32_t in : {384, 768, 1152, 1536, 3072}) {
    auto x = normal_values(rows * in, 26);
    const auto w = normal_values(out * in, 27);
    Guarded<char> packed(packed_linear_bytes(Format::kF32, in, out));
    pack_linear(Format::kF32, in, out, w.data(), packed.data());
    std::vector<float> alone(out);
    run(Format::kF32, {1, in, out}, x.data(), packed.data(), {}, alone.data());
    for (int32_t r = 1; r < 40; ++r) std::copy_n(x.begin(), in, x.begin() + r * in);
    for (const int32_t count : {2, 7, 15, 16, 17, 33, 64}) {
      std::vector<float> y(count * out);
      run(Format::kF32, {count, in, out}, x.data(), packed.data(), {}, y.data());
      for (int32_t r = 0; r < std::min(count, 40); ++r) {
        ASSERT_EQ(std::memcmp(alone.data(), &y[r * out], out * sizeof(float)), 0)
            << in << ": row " << r << " of " << count;
      }
    }
  }
}

TEST_P(Linears, threads_multiply_at_the_same_time) {
  const int32_t rows = 37, in = 768, out = 192, threads = 4;
  const auto x = normal_values(rows * in, 28), w = normal_values(out * in, 29);
  Guarded<char> packed(packed_linear_bytes(Format::kF32, in, out));
  pack_linear(Format::kF32, in, out, w.data(), packed.data());
  const auto product = [&] {
    std::vector<float> y(rows * out);
    run(Format::kF32, {rows, in, out}, x.data(), packed.data(), {}, y.data());
    return y;
  };
  const std::vector<float> expected = product();
  std::vector<int> wrong(threads);
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&, i] {
        for (int n = 0; n < 50; ++n) wrong[i] += product() == expected ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(threads));
}

// Every second row has an adapter. Its contribution is added before the activation, and the other
// rows keep their bits.
TEST_P(Linears, an_adapter_adds_to_the_sums_of_its_rows) {
  const int32_t rows = 401, in = 96, rank = 5;
  const auto x = normal_values(rows * in, 20), reduced = normal_values(rows * rank, 21);
  for (const int32_t out : {90, 128}) {
    const auto w = normal_values(out * in, 22, 0.1f), up = normal_values(out * rank, 23),
               bias = normal_values(out, 24);
    const ref::Vector parts = ref::linear(rows, rank, out, reduced.data(), up.data());
    for (const Format format : formats()) {
      Guarded<char> plain(packed_linear_bytes(format, in, out));
      pack_linear(format, in, out, w.data(), plain.data());
      std::vector<float> sums(rows * out);
      run(format, {rows, in, out}, x.data(), plain.data(), {}, sums.data());
      for (const Finish finish : kFinishes) {
        const bool gated = is_gated(finish);
        const int32_t width = gated ? out / 2 : out;
        Guarded<char> packed(packed_linear_bytes(format, in, out, gated));
        Guarded<char> packed_up(packed_linear_bytes(Format::kF32, rank, out, gated));
        Guarded<float> packed_bias(packed_bias_size(out, gated));
        pack_linear(format, in, out, w.data(), packed.data(), gated);
        pack_linear(Format::kF32, rank, out, up.data(), packed_up.data(), gated);
        pack_bias(out, bias.data(), packed_bias.data(), gated);
        std::vector<LowRank> low_rank(rows);
        ref::Vector adapted(sums.begin(), sums.end());
        for (int32_t r = 0; r < rows; r += 2) {
          low_rank[r] = {rank, &reduced[r * rank], packed_up.data()};
          for (int32_t c = 0; c < out; ++c) adapted[r * out + c] += parts[r * out + c];
        }
        const auto before = normal_values(rows * width, 25);
        auto y = before, without = before;
        run(format, {rows, in, out}, x.data(), packed.data(),
            {finish, packed_bias.data(), low_rank.data()}, y.data());
        run(format, {rows, in, out}, x.data(), packed.data(), {finish, packed_bias.data()},
            without.data());
        const auto expected = with_finish(finish, rows, out, adapted, bias.data(), before);
        for (int32_t r = 0; r < rows; ++r) {
          if (r % 2 == 1) {
            ASSERT_EQ(std::memcmp(&y[r * width], &without[r * width], width * sizeof(float)), 0);
            continue;
          }
          for (int32_t c = 0; c < width; ++c) {
            ASSERT_NEAR(y[r * width + c], expected[r * width + c],
                        1e-4 * (1 + std::abs(expected[r * width + c])))
                << r << " " << c << " finish " << static_cast<int>(finish);
          }
        }
      }
    }
  }
}

// Tested through the weights of the packed matrix, which are the same on all tiers.
TEST(PackedBF16, rounds_to_nearest_even_and_keeps_infinities_and_nans) {
  const std::vector<float> w = {
      0.0f,        -0.0f,  1.0f,     1.00390625f, 1.01171875f,
      -3.3895e38f, 1e-40f, INFINITY, -INFINITY,   std::bit_cast<float>(0x7F800001u)};
  const std::vector<uint16_t> expected = {0x0000, 0x8000, 0x3F80, 0x3F80, 0x3F82,
                                          0xFF7F, 0x0001, 0x7F80, 0xFF80};
  const auto in = static_cast<int32_t>(w.size());
  std::vector<uint16_t> packed(packed_linear_bytes(Format::kBF16, in, 1) / sizeof(uint16_t));
  pack_linear(Format::kBF16, in, 1, w.data(), packed.data());
  const auto at = [&](size_t k) { return packed[k / 2 * 128 + k % 2]; };
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(at(k), expected[k]) << k;
  EXPECT_GT(at(9) & 0x7FFF, 0x7F80);  // a NaN stays a NaN
}

TEST(Packed, unpacked_weights_match_the_packed_ones) {
  for (const auto& [in, out] : {std::pair{1, 2}, {5, 70}, {130, 64}, {97, 202}}) {
    const auto w = normal_values(size_t{1} * in * out, 7);
    for (const bool gated : {false, true}) {
      for (const Format format : {Format::kF32, Format::kBF16, Format::kI8}) {
        Guarded<char> packed(packed_linear_bytes(format, in, out, gated));
        Guarded<float> found(w.size());
        pack_linear(format, in, out, w.data(), packed.data(), gated);
        unpack_linear(format, in, out, packed.data(), found.data(), gated);
        for (size_t i = 0; i < w.size(); ++i) {
          const float expected = format == Format::kF32    ? w[i]
                                 : format == Format::kBF16 ? rounded_to_bf16(w[i])
                                                           : found[i];
          ASSERT_EQ(found[i], expected) << i;
          ASSERT_LE(std::abs(found[i] - w[i]), 0.02) << i;  // half of 1/127 of at most 5
        }
      }
    }
  }
}

std::vector<Candidate> candidates(Gemm gemm) {
  std::vector<Candidate> out;
  for (const std::string_view tier : tier_names()) out.push_back({tier, gemm});
  return out;
}

constexpr auto kTierOf = [](const auto& candidate) { return std::string(candidate.param.tier); };

INSTANTIATE_TEST_SUITE_P(Tiers, Linears, testing::ValuesIn(candidates(Gemm::kOwn)), kTierOf);
INSTANTIATE_TEST_SUITE_P(Tiers, NarrowLinears, testing::ValuesIn(candidates(Gemm::kOwn)), kTierOf);
INSTANTIATE_TEST_SUITE_P(OpenBlas, Linears, testing::ValuesIn(candidates(Gemm::kOpenBlas)),
                         kTierOf);

}  // namespace
}  // namespace signalbox::kernels
