// Linear layers with ModernBERT-base's shapes in every format, compared with OpenBLAS on one
// thread: as it multiplies for the engine (f32_openblas), and with all rows and outputs in one call
// (openblas_f32). The weights of the 22 layers stream from memory as in a real model. Also single
// products of bytes beside those of oneDNN, and attention of one layer. Results are checked first,
// within the bounds of the tests.

#include <benchmark/benchmark.h>
#include <cblas.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/buffer.h"
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"
#include "tests/kernels/cases.h"
#ifdef SIGNALBOX_BENCH_ONEDNN
#include "bench/onednn_product.h"
#endif

namespace signalbox::kernels {
namespace {

struct Shape {
  int32_t in;
  int32_t out;
};

constexpr int kLayers = 22;
constexpr Shape kShapes[] = {{768, 2304}, {768, 768}, {768, 2304}, {1152, 768}};
constexpr int64_t kRowsMax = 512;
constexpr int64_t kWidthMax = 2304;

const Table& table() {
  return *active_table().value();
}

std::vector<float> normal(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> out(n);
  for (float& x : out) x = distribution(random);
  return out;
}

// Every layer has its own memory with the same values.
struct Network {
  std::vector<std::vector<float>> w;                  // (shapes) of (out, in)
  std::vector<float> x = normal(kRowsMax * 1152, 1);  // (rows, in)

  Network() {
    for (const Shape& shape : kShapes) w.push_back(normal(size_t{1} * shape.in * shape.out, 2));
  }

  static const Network& instance() {
    static const Network network;
    return network;
  }
};

class Ours {
 public:
  explicit Ours(Format format, const Table& kernels = table())
      : kernels_(kernels), format_(format), arena_(kLayers * layer_bytes(format)) {
    std::byte* at = arena_.data();
    for (int layer = 0; layer < kLayers; ++layer) {
      for (size_t i = 0; i < std::size(kShapes); ++i) {
        const auto [in, out] = kShapes[i];
        pack_linear(format, in, out, Network::instance().w[i].data(), at);
        packed_.push_back(at);
        at += packed_linear_bytes(format, in, out);
      }
    }
  }

  // Computes product i of a layer, including the conversion of the rows to the format.
  void multiply(int layer, size_t i, int32_t rows, float* y) {
    const auto [in, out] = kShapes[i];
    const LinearShape shape{rows, in, out};
    const void* packed = packed_[layer * std::size(kShapes) + i];
    const float* x = Network::instance().x.data();
    switch (format_) {
      case Format::kF32:
        return kernels_.linear_f32(shape, x, packed, {}, y);
      case Format::kBF16:
        return kernels_.linear_bf16(shape, x, scratch_.data(), packed, {}, y);
      case Format::kI8:
        kernels_.quantize_rows(rows, in, x, quantized_.data(), scales_.data());
        return kernels_.linear_i8(shape, quantized_.data(), scales_.data(), packed, {}, y);
    }
  }

 private:
  static size_t layer_bytes(Format format) {
    size_t bytes = 0;
    for (const auto& [in, out] : kShapes) bytes += packed_linear_bytes(format, in, out);
    return bytes;
  }

  const Table& kernels_;
  Format format_;
  Buffer<std::byte> arena_;
  std::vector<const void*> packed_;
  Buffer<float> scratch_{static_cast<size_t>(kRowsMax * 1152)};
  Buffer<uint8_t> quantized_{static_cast<size_t>(kRowsMax * 1152)};
  Buffer<float> scales_{static_cast<size_t>(kRowsMax)};
};

// OpenBLAS with the same interface.
class OpenBlas {
 public:
  OpenBlas() {
    openblas_set_num_threads(1);
    for (int layer = 0; layer < kLayers; ++layer) w_.push_back(Network::instance().w);
  }
  void multiply(int layer, size_t i, int32_t rows, float* y) {
    const auto [in, out] = kShapes[i];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1,
                Network::instance().x.data(), in, w_[layer][i].data(), in, 0, y, out);
  }

 private:
  std::vector<std::vector<std::vector<float>>> w_;  // (layers, shapes) of (out, in)
};

// Returns the largest error of the first rows, relative to the magnitude of a sum of `in` products.
template <class Product>
double error_of(Product& product) {
  constexpr int32_t kRows = 3;
  double worst = 0;
  for (size_t i = 0; i < std::size(kShapes); ++i) {
    const auto [in, out] = kShapes[i];
    const Network& network = Network::instance();
    const auto exact = ref::linear(kRows, in, out, network.x.data(), network.w[i].data());
    std::vector<float> y(kRows * kWidthMax);
    product.multiply(kLayers - 1, i, kRows, y.data());
    for (size_t j = 0; j < exact.size(); ++j) {
      worst = std::max(worst, std::abs(exact[j] - y[j]) / std::sqrt(in));
    }
  }
  return worst;
}

template <class Product>
void time(benchmark::State& state, Product& product, double bound) {
  if (!(error_of(product) <= bound)) {
    state.SkipWithError("wrong answer: not timed");
    return;
  }
  const auto rows = static_cast<int32_t>(state.range(0));
  Buffer<float> y(kRowsMax * kWidthMax);
  double operations = 0;
  for (const auto& [in, out] : kShapes) operations += 2.0 * kLayers * rows * in * out;
  for (auto _ : state) {
    for (int layer = 0; layer < kLayers; ++layer) {
      for (size_t i = 0; i < std::size(kShapes); ++i) product.multiply(layer, i, rows, y.data());
    }
    benchmark::ClobberMemory();
  }
  state.counters["G/s"] = benchmark::Counter(
      1e-9 * operations * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.SetLabel(std::string(table().tier));
}

template <Format kFormat>
void BM_Ours(benchmark::State& state) {
  static Ours ours(kFormat);
  time(state, ours, kFormat == Format::kF32 ? 1e-5 : kFormat == Format::kBF16 ? 2e-2 : 8e-2);
}

void BM_OursByOpenBlas(benchmark::State& state) {
  const auto kernels = table_of(table().tier, Gemm::kOpenBlas);
  if (!kernels) {
    state.SkipWithError(kernels.error().message.c_str());
    return;
  }
  static Ours ours(Format::kF32, **kernels);
  time(state, ours, 1e-5);
}

void BM_OpenBlas(benchmark::State& state) {
  static OpenBlas openblas;
  time(state, openblas, 1e-5);
}

#define SIGNALBOX_ROWS Arg(16)->Arg(32)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond)
BENCHMARK(BM_Ours<Format::kF32>)->Name("linear/f32")->SIGNALBOX_ROWS;
BENCHMARK(BM_OursByOpenBlas)->Name("linear/f32_openblas")->SIGNALBOX_ROWS;
BENCHMARK(BM_OpenBlas)->Name("linear/openblas_f32")->SIGNALBOX_ROWS;
BENCHMARK(BM_Ours<Format::kBF16>)->Name("linear/bf16")->SIGNALBOX_ROWS;
BENCHMARK(BM_Ours<Format::kI8>)->Name("linear/int8")->SIGNALBOX_ROWS;

// One product of bytes with 22 matrices that stream from memory. The activations are already bytes.
// All memory begins at a cache line, as the engine's does.
class ByteProduct {
 public:
  ByteProduct(int32_t in, int32_t out, int32_t rows)
      : in_(in), out_(out), scales_(rows), q_(int64_t{rows} * in), weights_(int64_t{out} * in) {
    const auto x = normal(int64_t{rows} * in, 6), w = normal(int64_t{out} * in, 7);
    table().quantize_rows(rows, in, x.data(), q_.data(), scales_.data());
    for (int i = 0; i < kLayers; ++i) {
      packed_.emplace_back(packed_linear_bytes(Format::kI8, in, out));
      pack_linear(Format::kI8, in, out, w.data(), packed_[i].data());
    }
    for (int32_t c = 0; c < out; ++c)
      w_scales_.push_back(quantize(in, &w[c * in], &weights_[c * in]));
  }

  void multiply(int matrix, int32_t rows, float* y) const {
    table().linear_i8({rows, in_, out_}, q_.data(), scales_.data(), packed_[matrix].data(), {}, y);
  }

  // Returns y of our product for the sums of the bytes: sums (rows, out).
  std::vector<float> finished(int32_t rows, const int32_t* sums) const {
    std::vector<float> y(rows * out_);
    for (int32_t c = 0; c < out_; ++c) {
      int32_t shift = 0;
      for (int32_t k = 0; k < in_; ++k) shift += 128 * weights_[c * in_ + k];
      for (int32_t r = 0; r < rows; ++r) {
        const auto sum = static_cast<float>(sums[r * out_ + c] - shift);
        y[r * out_ + c] = sum * (w_scales_[c] * scales_[r]);
      }
    }
    return y;
  }

  // Compares the first rows with sums of the products of each byte.
  bool is_exact() const {
    constexpr int32_t kRows = 3;
    std::vector<int32_t> sums(kRows * out_);
    for (int32_t r = 0; r < kRows; ++r) {
      for (int32_t c = 0; c < out_; ++c) {
        for (int32_t k = 0; k < in_; ++k)
          sums[r * out_ + c] += q_[r * in_ + k] * weights_[c * in_ + k];
      }
    }
    std::vector<float> y(sums.size());
    multiply(kLayers - 1, kRows, y.data());
    return y == finished(kRows, sums.data());
  }

  uint8_t* q() { return q_.data(); }             // (rows, in)
  int8_t* weights() { return weights_.data(); }  // (out, in)

 private:
  int32_t in_, out_;
  std::vector<float> scales_, w_scales_;  // (rows), (out)
  Buffer<uint8_t> q_;                     // (rows, in)
  std::vector<int8_t> weights_;           // (out, in)
  std::vector<Buffer<char>> packed_;      // (kLayers) of one matrix
};

// Times multiply(matrix), one product of state's shape.
template <class Multiply>
void time_product(benchmark::State& state, const std::string& label, const Multiply& multiply) {
  int matrix = 0;
  for (auto _ : state) {
    multiply(matrix = (matrix + 1) % kLayers);
    benchmark::ClobberMemory();
  }
  const double operations = 2.0 * static_cast<double>(state.range(0) * state.range(1)) *
                            static_cast<double>(state.range(2));
  state.counters["G/s"] = benchmark::Counter(
      1e-9 * operations * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.SetLabel(label);
}

void BM_Bytes(benchmark::State& state) {
  const auto in = static_cast<int32_t>(state.range(0)), out = static_cast<int32_t>(state.range(1)),
             rows = static_cast<int32_t>(state.range(2));
  const ByteProduct ours(in, out, rows);
  if (!ours.is_exact()) {
    state.SkipWithError("wrong answer: not timed");
    return;
  }
  Buffer<float> y(rows * out);
  time_product(state, std::string(table().tier),
               [&](int matrix) { ours.multiply(matrix, rows, y.data()); });
}

#define SIGNALBOX_PRODUCTS(name, function)                                    \
  BENCHMARK(function)                                                         \
      ->Name(name)                                                            \
      ->ArgNames({"in", "out", "rows"})                                       \
      ->ArgsProduct({{768}, {768, 2304}, {16, 32, 64, 128, 512, 2048}})       \
      ->ArgsProduct({{1152}, {768}, {16, 32, 64, 128, 512, 2048}})            \
      ->ArgsProduct({{384}, {384, 1152, 1536}, {16, 32, 64, 128, 512, 2048}}) \
      ->ArgsProduct({{1536}, {384}, {16, 32, 64, 128, 512, 2048}})            \
      ->Unit(benchmark::kMicrosecond)
SIGNALBOX_PRODUCTS("product/int8", BM_Bytes);

#ifdef SIGNALBOX_BENCH_ONEDNN
// oneDNN gives the sums of the bytes. Our product also removes the shift of the activations and
// applies the scales.
void BM_OneDnn(benchmark::State& state) {
  const auto in = static_cast<int32_t>(state.range(0)), out = static_cast<int32_t>(state.range(1)),
             rows = static_cast<int32_t>(state.range(2));
  const char* threads = std::getenv("OMP_NUM_THREADS");
  if (threads == nullptr || threads != std::string_view("1")) {
    state.SkipWithError("needs OMP_NUM_THREADS=1");
    return;
  }
  ByteProduct ours(in, out, rows);
  const bench::OneDnnProduct theirs(rows, in, out, kLayers, ours.weights());
  Buffer<int32_t> sums(rows * out);
  std::vector<float> y(rows * out);
  theirs.multiply(kLayers - 1, ours.q(), sums.data());
  ours.multiply(kLayers - 1, rows, y.data());
  if (ours.finished(rows, sums.data()) != y) {
    state.SkipWithError("wrong answer: not timed");
    return;
  }
  time_product(state, theirs.implementation(),
               [&](int matrix) { theirs.multiply(matrix, ours.q(), sums.data()); });
}
SIGNALBOX_PRODUCTS("product/onednn_int8", BM_OneDnn);
#endif

template <bool kIntegers>
void BM_Attention(benchmark::State& state) {
  const AttentionShape shape{static_cast<int32_t>(state.range(0)), 12, 64,
                             static_cast<int32_t>(state.range(1))};
  const auto qkv = normal(size_t{3} * shape.tokens * shape.heads * shape.head_dim, 5);
  Buffer<float> out(qkv.size() / 3);
  Buffer<float> scratch(attention_scratch(shape) + attention_i16_scratch(shape));
  const auto run = [&] {
    for (int32_t head = 0; head < shape.heads; ++head) {
      if (kIntegers) {
        table().attention_i16(shape, head, qkv.data(), nullptr, scratch.data(), out.data());
      } else {
        table().attention(shape, head, qkv.data(), nullptr, scratch.data(), out.data());
      }
    }
  };
  run();
  const auto exact = ref::attention(shape, qkv.data());
  for (size_t i = 0; i < exact.size(); ++i) {
    if (std::abs(exact[i] - out[i]) <= (kIntegers ? kAttentionI16Bound : kAttentionBound)) continue;
    state.SkipWithError("wrong answer: not timed");
    return;
  }
  for (auto _ : state) run();
  state.SetLabel(std::string(table().tier));
}

#define SIGNALBOX_LENGTHS \
  Args({128, kNoWindow})->Args({512, kNoWindow})->Args({512, 64})->Unit(benchmark::kMillisecond)
BENCHMARK(BM_Attention<false>)->Name("attention/f32")->SIGNALBOX_LENGTHS;
BENCHMARK(BM_Attention<true>)->Name("attention/i16")->SIGNALBOX_LENGTHS;

}  // namespace
}  // namespace signalbox::kernels

BENCHMARK_MAIN();
