// Matrix products of MiniLM's shapes against OpenBLAS on one thread, the weights of six layers
// streaming as in a model. Checks first that both give the same answer within the rounding bound of
// the tests.

#include <benchmark/benchmark.h>
#include <cblas.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "tests/kernels/cases.h"

namespace signalbox::kernels {
namespace {

struct Shape {
  int32_t in;
  int32_t out;
};

constexpr int kLayers = 6;
constexpr Shape kShapes[] = {{384, 1152}, {384, 384}, {384, 1536}, {1536, 384}};

struct Product {
  Shape shape;
  std::vector<float> w;       // (out, in)
  std::vector<float> packed;  // as the tier lays it out
};

struct Network {
  const Table& table = *active_table().value();
  std::vector<Product> products;
  std::vector<float> x = std::vector<float>(512 * 1536);  // (rows, in)

  Network() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(random);
    for (int layer = 0; layer < kLayers; ++layer) {
      for (const Shape& shape : kShapes) {
        Product product{shape, std::vector<float>(shape.in * shape.out), {}};
        for (float& value : product.w) value = normal(random);
        product.packed.resize(table.packed_linear_size(shape.in, shape.out));
        table.pack_linear(shape.in, shape.out, product.w.data(), product.packed.data());
        products.push_back(std::move(product));
      }
    }
  }

  void ours(const Product& product, int32_t rows, float* y) const {
    table.linear(rows, product.shape.in, product.shape.out, x.data(), product.packed.data(), y);
  }

  void openblas(const Product& product, int32_t rows, float* y) const {
    const auto [in, out] = product.shape;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1, x.data(), in,
                product.w.data(), in, 0, y, out);
  }

  bool agree(int32_t rows) const {
    for (const Product& product : products) {
      std::vector<float> a(rows * product.shape.out), b(a.size());
      ours(product, rows, a.data());
      openblas(product, rows, b.data());
      for (size_t i = 0; i < a.size(); ++i) {
        if (!(std::abs(a[i] - b[i]) <= 2 * linear_bound(product.shape.in))) return false;
      }
    }
    return true;
  }
};

template <void (Network::*kMultiply)(const Product&, int32_t, float*) const>
void BM_Linear(benchmark::State& state) {
  static const Network network;
  openblas_set_num_threads(1);
  const auto rows = static_cast<int32_t>(state.range(0));
  if (!network.agree(rows)) {
    state.SkipWithError("wrong answer: not timed");
    return;
  }
  std::vector<float> y(512 * 1536);
  double flop = 0;
  for (const Product& product : network.products)
    flop += 2.0 * rows * product.shape.in * product.shape.out;
  for (auto _ : state) {
    for (const Product& product : network.products) (network.*kMultiply)(product, rows, y.data());
    benchmark::ClobberMemory();
  }
  state.counters["GFLOP/s"] = benchmark::Counter(
      1e-9 * flop * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.SetLabel(std::string(network.table.tier));
}

#define SIGNALBOX_ROWS Arg(8)->Arg(16)->Arg(32)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond)
BENCHMARK(BM_Linear<&Network::ours>)->Name("linear/ours")->SIGNALBOX_ROWS;
BENCHMARK(BM_Linear<&Network::openblas>)->Name("linear/openblas")->SIGNALBOX_ROWS;

}  // namespace
}  // namespace signalbox::kernels

BENCHMARK_MAIN();
