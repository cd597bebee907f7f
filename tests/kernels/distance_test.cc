// Attention whose scores depend on distances, on every tier that this processor supports, compared
// with the double-precision reference, with buffers that end at an unmapped page.

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/ref/ref.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/guarded.h"

namespace signalbox::kernels {
namespace {

std::vector<float> small(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution(0, 0.7f);
  std::vector<float> out(n);
  for (float& x : out) x = distribution(random);
  return out;
}

// Terms of random numbers. Rows rise with every distance near zero and rarely far away.
struct RandomTerms {
  std::vector<int32_t> numbers;  // (2 tokens - 1)
  Guarded<int32_t> rows;
  Guarded<float> keys, queries, bias;

  RandomTerms(const AttentionShape& shape, int32_t first)
      : numbers(numbers_of(shape, first)),
        rows(numbers),
        keys(small(size_t(shape.distances) * shape.heads * shape.head_dim, 3)),
        queries(small(size_t(shape.distances) * shape.heads * shape.head_dim, 4)),
        bias(small(numbers.size() * shape.heads, 5)) {}

  static std::vector<int32_t> numbers_of(const AttentionShape& shape, int32_t first) {
    std::vector<int32_t> out{first};
    for (int32_t d = 2 - shape.tokens; d < shape.tokens; ++d) {
      const bool rises = (std::abs(d) < 40 || d % 7 == 0) && out.back() + 1 < shape.distances;
      out.push_back(out.back() + (rises ? 1 : 0));
    }
    return out;
  }

  DistanceTerms terms(const DistanceCase& of) {
    DistanceTerms out;
    if (of.keys || of.queries) out.rows = rows.data() + numbers.size() / 2;
    if (of.keys) out.keys = keys.data();
    if (of.queries) out.queries = queries.data();
    if (of.bias) {
      out.bias = bias.data() + numbers.size() / 2;
      out.bias_stride = static_cast<int64_t>(numbers.size());
    }
    return out;
  }
};

class Distances : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const auto table = table_of(GetParam());
    if (!table) GTEST_SKIP() << table.error().message;
    table_ = *table;
  }

  template <class Attend>
  static void expect_close(double bound, const Attend& attend) {
    for (const DistanceCase& of : kDistanceCases) {
      const AttentionShape& shape = of.shape;
      RandomTerms random(shape, of.first_row);
      const DistanceTerms terms = random.terms(of);
      const auto qkv = small(shape.tokens * shape.qkv_width(), 10);
      Guarded<float> gqkv(qkv);
      Guarded<float> out(static_cast<size_t>(shape.tokens) * shape.heads * shape.head_dim);
      attend(shape, gqkv.data(), &terms, out.data());
      const auto expected = ref::attention(shape, qkv.data(), &terms);
      double worst = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        const double error = std::abs(expected[i] - out[i]);
        worst = error <= worst ? worst : error;  // NaN propagates
      }
      EXPECT_LE(worst, bound) << shape.tokens << " " << shape.heads << " " << shape.head_dim << " "
                              << of.keys << of.queries << of.bias;
    }
  }

  const Table* table_ = nullptr;
};

TEST_P(Distances, attention) {
  expect_close(kAttentionBound, [&](const AttentionShape& shape, const float* qkv,
                                    const DistanceTerms* terms, float* out) {
    Guarded<float> scratch(attention_scratch(shape));
    for (int32_t head = 0; head < shape.heads; ++head)
      table_->attention(shape, head, qkv, terms, scratch.data(), out);
  });
}

TEST_P(Distances, attention_in_integers) {
  expect_close(kAttentionI16Bound, [&](const AttentionShape& shape, const float* qkv,
                                       const DistanceTerms* terms, float* out) {
    Guarded<char> scratch(attention_i16_scratch(shape));
    for (int32_t head = 0; head < shape.heads; ++head)
      table_->attention_i16(shape, head, qkv, terms, scratch.data(), out);
  });
}

INSTANTIATE_TEST_SUITE_P(Tiers, Distances, testing::ValuesIn(tier_names()),
                         [](const auto& tier) { return std::string(tier.param); });

}  // namespace
}  // namespace signalbox::kernels
