// Tests the interface of the vector index: it returns the nearest rows of a partition, and is exact
// while the partition is small.

#include "router/vector_index/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace signalbox::vector_index {
namespace {

constexpr int32_t kIndexDim = 384;
using Vector = std::vector<float>;

Vector random_unit(std::mt19937& random, int32_t dim = kIndexDim) {
  std::normal_distribution<float> normal;
  Vector x(static_cast<size_t>(dim));
  double squares = 0;
  for (float& value : x) {
    value = normal(random);
    squares += static_cast<double>(value) * value;
  }
  for (float& value : x) value /= static_cast<float>(std::sqrt(squares));
  return x;
}

float cosine(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return static_cast<float>(sum);
}

std::unique_ptr<VectorIndex> index_of(int32_t dim = kIndexDim, size_t rows_max = 1'000'000) {
  auto index = VectorIndex::create({.dim = dim, .rows_max = rows_max});
  EXPECT_TRUE(index) << index.error().message;
  return *std::move(index);
}

std::vector<uint64_t> ids_of(const std::vector<Hit>& hits) {
  std::vector<uint64_t> out;
  for (const Hit& hit : hits) out.push_back(hit.id);
  return out;
}

TEST(VectorIndex, finds_the_nearest_best_first) {
  for (const int32_t dim : {1, 2, 7, 100, kIndexDim, 1024}) {
    std::mt19937 random(1);
    auto index = index_of(dim);
    std::vector<Vector> rows;
    for (uint64_t id = 0; id < 200; ++id) {
      rows.push_back(random_unit(random, dim));
      ASSERT_TRUE(index->add(id, 0, rows.back()));
    }
    const Vector query = random_unit(random, dim);
    const auto hits = *index->search(0, query, 20);
    ASSERT_EQ(hits.size(), 20u);
    std::vector<float> exact;
    for (const Vector& row : rows) exact.push_back(cosine(query, row));
    std::ranges::sort(exact, std::greater<>());
    for (size_t i = 0; i < hits.size(); ++i) {
      EXPECT_NEAR(hits[i].cosine, cosine(query, rows[hits[i].id]), 0.005) << dim;
      EXPECT_NEAR(hits[i].cosine, exact[i], 0.005) << dim;
      if (i > 0) {
        EXPECT_LE(hits[i].cosine, hits[i - 1].cosine);
      }
    }
  }
}

TEST(VectorIndex, cosines_are_those_of_a_search) {
  std::mt19937 random(3);
  auto index = index_of();
  for (uint64_t id = 0; id < 100; ++id) ASSERT_TRUE(index->add(id, id % 3, random_unit(random)));
  const Vector query = random_unit(random);
  for (uint64_t id = 0; id < 100; id += 7) EXPECT_TRUE(index->remove(id));
  std::vector<uint64_t> ids(101);
  std::iota(ids.begin(), ids.end(), uint64_t{0});
  const auto cosines = *index->cosines(ids, query);
  size_t found = 0;
  for (const uint64_t partition : {0U, 1U, 2U}) {
    const auto hits = *index->search(partition, query, 100);
    for (const Hit& hit : hits) {
      EXPECT_EQ(cosines[hit.id], hit.cosine);
      ++found;
    }
  }
  EXPECT_EQ(found, 85U);
  EXPECT_EQ(std::ranges::count(cosines, std::optional<float>()), 16);
  EXPECT_FALSE(index->cosines(ids, Vector(3)));
}

TEST(VectorIndex, a_vector_has_similarity_one_to_itself_whatever_its_length) {
  std::mt19937 random(2);
  for (const float length : {1.0f, 1e-18f, 1e15f}) {
    auto index = index_of();
    Vector x = random_unit(random);
    for (float& value : x) value *= length;
    ASSERT_TRUE(index->add(7, 0, x));
    const auto hits = *index->search(0, x, 1);
    ASSERT_EQ(hits.size(), 1u);
    EXPECT_NEAR(hits[0].cosine, 1, 1e-6);
    EXPECT_LE(hits[0].cosine, 1);
  }
}

TEST(VectorIndex, never_returns_a_row_of_another_partition) {
  std::mt19937 random(3);
  auto index = index_of();
  const Vector x = random_unit(random);
  for (uint64_t id = 0; id < 90; ++id)
    ASSERT_TRUE(index->add(id, id % 3, id < 3 ? x : random_unit(random)));
  for (uint64_t partition = 0; partition < 3; ++partition) {
    const auto hits = *index->search(partition, x, 1000);
    EXPECT_EQ(hits.size(), 30u);
    EXPECT_EQ(hits[0].id, partition);
    for (const Hit& hit : hits) EXPECT_EQ(hit.id % 3, partition);
  }
  EXPECT_TRUE(index->search(3, x, 10)->empty());
  EXPECT_TRUE(index->search(0, x, 0)->empty());
}

TEST(VectorIndex, removed_rows_are_gone_and_the_others_stay) {
  std::mt19937 random(4);
  auto index = index_of();
  std::vector<Vector> rows;
  for (uint64_t id = 0; id < 100; ++id) {
    rows.push_back(random_unit(random));
    ASSERT_TRUE(index->add(id, id % 2, rows.back()));
  }
  for (uint64_t id = 0; id < 100; id += 3) EXPECT_TRUE(index->remove(id));
  EXPECT_FALSE(index->remove(0));
  EXPECT_FALSE(index->contains(0));
  EXPECT_EQ(index->size(), 66u);
  EXPECT_EQ(index->ids().size(), 66u);
  for (uint64_t id = 0; id < 100; ++id) {
    const auto hits = *index->search(id % 2, rows[id], 1);
    EXPECT_EQ(hits[0].id == id, id % 3 != 0) << id;
  }
  for (uint64_t id = 0; id < 100; ++id) index->remove(id);
  EXPECT_EQ(index->size(), 0u);
  EXPECT_TRUE(index->search(0, rows[0], 1)->empty());
}

TEST(VectorIndex, equally_similar_rows_come_in_the_order_of_their_ids) {
  std::mt19937 random(5);
  auto index = index_of();
  const Vector x = random_unit(random);
  for (const uint64_t id : {5, 9, 1, 7, 3}) ASSERT_TRUE(index->add(id, 0, x));
  EXPECT_EQ(ids_of(*index->search(0, x, 3)), (std::vector<uint64_t>{1, 3, 5}));
}

TEST(VectorIndex, refuses_vectors_without_a_direction) {
  auto index = index_of(4, 2);
  const float nan = std::nanf("");
  for (const Vector& bad : {Vector{1, 2, 3}, Vector{0, 0, 0, 0}, Vector{1, nan, 0, 0},
                            Vector{INFINITY, 0, 0, 0}, Vector{}}) {
    const auto added = index->add(1, 0, bad);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Code::kInvalid);
    EXPECT_FALSE(index->search(0, bad, 1));
  }
  ASSERT_TRUE(index->add(1, 0, Vector{1, 0, 0, 0}));
  EXPECT_EQ(index->add(1, 5, Vector{1, 0, 0, 0}).error().message,
            "id 1 is already in the vector index");
  ASSERT_TRUE(index->add(2, 0, Vector{1, 0, 0, 0}));
  EXPECT_EQ(index->add(3, 0, Vector{1, 0, 0, 0}).error().code, Code::kTooLarge);
  EXPECT_FALSE(VectorIndex::create({.dim = 0}));
  EXPECT_FALSE(VectorIndex::create({.dim = VectorIndex::kDimMax + 1}));
}

}  // namespace
}  // namespace signalbox::vector_index
