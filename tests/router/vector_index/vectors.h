#pragma once
// Makes vectors for the tests and the benchmark of the index. Equal seeds give equal vectors.

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace signalbox::vector_index {

using Vector = std::vector<float>;  // (dim), unit length

enum class Spread : uint8_t {
  kClustered,  // about fifty around each of many centres, at a cosine of about 0.8 to the centre
  // No clusters: evenly on a sphere of 32 dimensions, rotated in the full space, with a tenth of
  // noise. Sentences have about as many dimensions of their own.
  kEven,
  kIndependent,  // every value is independent. No text is like this: all rows are about equally far
};

/// Draws vectors one after the other. Vectors of another seed with the same `shape` lie in the same
/// clusters and dimensions, as questions and stored questions do.
class Vectors {
 public:
  Vectors(Spread spread, int32_t dim, size_t rows, uint64_t seed, uint64_t shape = 1)
      : spread_(spread), dim_(static_cast<size_t>(dim)), random_(seed) {
    std::mt19937_64 random(shape);
    size_t count = 0;
    if (spread == Spread::kClustered) count = rows / 50 + 1;
    if (spread == Spread::kEven) count = 32;
    for (size_t i = 0; i < count; ++i) axes_.push_back(unit(random));
  }

  Vector next() {
    Vector x = unit(random_);
    if (spread_ == Spread::kIndependent) return x;
    Vector base(dim_, 0.0f);
    if (spread_ == Spread::kClustered) {
      base = axes_[random_() % axes_.size()];
    } else {
      for (const Vector& axis : axes_) add(normal_(random_), axis, base);
      normalise(base);
    }
    add(spread_ == Spread::kClustered ? 0.75f : 0.1f, x, base);
    normalise(base);
    return base;
  }
  /// Returns a vector like that of a paraphrase: at a cosine of about `cosine` to x.
  Vector near(const Vector& x, float cosine) {
    Vector out = x;
    add(std::sqrt(1 / (cosine * cosine) - 1), unit(random_), out);
    normalise(out);
    return out;
  }

 private:
  static void add(float factor, const Vector& x, Vector& y) {
    for (size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
  }
  static void normalise(Vector& x) {
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    for (float& value : x) value /= static_cast<float>(std::sqrt(squares));
  }
  Vector unit(std::mt19937_64& random) {
    Vector x(dim_);
    for (float& value : x) value = normal_(random);
    normalise(x);
    return x;
  }

  Spread spread_;
  size_t dim_;
  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  std::vector<Vector> axes_;
};

}  // namespace signalbox::vector_index
