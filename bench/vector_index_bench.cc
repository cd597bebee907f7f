// Nearest vectors of 384 dimensions: the exact scan, the graph, and a scan by OpenBLAS's sgemv on
// one thread, with 1,000 to 100,000 rows, or a million with --million. The queries are new vectors
// of the same distribution as the rows. Each method's ten best are first checked against the exact
// scan. Reports the recall, the slowest searches in processor time, and the memory per row.

#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <set>

#include "router/vector_index/index.h"
#include "tests/router/vector_index/vectors.h"

namespace signalbox::vector_index {
namespace {

constexpr int32_t kDim = 384;
constexpr size_t kHits = 10;
constexpr size_t kQueries = 500;

// This thread's processor time, which excludes other processes on a shared machine.
double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::set<uint64_t> ids_of(const VectorIndex& index, const Vector& query) {
  const auto hits = index.search(0, query, kHits).value();
  std::set<uint64_t> out;
  for (const Hit& hit : hits) out.insert(hit.id);
  return out;
}

struct Made {
  std::unique_ptr<VectorIndex> index;
  double build_seconds = 0;
  double slowest_add_ms = 0;
};

Made make(Spread spread, size_t rows, bool is_graph) {
  Made out;
  out.index = VectorIndex::create({.dim = kDim, .graph_rows_min = is_graph ? 1 : SIZE_MAX}).value();
  Vectors vectors(spread, kDim, rows, 1);
  for (size_t id = 0; id < rows; ++id) {
    const Vector x = vectors.next();
    const double start = seconds();
    SIGNALBOX_CHECK(out.index->add(id, 0, x).has_value());
    const double taken = seconds() - start;
    out.build_seconds += taken;
    out.slowest_add_ms = std::max(out.slowest_add_ms, 1e3 * taken);
  }
  return out;
}

// Only one set of rows exists at a time, because large ones fill the memory.
struct Rows {
  Spread spread{};
  size_t rows = 0;
  Made scan, graph;
  std::vector<Vector> queries;
  std::vector<std::set<uint64_t>> nearest;  // (queries)
};

Rows& rows_of(Spread spread, size_t rows, bool with_graph) {
  static Rows made;
  if (made.rows != rows || made.spread != spread) {
    made = Rows{spread, rows, make(spread, rows, false), {}, {}, {}};
    Vectors vectors(spread, kDim, rows, 2);
    for (size_t i = 0; i < kQueries; ++i) {
      made.queries.push_back(vectors.next());
      made.nearest.push_back(ids_of(*made.scan.index, made.queries.back()));
    }
  }
  if (with_graph && made.graph.index == nullptr) made.graph = make(spread, rows, true);
  return made;
}

double recall_of(const Rows& rows, const VectorIndex& index) {
  double found = 0;
  for (size_t i = 0; i < kQueries; ++i) {
    const auto ids = ids_of(index, rows.queries[i]);
    for (const uint64_t id : ids) found += static_cast<double>(rows.nearest[i].count(id));
  }
  return found / (kQueries * kHits);
}

void search(benchmark::State& state, Spread spread, size_t n, bool is_graph) {
  const Rows& rows = rows_of(spread, n, is_graph);
  const Made& made = is_graph ? rows.graph : rows.scan;
  const double recall = recall_of(rows, *made.index);
  if (recall < (spread == Spread::kIndependent ? 0.0 : 0.98))
    return state.SkipWithError(fmt::format("recall of {:.4f}", recall).c_str());
  std::vector<double> times;
  for (size_t i = 0; state.KeepRunning(); ++i) {
    const double start = seconds();
    benchmark::DoNotOptimize(made.index->search(0, rows.queries[i % kQueries], kHits));
    times.push_back(1e6 * (seconds() - start));
  }
  std::ranges::sort(times);
  state.counters["recall"] = recall;
  state.counters["p50_us"] = times[times.size() / 2];
  state.counters["p99_us"] = times[times.size() * 99 / 100];
  state.counters["row_bytes"] = static_cast<double>(made.index->bytes()) / static_cast<double>(n);
  state.counters["add_us"] = 1e6 * made.build_seconds / static_cast<double>(n);
  state.counters["add_max_ms"] = made.slowest_add_ms;
}

void openblas(benchmark::State& state, size_t n) {
  Vectors vectors(Spread::kEven, kDim, n, 1);
  std::vector<float> rows, cosines(n);
  for (size_t i = 0; i < n; ++i) {
    const Vector x = vectors.next();
    rows.insert(rows.end(), x.begin(), x.end());
  }
  const Vector query = vectors.next();
  openblas_set_num_threads(1);
  std::vector<uint32_t> order(n);
  for (auto _ : state) {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, static_cast<int>(n), kDim, 1, rows.data(), kDim,
                query.data(), 1, 0, cosines.data(), 1);
    for (uint32_t i = 0; i < n; ++i) order[i] = i;
    std::ranges::partial_sort(order, order.begin() + kHits, std::greater<>(),
                              [&](uint32_t i) { return cosines[i]; });
    benchmark::DoNotOptimize(order.data());
  }
  state.counters["row_bytes"] = kDim * sizeof(float);
}

void add_benchmarks(bool with_million) {
  std::vector<size_t> sizes{1'000, 10'000, 100'000};
  if (with_million) sizes = {1'000'000};
  const std::pair<const char*, Spread> spreads[] = {{"clustered", Spread::kClustered},
                                                    {"even", Spread::kEven},
                                                    {"independent", Spread::kIndependent}};
  for (const size_t n : sizes) {
    for (const auto& [name, spread] : spreads) {
      for (const bool is_graph : {false, true}) {
        const std::string full = fmt::format("{}/{}/{}", is_graph ? "graph" : "scan", name, n);
        benchmark::RegisterBenchmark(full.c_str(), search, spread, n, is_graph)
            ->Unit(benchmark::kMicrosecond);
      }
    }
    benchmark::RegisterBenchmark(fmt::format("openblas/{}", n).c_str(), openblas, n)
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace signalbox::vector_index

int main(int argc, char** argv) {
  const auto is_million = [](const char* arg) { return std::strcmp(arg, "--million") == 0; };
  const auto end = std::remove_if(argv + 1, argv + argc, is_million);
  const bool with_million = end != argv + argc;
  argc = static_cast<int>(end - argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  signalbox::vector_index::add_benchmarks(with_million);
  benchmark::RunSpecifiedBenchmarks();
}
