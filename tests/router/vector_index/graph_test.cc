// Tests the index with a graph instead of a scan: it finds what a scan finds, also after rows were
// removed and added; searches may run during changes; and a seed always gives the same graph.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "router/vector_index/index.h"
#include "tests/router/vector_index/vectors.h"

namespace signalbox::vector_index {
namespace {

constexpr int32_t kGraphDim = 384;
constexpr size_t kHits = 10;

std::unique_ptr<VectorIndex> graph_of(size_t graph_rows_min, uint64_t seed = 1,
                                      int32_t dim = kGraphDim) {
  return VectorIndex::create({.dim = dim, .seed = seed, .graph_rows_min = graph_rows_min}).value();
}

std::unique_ptr<VectorIndex> scan(int32_t dim = kGraphDim) {
  return graph_of(SIZE_MAX, 1, dim);
}

std::vector<uint64_t> search(const VectorIndex& index, const Vector& x, size_t k = kHits) {
  const auto hits = index.search(0, x, k).value();
  std::vector<uint64_t> out;
  for (const Hit& hit : hits) out.push_back(hit.id);
  return out;
}

// Returns the share of the scan's results that the graph also finds.
double recall(const VectorIndex& scan, const VectorIndex& graph, Vectors& queries) {
  constexpr size_t kQueries = 200;
  size_t found = 0;
  for (size_t i = 0; i < kQueries; ++i) {
    const Vector x = queries.next();
    const auto exact = search(scan, x);
    for (const uint64_t id : search(graph, x)) found += std::ranges::count(exact, id);
  }
  return static_cast<double>(found) / (kQueries * kHits);
}

class VectorGraphOf : public testing::TestWithParam<Spread> {};
INSTANTIATE_TEST_SUITE_P(Spreads, VectorGraphOf,
                         testing::Values(Spread::kClustered, Spread::kEven));

TEST_P(VectorGraphOf, agrees_with_a_scan_before_and_after_every_row_was_replaced) {
  constexpr size_t kRows = 2'000;
  Vectors vectors(GetParam(), kGraphDim, kRows, 1), queries(GetParam(), kGraphDim, kRows, 2);
  auto exact = scan();
  auto graph = graph_of(64);
  const auto add = [&](uint64_t id) {
    const Vector x = vectors.next();
    ASSERT_TRUE(exact->add(id, 0, x));
    ASSERT_TRUE(graph->add(id, 0, x));
  };
  for (uint64_t id = 0; id < kRows; ++id) add(id);
  EXPECT_GE(recall(*exact, *graph, queries), 0.98);
  for (uint64_t id = kRows; id < 3 * kRows; ++id) {  // removes the oldest, adds a new one
    ASSERT_TRUE(exact->remove(id - kRows));
    ASSERT_TRUE(graph->remove(id - kRows));
    add(id);
  }
  EXPECT_GE(recall(*exact, *graph, queries), 0.98);
  for (uint64_t id = 2 * kRows; id < 3 * kRows; ++id) {  // removes nine of ten, adds none
    if (id % 10 == 0) continue;
    exact->remove(id);
    graph->remove(id);
  }
  EXPECT_GE(recall(*exact, *graph, queries), 0.98);
}

TEST(VectorGraph, finds_every_row_by_its_own_vector_and_no_removed_row) {
  constexpr uint64_t kRows = 2'000;
  Vectors vectors(Spread::kClustered, 64, kRows, 3);
  auto index = graph_of(100, 1, 64);
  std::vector<Vector> rows;
  for (uint64_t id = 0; id < kRows; ++id) {
    rows.push_back(vectors.next());
    ASSERT_TRUE(index->add(id, 0, rows.back()));
  }
  for (uint64_t id = 0; id < kRows; id += 2) ASSERT_TRUE(index->remove(id));
  for (uint64_t id = 0; id < kRows; ++id) {
    const auto found = search(*index, rows[id], 1);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0] == id, id % 2 == 1) << id;
  }
}

TEST(VectorGraph, rows_that_are_not_in_the_graph_yet_are_found) {
  Vectors vectors(Spread::kEven, kGraphDim, 1'000, 4);
  auto index = graph_of(600);
  std::vector<Vector> rows;
  for (uint64_t id = 0; id < 1'000; ++id) {
    rows.push_back(vectors.next());
    ASSERT_TRUE(index->add(id, 0, rows.back()));
    if (id % 50 == 3) index->remove(id - 3);
    for (uint64_t back = 0; back <= std::min<uint64_t>(id, 600); back += 100) {
      if ((id - back) % 50 == 0) continue;
      ASSERT_EQ(search(*index, rows[id - back], 1)[0], id - back) << id;
    }
  }
}

TEST(VectorGraph, many_equal_rows_do_not_hide_the_others) {
  Vectors vectors(Spread::kEven, kGraphDim, 1'000, 5);
  auto exact = scan();
  auto graph = graph_of(50);
  const Vector same = vectors.next();
  for (uint64_t id = 0; id < 1'500; ++id) {
    const Vector x = id % 3 == 0 ? vectors.next() : id % 3 == 1 ? same : vectors.near(same, 0.9f);
    ASSERT_TRUE(exact->add(id, 0, x));
    ASSERT_TRUE(graph->add(id, 0, x));
  }
  Vectors queries(Spread::kEven, kGraphDim, 1'000, 6);
  size_t found = 0;  // equal vectors count as the same
  for (int i = 0; i < 100; ++i) {
    const Vector x = i % 2 == 0 ? queries.next() : queries.near(same, 0.7f);
    const float worst = exact->search(0, x, kHits)->back().cosine;
    const auto hits = graph->search(0, x, kHits).value();
    found += std::ranges::count_if(hits, [&](const Hit& hit) { return hit.cosine >= worst; });
  }
  EXPECT_GE(found, 980u);
  EXPECT_NEAR(graph->search(0, same, 1)->front().cosine, 1, 1e-6);
}

TEST(VectorGraph, equal_seeds_build_equal_graphs) {
  const auto answers = [](uint64_t seed) {
    Vectors vectors(Spread::kIndependent, kGraphDim, 2'000, 7);
    auto index = graph_of(50, seed);
    for (uint64_t id = 0; id < 2'000; ++id) {
      EXPECT_TRUE(index->add(id, 0, vectors.next()));
      if (id % 5 == 4) index->remove(id - 3);
    }
    std::vector<std::vector<uint64_t>> out;
    for (int i = 0; i < 100; ++i) out.push_back(search(*index, vectors.next(), 100));
    return out;
  };
  const auto first = answers(1);
  EXPECT_EQ(first, answers(1));
  EXPECT_NE(first, answers(2));
}

TEST(VectorGraph, partitions_of_any_size_stay_apart) {
  Vectors vectors(Spread::kClustered, kGraphDim, 1'000, 8);
  auto index = graph_of(300);
  for (uint64_t id = 0; id < 1'500; ++id)
    ASSERT_TRUE(index->add(id, id % 100 == 0 ? 1 : id % 2 * 2, vectors.next()));
  for (int i = 0; i < 100; ++i) {
    const Vector x = vectors.next();
    for (const Hit& hit : std::vector<Hit>(index->search(1, x, 50).value())) {
      EXPECT_EQ(hit.id % 100, 0u);
    }
    for (const Hit& hit : std::vector<Hit>(index->search(2, x, 50).value())) {
      EXPECT_EQ(hit.id % 2, 1u);
    }
  }
}

TEST(VectorGraph, searches_run_beside_changes) {
  constexpr uint64_t kRows = 600;
  Vectors vectors(Spread::kClustered, 64, kRows, 9);
  auto index = graph_of(150, 1, 64);
  std::atomic<bool> is_over = false;
  std::vector<std::thread> readers;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    readers.emplace_back([&index, &is_over, seed] {
      Vectors queries(Spread::kClustered, 64, kRows, 20 + seed);
      do {
        const auto hits = index->search(seed % 2, queries.next(), kHits).value();
        for (size_t i = 1; i < hits.size(); ++i) {
          ASSERT_GE(hits[i - 1].cosine, hits[i].cosine);
          ASSERT_NE(hits[i - 1].id, hits[i].id);
        }
      } while (!is_over);
    });
  }
  for (uint64_t id = 0; id < kRows; ++id) {
    EXPECT_TRUE(index->add(id, id % 2, vectors.next()));
    if (id % 3 == 2) {
      EXPECT_TRUE(index->remove(id - 2));
    }
  }
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(index->size(), kRows - kRows / 3);
}

}  // namespace
}  // namespace signalbox::vector_index
