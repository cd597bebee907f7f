// The store over each of its levels: what is put is there until it is dropped, whatever moves
// below.

#include "router/context/store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "router/context/disk_level.h"
#include "router/context/packed_level.h"
#include "router/context/pager.h"
#include "router/context/record.h"
#include "tests/router/context/folder.h"

namespace signalbox::context {
namespace {

constexpr int64_t kNow = 1'700'000'000;

std::unique_ptr<Level> packed_level() {
  return std::make_unique<PackedLevel>(1);
}

std::unique_ptr<Level> disk_level(const Folder& folder) {
  auto level = DiskLevel::open(folder.path(), 1);
  EXPECT_TRUE(level) << level.error().message;
  return *std::move(level);
}

std::string said(std::string_view text, size_t times = 1) {
  std::string out = R"({"role":"user","content":")";
  for (size_t i = 0; i < times; ++i) out += text;
  return out + "\"}";
}

Key put(Store& store, const std::string& content, int64_t now = kNow, std::string tenant = "a") {
  const auto stored = store.put(tenant, content, 1, now);
  EXPECT_TRUE(stored) << stored.error().message;
  return stored ? stored->context.key : Key{};
}

std::string text_of(const Result<Store::Content>& content) {
  return content ? **content : fmt::format("error: {}", content.error().message);
}

class EachLevel : public testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Level> level() const {
    return GetParam() == "disk" ? disk_level(folder_) : packed_level();
  }
  const Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Store, EachLevel, testing::Values("disk", "compressed"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(EachLevel, what_is_put_is_got_and_is_the_same_the_next_time) {
  Store store({}, level(), kNow);
  const std::string content = said("hello");
  const auto first = store.put("a", content, 1, kNow);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_new);
  EXPECT_EQ(first->context.key.id, id_of(content));
  EXPECT_EQ(first->context.bytes, content.size());
  EXPECT_EQ(first->context.created, kNow);
  const auto second = store.put("a", content, 1, kNow + 5);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->is_new);
  EXPECT_EQ(second->context.created, kNow);
  EXPECT_EQ(text_of(store.get(first->context.key, kNow)), content);
  EXPECT_EQ(store.stats().contexts, 1U);
  EXPECT_EQ(store.is_durable(), GetParam() == "disk");
  EXPECT_EQ(store.below(), GetParam());
}

TEST_P(EachLevel, idle_ones_leave_memory_and_come_back_byte_for_byte) {
  Limits limits;
  limits.idle_s = 100;
  Store store(limits, level(), kNow);
  const std::string content = said("0123456789\\u0000\xC3\xA9", 10'000);
  const Key key = put(store, content);
  const Key other = put(store, said("other"), kNow + 50);
  store.page(kNow + 99);
  EXPECT_EQ(store.stats().in_memory, 2U);
  store.page(kNow + 100);
  EXPECT_EQ(store.stats().in_memory, 1U);
  EXPECT_EQ(store.stats().page_outs, 1U);
  EXPECT_EQ(store.stats().below, GetParam() == "disk" ? 2U : 1U);
  EXPECT_EQ(store.stats().memory_bytes, said("other").size());
  EXPECT_LT(store.stats().below_bytes, content.size() / 20);
  EXPECT_EQ(text_of(store.get(key, kNow + 100)), content);
  EXPECT_EQ(store.stats().below_hits, 1U);
  EXPECT_EQ(store.stats().in_memory, 2U);
  EXPECT_EQ(text_of(store.get(key, kNow + 101)), content);
  EXPECT_EQ(store.stats().memory_hits, 1U);
  store.page(kNow + 160);
  EXPECT_EQ(store.stats().in_memory, 1U);  // `other`, used before it, has gone now
  EXPECT_EQ(text_of(store.get(other, kNow + 200)), said("other"));
}

TEST_P(EachLevel, memory_is_bounded_and_those_used_last_stay) {
  Limits limits;
  limits.memory_bytes = 3500;
  Store store(limits, level(), kNow);
  std::vector<Key> keys;
  for (char c = 'a'; c < 'f'; ++c) keys.push_back(put(store, said(std::string(1, c), 1000)));
  EXPECT_EQ(store.stats().in_memory, 3U);
  EXPECT_LE(store.stats().memory_bytes, limits.memory_bytes);
  EXPECT_EQ(text_of(store.get(keys[0], kNow)), said("a", 1000));
  EXPECT_EQ(store.stats().in_memory, 3U);
  EXPECT_EQ(text_of(store.get(keys[4], kNow)), said("e", 1000));
  EXPECT_EQ(text_of(store.get(keys[0], kNow)), said("a", 1000));
  EXPECT_EQ(store.stats().memory_hits, 2U);
  for (size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(text_of(store.get(keys[i], kNow)),
              said(std::string(1, static_cast<char>('a' + i)), 1000));
}

TEST_P(EachLevel, one_larger_than_memory_is_kept_below) {
  Limits limits;
  limits.memory_bytes = 100;
  Store store(limits, level(), kNow);
  const Key key = put(store, said("x", 1000));
  EXPECT_EQ(store.stats().in_memory, 0U);
  EXPECT_EQ(text_of(store.get(key, kNow)), said("x", 1000));
  EXPECT_EQ(store.stats().memory_bytes, 0U);
}

TEST_P(EachLevel, pins_stay_in_memory_and_are_never_forgotten) {
  Limits limits;
  limits.idle_s = 10;
  limits.ttl_s = 1000;
  Store store(limits, level(), kNow);
  const Key pinned = put(store, said("pinned")), other = put(store, said("other"));
  ASSERT_TRUE(store.pin(pinned, true));
  EXPECT_TRUE(store.pin(pinned, true)->pinned);
  EXPECT_EQ(store.stats().pinned, 1U);
  EXPECT_EQ(store.stats().pinned_bytes, said("pinned").size());
  store.page(kNow + 999);
  EXPECT_EQ(store.stats().in_memory, 1U);
  store.page(kNow + 1000);
  EXPECT_EQ(store.stats().expired, 1U);
  EXPECT_EQ(text_of(store.get(other, kNow + 1000)),
            fmt::format("error: there is no context {}", other.id));
  EXPECT_EQ(text_of(store.get(pinned, kNow + 1000)), said("pinned"));
  EXPECT_EQ(store.stats().memory_hits, 1U);
  EXPECT_FALSE(store.pin(pinned, false)->pinned);
  EXPECT_EQ(store.stats().pinned_bytes, 0U);
  store.page(kNow + 5000);
  EXPECT_EQ(store.stats().contexts, 0U);
  EXPECT_EQ(store.stats().below_bytes, 0U);
}

TEST_P(EachLevel, what_may_be_pinned_is_bounded) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.tenant_pinned_bytes = 300;
  Store store(limits, level(), kNow);
  const Key a = put(store, said("a", 200)), b = put(store, said("b", 200)),
            c = put(store, said("c", 200), kNow, "other"),
            d = put(store, said("d", 200), kNow, "third");
  EXPECT_TRUE(store.pin(a, true));
  const auto second = store.pin(b, true);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kTooLarge);
  EXPECT_EQ(second.error().message,
            "pinned contexts of this client would have 456 bytes; at most 300");
  EXPECT_TRUE(store.pin(c, true));
  EXPECT_EQ(store.pin(d, true).error().message,
            "pinned contexts of all clients would have 684 bytes; at most 500");
  EXPECT_TRUE(store.pin(a, false));
  EXPECT_TRUE(store.pin(b, true));
  EXPECT_TRUE(store.drop(b));
  EXPECT_TRUE(store.pin(a, true));
}

TEST_P(EachLevel, tenants_see_only_their_own) {
  Store store({}, level(), kNow);
  const Key mine = put(store, said("same"), kNow, "me");
  const Key theirs{"them", mine.id};
  EXPECT_EQ(store.get(theirs, kNow).error().code, Code::kNotFound);
  EXPECT_EQ(store.find(theirs).error().code, Code::kNotFound);
  EXPECT_EQ(store.pin(theirs, true).error().code, Code::kNotFound);
  EXPECT_EQ(store.drop(theirs).error().code, Code::kNotFound);
  EXPECT_TRUE(store.list("them", "", 10).empty());
  EXPECT_EQ(put(store, said("same"), kNow, "them"), theirs);
  EXPECT_TRUE(store.drop(theirs));
  EXPECT_EQ(text_of(store.get(mine, kNow)), said("same"));
}

TEST_P(EachLevel, lists_by_id_and_page_by_page) {
  Store store({}, level(), kNow);
  for (int i = 0; i < 5; ++i) put(store, said(std::to_string(i)));
  put(store, said("0"), kNow, "b");
  std::vector<std::string> ids;
  std::string after;
  for (;;) {
    const auto page = store.list("a", after, 2);
    if (page.empty()) break;
    for (const Context& each : page) ids.push_back(each.key.id);
    after = ids.back();
  }
  EXPECT_EQ(ids.size(), 5U);
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
}

TEST_P(EachLevel, whoever_has_no_room_left_is_refused_and_nobody_else_loses_anything) {
  Limits limits;
  limits.context_bytes_max = 500;
  limits.tenant_bytes_max = 1000;
  limits.tenant_contexts_max = 4;
  limits.bytes_max = 1500;
  Store store(limits, level(), kNow);
  const auto refusal = [&](const std::string& content, std::string_view tenant) {
    const auto stored = store.put(tenant, content, 1, kNow);
    if (stored) return std::string("stored");
    EXPECT_EQ(stored.error().code, Code::kTooLarge);
    return stored.error().message;
  };
  EXPECT_EQ(refusal(said("x", 500), "a"), "messages: 528 bytes; a context has at most 500");
  const Key first = put(store, said("x", 400));
  put(store, said("y", 400));
  EXPECT_EQ(refusal(said("z", 400), "a"),
            "the contexts of this client have 856 of 1000 bytes, and this one 428 more");
  put(store, said("1"));
  put(store, said("2"));
  EXPECT_EQ(refusal(said("3"), "a"), "this client has 4 contexts, which is as many as it may");
  EXPECT_EQ(refusal(said("x", 400), "a"), "stored");  // it is there
  put(store, said("z", 400), kNow, "b");
  EXPECT_EQ(refusal(said("z", 400), "c"),
            "the contexts of all clients have 1342 of 1500 bytes, and this one 428 more");
  EXPECT_EQ(store.stats().refused, 4U);
  limits.contexts_max = 5;
  store.set_limits(limits);
  EXPECT_EQ(refusal(said("4"), "d"), "there are 5 contexts, which is as many as there may be");
  EXPECT_TRUE(store.drop(first));
  EXPECT_EQ(refusal(said("z", 400), "c"), "stored");
  EXPECT_EQ(store.stats().bytes, 1342U);
}

TEST_P(EachLevel, many_threads_see_whole_contexts_or_none) {
  Limits limits;
  limits.memory_bytes = 6000;
  limits.idle_s = 0;
  Store store(limits, level(), kNow);
  const Pager pager(store, std::chrono::milliseconds(1));
  std::vector<std::string> contents;
  std::vector<Key> keys;
  for (char c = 'a'; c < 'i'; ++c) {
    contents.push_back(said(std::string(1, c), 1000));
    keys.push_back({"a", id_of(contents.back())});
  }
  const auto work = [&](unsigned seed) {
    for (int i = 0; i < 300; ++i) {
      seed = seed * 1664525 + 1013904223;
      const size_t which = (seed >> 8) % contents.size();
      switch ((seed >> 16) % 6) {
        case 0:
          EXPECT_TRUE(store.put("a", contents[which], 1, kNow));
          break;
        case 1:
          static_cast<void>(store.drop(keys[which]));
          break;
        case 2:
          static_cast<void>(store.pin(keys[which], (seed >> 20) % 2 == 0));
          break;
        default:
          const auto got = store.get(keys[which], kNow);
          if (got) {
            EXPECT_EQ(**got, contents[which]);
          } else {
            EXPECT_EQ(got.error().code, Code::kNotFound) << got.error().message;
          }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i + 1);
  for (std::thread& each : threads) each.join();
  for (const Key& key : keys) static_cast<void>(store.drop(key));
  const Stats stats = store.stats();
  EXPECT_EQ(stats.contexts + stats.bytes + stats.in_memory + stats.memory_bytes + stats.pinned +
                stats.pinned_bytes + stats.below + stats.below_bytes,
            0U);
  EXPECT_EQ(stats.damaged, 0U);
}

// --- on disk ---

TEST(DiskStore, is_the_same_after_a_restart_pins_included) {
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
            fmt::format("{}: another process has it", folder.path().string()));
}

TEST(DiskStore, a_directory_that_cannot_be_made_is_named) {
  const Folder folder;
  std::ofstream(folder.path() / "file") << "x";
  const auto level = DiskLevel::open(folder.path() / "file" / "in", 1);
  ASSERT_FALSE(level);
  EXPECT_NE(level.error().message.find((folder.path() / "file" / "in").string()),
            std::string::npos);
}

TEST(DiskStore, names_what_is_damaged_and_serves_the_rest) {
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
  {  // whole, and under a name that is not its own
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
  EXPECT_TRUE(says("empty.ctx: it is no context of this version"));
  EXPECT_TRUE(says("copy.ctx: it holds a context of another name"));
  EXPECT_TRUE(folder.files(".partial").empty());
  EXPECT_EQ(folder.files(".txt").size(), 1U);
  EXPECT_EQ(text_of(store.get({"a", id_of(said("whole", 100))}, kNow)), said("whole", 100));
  // What was damaged can be stored again in its place.
  put(store, said("cut", 100));
  EXPECT_EQ(std::filesystem::file_size(cut), size + 1);
}

// None of them can change without being noticed, at the latest when the context is used.
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

/// As long as it lives, files end after so many bytes, as on a disk that is full.
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

TEST(DiskStore, a_full_disk_refuses_and_leaves_nothing_behind) {
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

TEST(DiskStore, a_lost_disk_refuses_and_takes_nothing_down) {
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
  EXPECT_EQ(text_of(store.get(there, kNow)), said("there"));  // it is in memory
}

// --- a level that several routers share ---

class SharedLevel final : public Level {
 public:
  std::string_view name() const override { return "shared"; }
  bool is_durable() const override { return true; }
  Result<void> put(const Context& context, std::string_view content) override {
    all_[context.key] = {context, std::string(content)};
    return {};
  }
  Result<std::string> get(const Context& context) override { return all_.at(context.key).second; }
  Result<void> drop(const Key& key) override {
    all_.erase(key);
    return {};
  }
  Result<void> pin(const Key&, bool) override { return {}; }
  Recovered recover() override { return {}; }
  Result<std::optional<Context>> find(const Key& key) override {
    const auto found = all_.find(key);
    if (found == all_.end()) return std::nullopt;
    return found->second.first;
  }
  uint64_t bytes() const override { return 0; }

 private:
  std::map<Key, std::pair<Context, std::string>> all_;
};

TEST(SharedStore, finds_what_another_router_has_stored) {
  auto level = std::make_unique<SharedLevel>();
  SharedLevel& other_router = *level;
  Store store({}, std::move(level), kNow);
  const Context context{{"a", id_of(said("x"))}, said("x").size(), 1, kNow, false};
  EXPECT_FALSE(store.get(context.key, kNow));
  EXPECT_FALSE(store.find(context.key));
  ASSERT_TRUE(other_router.put(context, said("x")));
  EXPECT_EQ(store.find(context.key)->bytes, said("x").size());
  EXPECT_EQ(text_of(store.get(context.key, kNow)), said("x"));
  EXPECT_EQ(store.stats().contexts, 1U);
  EXPECT_EQ(store.get({"b", context.key.id}, kNow).error().code, Code::kNotFound);
  EXPECT_TRUE(store.drop(context.key));
  EXPECT_FALSE(other_router.find(context.key)->has_value());
}

}  // namespace
}  // namespace signalbox::context
