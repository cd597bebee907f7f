// A loaded snapshot must answer like the index that was saved. Any other file contents must be
// refused.

#include "router/vector_index/snapshot.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "router/vector_index/index.h"
#include "tests/router/vector_index/vectors.h"

namespace signalbox::vector_index {
namespace {

namespace fs = std::filesystem;

constexpr int32_t kSnapshotDim = 24;
constexpr uint64_t kRows = 500;
constexpr VectorIndexOptions kOptions{.dim = kSnapshotDim, .graph_rows_min = 100};

class VectorSnapshot : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_);
    index_ = VectorIndex::create(kOptions).value();
    for (uint64_t id = 0; id < kRows; ++id) {
      ASSERT_TRUE(index_->add(id, partition_of(id), vectors_.next()));
      if (id % 9 == 8) index_->remove(id - 5);
    }
    ASSERT_TRUE(index_->save(path()));
    std::ifstream file(path(), std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  void TearDown() override { fs::remove_all(directory_); }

  // One partition has a graph, one is scanned, and some have a single row.
  static uint64_t partition_of(uint64_t id) { return id < 490 ? id % 5 == 0 : id; }
  fs::path path() const { return directory_ / "sub" / "vectors"; }
  // Returns the bytes with a valid checksum.
  static std::string signed_again(std::string bytes) {
    bytes.resize(bytes.size() - sizeof(uint64_t));
    Checksum sum;
    sum.add(bytes);
    const uint64_t value = sum.value();
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return bytes;
  }
  static std::string message_of(std::string_view bytes) {
    const auto index = VectorIndex::parse(kOptions, bytes);
    return index ? "none" : index.error().message;
  }

  fs::path directory_ =
      fs::temp_directory_path() / fmt::format("vector_snapshot_test_{}", ::getpid());
  Vectors vectors_{Spread::kClustered, kSnapshotDim, kRows, 1};
  std::unique_ptr<VectorIndex> index_;
  std::string bytes_;
};

TEST_F(VectorSnapshot, answers_like_the_saved_index_and_accepts_changes) {
  const auto loaded = VectorIndex::load(kOptions, path()).value();
  const auto expect_same = [&] {
    ASSERT_EQ(loaded->size(), index_->size());
    for (int i = 0; i < 100; ++i) {
      const Vector x = vectors_.next();
      for (const uint64_t partition : {0, 1, 495}) {
        const auto before = index_->search(partition, x, 20).value();
        const auto after = loaded->search(partition, x, 20).value();
        ASSERT_EQ(after.size(), before.size());
        for (size_t k = 0; k < before.size(); ++k) {
          EXPECT_EQ(after[k].id, before[k].id);
          EXPECT_EQ(after[k].cosine, before[k].cosine);
        }
      }
    }
  };
  expect_same();
  for (uint64_t id = kRows; id < 2 * kRows; ++id) {
    const Vector x = vectors_.next();
    ASSERT_TRUE(index_->add(id, id % 2, x));
    ASSERT_TRUE(loaded->add(id, id % 2, x));
    EXPECT_EQ(loaded->remove(id - kRows), index_->remove(id - kRows));
  }
  expect_same();
}

TEST_F(VectorSnapshot, an_empty_index_is_restored) {
  ASSERT_TRUE(VectorIndex::create(kOptions).value()->save(path()));
  EXPECT_EQ(VectorIndex::load(kOptions, path()).value()->size(), 0u);
}

TEST_F(VectorSnapshot, every_cut_and_every_changed_byte_is_refused) {
  for (size_t size = 0; size < bytes_.size(); size += 397)
    ASSERT_NE(message_of(std::string_view(bytes_).substr(0, size)), "none") << size;
  for (size_t at = 0; at < bytes_.size(); at += 301) {
    std::string changed = bytes_;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    ASSERT_NE(message_of(changed), "none") << at;
  }
}

TEST_F(VectorSnapshot, a_file_that_contradicts_itself_is_refused_or_harmless) {
  const auto with = [&](size_t at, char value) {
    std::string changed = bytes_;
    changed[at] = value;
    return signed_again(changed);
  };
  EXPECT_EQ(message_of(signed_again(bytes_)), "none");
  EXPECT_EQ(message_of(with(8, 2)), "a snapshot of version 2 (known: 1)");
  EXPECT_EQ(message_of(with(12, 25)), "a snapshot of vectors of 25 values, expected 24");
  EXPECT_EQ(message_of(with(39, 1)), "a snapshot of 72057594037928381 rows (at most 16000000)");
  for (size_t at = 16; at < bytes_.size() - 8; at += 151) {
    const auto index = VectorIndex::parse(kOptions, with(at, '\x7f'));
    if (!index) continue;
    for (uint64_t id = 0; id < kRows; id += 3) (*index)->remove(id);
    EXPECT_TRUE((*index)->search(0, vectors_.next(), 5));
  }
}

TEST_F(VectorSnapshot, errors_name_the_file_and_leave_the_old_one) {
  EXPECT_EQ(VectorIndex::load(kOptions, path() / "none").error().code, Code::kIo);
  EXPECT_EQ(VectorIndex::load(kOptions, directory_ / "none").error().code, Code::kNotFound);
  auto other = kOptions;
  other.rows_max = 10;
  const auto too_many = VectorIndex::load(other, path());
  EXPECT_EQ(too_many.error().code, Code::kTooLarge);
  EXPECT_TRUE(too_many.error().message.starts_with(path().string()));
  EXPECT_FALSE(index_->save(directory_ / "sub" / "vectors" / "below_a_file"));
  EXPECT_TRUE(VectorIndex::load(kOptions, path()));
}

}  // namespace
}  // namespace signalbox::vector_index
