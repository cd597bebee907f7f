// Formulas as printed in the papers.

#include "kernels/ref/ref.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace signalbox::kernels::ref {

Vector linear(int32_t rows, int32_t in, int32_t out, const float* x, const float* w) {
  Vector y(static_cast<size_t>(rows) * out);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < in; ++i) sum += static_cast<double>(x[r * in + i]) * w[o * in + i];
      y[r * out + o] = sum;
    }
  }
  return y;
}

Vector gelu(const Vector& x) {
  Vector y(x.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = 0.5 * x[i] * (1 + std::erf(x[i] / std::sqrt(2.0)));
  return y;
}

Vector gelu_tanh(const Vector& x) {
  Vector y(x.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const double inner = x[i] + 0.044715 * x[i] * x[i] * x[i];
    y[i] = 0.5 * x[i] * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * inner));
  }
  return y;
}

Vector silu(const Vector& x) {
  Vector y(x.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] / (1 + std::exp(-x[i]));
  return y;
}

Vector rope(const AttentionShape& shape, const float* rotations, const float* qkv) {
  const int64_t dim = shape.head_dim, half = dim / 2, width = shape.qkv_width();
  Vector y(qkv, qkv + shape.tokens * width);
  for (int64_t t = 0; t < shape.tokens; ++t) {
    for (int64_t head = 0; head < shape.heads + shape.key_heads(); ++head) {
      for (int64_t i = 0; i < half; ++i) {
        const double cosine = rotations[t * dim + i], sine = rotations[t * dim + half + i];
        const int64_t first = t * width + head * dim + i;
        y[first] = qkv[first] * cosine - qkv[first + half] * sine;
        y[first + half] = qkv[first + half] * cosine + qkv[first] * sine;
      }
    }
  }
  return y;
}

Vector layer_norm(int32_t rows, int32_t cols, const float* gamma, const float* beta, double eps,
                  const Vector& x) {
  Vector y(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = x.data() + r * cols;
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < cols; ++i) mean += row[i] / cols;
    for (int64_t i = 0; i < cols; ++i) variance += (row[i] - mean) * (row[i] - mean) / cols;
    for (int64_t i = 0; i < cols; ++i) {
      y[r * cols + i] = (row[i] - mean) / std::sqrt(variance + eps) * gamma[i] + beta[i];
    }
  }
  return y;
}

Vector rms_norm(int32_t rows, int32_t cols, const float* gamma, double eps, const Vector& x) {
  Vector y(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (int64_t i = 0; i < cols; ++i) squares += x[r * cols + i] * x[r * cols + i];
    for (int64_t i = 0; i < cols; ++i)
      y[r * cols + i] = x[r * cols + i] / std::sqrt(squares / cols + eps) * gamma[i];
  }
  return y;
}

Vector attention(const AttentionShape& shape, const float* qkv, const DistanceTerms* terms) {
  const int64_t hidden = static_cast<int64_t>(shape.heads) * shape.head_dim;
  const int64_t group = shape.heads / shape.key_heads();
  // Place of a query head, a key head or a value head in a token's row.
  const auto at = [&](int64_t token, int64_t place, int64_t d) {
    return static_cast<double>(qkv[token * shape.qkv_width() + place * shape.head_dim + d]);
  };
  const double scale =
      shape.scale == 0 ? 1 / std::sqrt(static_cast<double>(shape.head_dim)) : shape.scale;
  const auto score = [&](int64_t head, int64_t query, int64_t key) {
    const int64_t d = key - query, key_place = shape.heads + head / group;
    double products = 0;
    for (int64_t i = 0; i < shape.head_dim; ++i) {
      const double q = at(query, head, i), k = at(key, key_place, i);
      products += q * k;
      if (terms == nullptr || terms->rows == nullptr) continue;
      const int64_t place = terms->rows[d] * hidden + head * shape.head_dim + i;
      if (terms->keys != nullptr) products += q * terms->keys[place];
      if (terms->queries != nullptr) products += k * terms->queries[place];
    }
    const bool biased = terms != nullptr && terms->bias != nullptr;
    return products * scale + (biased ? terms->bias[head * terms->bias_stride + d] : 0.0f);
  };
  Vector out(static_cast<size_t>(shape.tokens) * hidden);
  Vector weights(shape.tokens);
  const auto visible = [&](int64_t query, int64_t key) {
    return std::abs(query - key) <= shape.window && (!shape.causal || key <= query);
  };
  for (int64_t head = 0; head < shape.heads; ++head) {
    const int64_t value_place = shape.heads + head / group + shape.key_heads();
    for (int64_t query = 0; query < shape.tokens; ++query) {
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t key = 0; key < shape.tokens; ++key) {
        weights[key] = visible(query, key) ? score(head, query, key)
                                           : -std::numeric_limits<double>::infinity();
        largest = std::max(largest, weights[key]);
      }
      double sum = 0;
      for (double& weight : weights) sum += weight = std::exp(weight - largest);
      for (int64_t d = 0; d < shape.head_dim; ++d) {
        double value = 0;
        for (int64_t key = 0; key < shape.tokens; ++key)
          value += weights[key] / sum * at(key, value_place, d);
        out[query * hidden + head * shape.head_dim + d] = value;
      }
    }
  }
  return out;
}

Vector mean_rows(int32_t rows, int32_t cols, const float* x) {
  Vector out(cols);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < cols; ++i) out[i] += static_cast<double>(x[r * cols + i]) / rows;
  }
  return out;
}

double half_value(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

}  // namespace signalbox::kernels::ref
