// Tests the store over files: restarts, and disks that are full, lost, damaged or contain somebody
// else's files. Then tests it over a level that several routers share.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "base/file.h"
#include "tests/router/contexts/stores.h"

namespace signalbox::contexts {
namespace {

TEST(DiskStore, keeps_contexts_and_pins_over_a_restart) {
  const Folder folder;
  Key pinned, other, dropped;
  {
    Store store({}, disk_level(folder), kNow);
    pinned = put(store, said("pinned", 100), kNow, "tenant \"x\"\n");
    other = put(store, said("other", 100));
    dropped = put(store, said("dropped", 100));
    ASSERT_TRUE(store.pin(pinned, true));
    ASSERT_TRUE(store.pin(dropped, true));
    ASSERT_TRUE(store.drop(dropped));
  }
  EXPECT_EQ(folder.files(".pin").size(), 1U);
  Store store({}, disk_level(folder), kNow + 7);
  EXPECT_TRUE(store.rejected().empty());
  EXPECT_EQ(store.stats().contexts, 2U);
  EXPECT_EQ(store.stats().in_memory, 0U);
  EXPECT_EQ(store.stats().pinned, 1U);
  EXPECT_EQ(store.stats().bytes, said("pinned", 100).size() + said("other", 100).size());
  EXPECT_TRUE(store.find(pinned)->pinned);
  EXPECT_EQ(store.find(other)->created, kNow);
  EXPECT_EQ(text_of(store.get(pinned, kNow)), said("pinned", 100));
  EXPECT_EQ(text_of(store.get(other, kNow)), said("other", 100));
  EXPECT_EQ(store.get(dropped, kNow).error().code, Code::kNotFound);
}

TEST(DiskStore, belongs_to_one_process_at_a_time) {
  const Folder folder;
  const auto held = disk_level(folder);
  const auto second = DiskLevel::open(folder.path(), 1);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            fmt::format("{}: another process uses it", folder.path().string()));
}

TEST(DiskStore, a_directory_that_cannot_be_made_is_named) {
  const Folder folder;
  std::ofstream(folder.path() / "file") << "x";
  const auto level = DiskLevel::open(folder.path() / "file" / "in", 1);
  ASSERT_FALSE(level);
  EXPECT_NE(level.error().message.find((folder.path() / "file" / "in").string()),
            std::string::npos);
}

TEST(DiskStore, names_damaged_files_and_serves_the_rest) {
  const Folder folder;
  std::string cut, garbled;
  {
    Store store({}, disk_level(folder), kNow);
    put(store, said("cut", 100));
    cut = folder.files().front();
    put(store, said("whole", 100));
  }
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 1);
  std::ofstream(folder.path() / "empty.ctx");
  std::ofstream(folder.path() / "left.ctx.partial") << "half";
  std::ofstream(folder.path() / "note.txt") << "of somebody else";
  {  // a complete file under a name that is not its own
    const auto copy = folder.path() / "copy.ctx";
    for (const auto& each : folder.files()) {
      if (each != cut && each.filename() != "empty.ctx") std::filesystem::copy_file(each, copy);
    }
  }
  Store store({}, disk_level(folder), kNow);
  EXPECT_EQ(store.stats().contexts, 1U);
  EXPECT_EQ(store.stats().damaged, 3U);
  ASSERT_EQ(store.rejected().size(), 3U);
  const auto says = [&](const std::string& text) {
    return std::any_of(
        store.rejected().begin(), store.rejected().end(),
        [&](const std::string& each) { return each.find(text) != std::string::npos; });
  };
  const size_t size = std::filesystem::file_size(cut);
  EXPECT_TRUE(says(fmt::format("{}: it has {} of {} bytes", cut, size, size + 1)));
  EXPECT_TRUE(says("empty.ctx: it is not a context of this version"));
  EXPECT_TRUE(says("copy.ctx: it contains a context with another name"));
  EXPECT_TRUE(folder.files(".partial").empty());
  EXPECT_EQ(folder.files(".txt").size(), 1U);
  EXPECT_EQ(text_of(store.get({"a", id_of(said("whole", 100))}, kNow)), said("whole", 100));
  // A damaged context can be stored again.
  put(store, said("cut", 100));
  EXPECT_EQ(std::filesystem::file_size(cut), size + 1);
}

// Every change is noticed, at the latest when the context is used.
TEST(DiskStore, no_changed_byte_reaches_a_request) {
  const Folder folder;
  const std::string content = said("content of some length ", 10);
  Key key;
  {
    Store store({}, disk_level(folder), kNow);
    key = put(store, content);
  }
  const auto path = folder.files().front();
  const std::string whole = *read_file(path, 1 << 20);
  for (size_t i = 0; i < whole.size(); i += 7) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    std::ofstream(path, std::ios::binary) << changed;
    Store store({}, disk_level(folder), kNow);
    const auto got = store.get(key, kNow);
    if (got) {
      EXPECT_EQ(**got, content) << "byte " << i;
      continue;
    }
    const bool at_start = store.rejected().size() == 1;
    EXPECT_EQ(got.error().code, at_start ? Code::kNotFound : Code::kCorrupt) << "byte " << i;
    EXPECT_EQ(store.stats().damaged, 1U);
    EXPECT_EQ(store.stats().contexts, 0U);
  }
}

TEST(DiskStore, a_file_in_the_place_of_another_is_not_taken_for_it) {
  const Folder folder;
  Store store({.memory_bytes = 0}, disk_level(folder), kNow);
  const Key one = put(store, said("one"));
  const auto file_of_one = folder.files().front();
  const Key other = put(store, said("two"));
  for (const auto& file : folder.files()) {
    if (file != file_of_one)
      std::filesystem::copy_file(file, file_of_one,
                                 std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_EQ(store.get(one, kNow).error().code, Code::kCorrupt);
  EXPECT_EQ(text_of(store.get(other, kNow)), said("two"));
}

/// During its lifetime, files cannot grow beyond a limit, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(DiskStore, a_full_disk_refuses_contexts_and_leaves_no_partial_files) {
  const Folder folder;
  Store store({}, disk_level(folder), kNow);
  std::string content;
  for (uint32_t i = 0; i < 40'000; ++i) content += fmt::format("{} ", i * 2654435761U);
  content = said(content);
  {
    const FullDisk full(64 << 10);
    const auto stored = store.put("a", content, 1, kNow);
    ASSERT_FALSE(stored);
    EXPECT_EQ(stored.error().code, Code::kIo);
    EXPECT_NE(stored.error().message.find("too large"), std::string::npos)
        << stored.error().message;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(store.stats().contexts + store.stats().bytes + store.stats().below_bytes, 0U);
  EXPECT_EQ(text_of(store.get(put(store, content), kNow)), content);
}

TEST(DiskStore, a_lost_disk_refuses_contexts_and_stops_nothing_else) {
  const Folder folder;
  Store store({}, disk_level(folder), kNow);
  const Key there = put(store, said("there"));
  std::filesystem::remove_all(folder.path());
  std::ofstream(folder.path()) << "a file where the directory was";
  const auto stored = store.put("a", said("x"), 1, kNow);
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, Code::kIo);
  EXPECT_EQ(store.stats().contexts, 1U);
  EXPECT_EQ(store.stats().bytes, said("there").size());
  EXPECT_EQ(text_of(store.get(there, kNow)), said("there"));  // it is still in memory
}

}  // namespace
}  // namespace signalbox::contexts
