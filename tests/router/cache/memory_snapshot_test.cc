// A new process must load the entries that an earlier one saved, except expired ones. A file with
// any other content than was written is refused as a whole.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "router/cache/memory_store.h"

namespace signalbox::cache {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Clocks kThen{TimePoint(seconds(1000)), std::chrono::system_clock::time_point(hours(480'000))};
// A later process: its steady clock starts anew, and two minutes have passed.
const Clocks kLoadTime{TimePoint(seconds(5)), kThen.wall + seconds(120)};

std::vector<float> direction(int i) {
  return {std::cos(static_cast<float>(i)), std::sin(static_cast<float>(i)), 0.5F};
}

Entry entry(int i, seconds lives) {
  Entry out;
  out.id = "id" + std::to_string(i);
  out.partition = "00000000000000ab";
  out.question = "question " + std::to_string(i);
  out.vector = direction(i);
  out.reply = std::string("{\"bytes\":\"\0\"}", 13);
  out.recipe = "r";
  out.decision = "d";
  out.model = "m";
  out.created = kThen.steady - seconds(10);
  out.expires = kThen.steady + lives;
  return out;
}

class MemorySnapshot : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  std::filesystem::path path() const { return directory_ / "answers"; }
  /// Writes ten entries. Those with odd numbers live for an hour, the others for a minute.
  void write() const {
    MemoryStore store({});
    for (int i = 0; i < 10; ++i)
      ASSERT_TRUE(store.put(entry(i, i % 2 == 1 ? hours(1) : seconds(60)), kThen.steady));
    ASSERT_TRUE(store.save(path(), kThen));
  }

 private:
  std::filesystem::path directory_;
};

/// Returns the ids, nearest first.
std::vector<std::string> nearest(MemoryStore& store, const std::vector<float>& x,
                                 std::string_view partition = "00000000000000ab") {
  const auto found = store.nearest(partition, x, 0, 10, kLoadTime.steady);
  std::vector<std::string> out;
  if (!found) return out;
  for (const Near& near : *found) out.push_back(near.entry->id);
  return out;
}

void expect_odd_ones(MemoryStore& store) {
  for (int i = 0; i < 10; ++i) {
    const auto found = *store.find("id" + std::to_string(i), kLoadTime.steady);
    ASSERT_EQ(found != nullptr, i % 2 == 1) << i;
    if (found == nullptr) continue;
    EXPECT_EQ(found->question, entry(i, {}).question);
    EXPECT_EQ(found->reply, entry(i, {}).reply);
    EXPECT_EQ(found->vector, direction(i));
    EXPECT_EQ(kLoadTime.steady - found->created, seconds(130));
    EXPECT_EQ(found->expires - kLoadTime.steady, hours(1) - seconds(120));
  }
  EXPECT_EQ(nearest(store, direction(3)).front(), "id3");
  EXPECT_TRUE(nearest(store, direction(3), "00000000000000ac").empty());
}

TEST_F(MemorySnapshot, restores_unexpired_entries_in_the_next_process) {
  write();
  MemoryStore store({});
  EXPECT_EQ(*store.load(path(), kLoadTime), 5U);
  expect_odd_ones(store);
  // Entries that are added or removed later behave as usual.
  Entry another = entry(20, hours(1));
  another.expires = kLoadTime.steady + hours(1);
  ASSERT_TRUE(store.put(another, kLoadTime.steady));
  EXPECT_EQ(nearest(store, direction(20)).front(), "id20");
  EXPECT_EQ(*store.remove("id3"), 1U);
  const std::vector<std::string> left = nearest(store, direction(3));
  EXPECT_EQ(std::ranges::count(left, "id3"), 0);
}

TEST_F(MemorySnapshot, only_its_owner_can_read_it) {
  write();
  for (const char* ending : {"", ".index"}) {
    EXPECT_EQ(std::filesystem::status(path().string() + ending).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << ending;
  }
}

TEST_F(MemorySnapshot, rebuilds_an_index_that_is_missing_or_does_not_fit) {
  write();
  std::filesystem::remove(path().string() + ".index");
  MemoryStore without({});
  EXPECT_EQ(*without.load(path(), kLoadTime), 5U);
  expect_odd_ones(without);

  MemoryStore later({});
  ASSERT_TRUE(later.put(entry(77, hours(1)), kThen.steady));
  const auto elsewhere = path().parent_path() / "other";
  ASSERT_TRUE(later.save(elsewhere, kThen));
  std::filesystem::rename(elsewhere.string() + ".index", path().string() + ".index");
  MemoryStore with_another({});
  EXPECT_EQ(*with_another.load(path(), kLoadTime), 5U);
  expect_odd_ones(with_another);
}

TEST_F(MemorySnapshot, keeps_within_the_limits_of_the_new_process) {
  write();
  MemoryStore store({.entries = 2});
  EXPECT_EQ(*store.load(path(), kLoadTime), 2U);
  EXPECT_EQ(*store.find("id5", kLoadTime.steady), nullptr);
  EXPECT_NE(*store.find("id9", kLoadTime.steady), nullptr);
}

TEST_F(MemorySnapshot, refuses_missing_cut_and_changed_files) {
  MemoryStore store({});
  EXPECT_EQ(store.load(path(), kLoadTime).error().code, Code::kNotFound);
  write();
  const std::string bytes = *read_file(path(), 1 << 20);
  for (const size_t size : {size_t{0}, size_t{7}, bytes.size() / 2, bytes.size() - 1})
    EXPECT_EQ(store.parse(bytes.substr(0, size), kLoadTime).error().code, Code::kCorrupt) << size;
  for (size_t at = 0; at < bytes.size(); at += 11) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    EXPECT_FALSE(store.parse(changed, kLoadTime)) << at;
  }
  EXPECT_EQ(store.figures().entries, 0U);
  EXPECT_EQ(*store.parse(bytes, kLoadTime), 5U);
}

}  // namespace
}  // namespace signalbox::cache
