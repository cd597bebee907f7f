// Tests the bounds of states in memory and in a folder. tests/e2e/flow.test.mjs tests Redis.

#include <gtest/gtest.h>
#include <malloc.h>

#include "router/flow_states/flow_states.h"
#include "tests/router/temporary_directory.h"

namespace signalbox::flow_states {
namespace {

using std::chrono::seconds;

struct Store {
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
  std::unique_ptr<FlowStates> states;

  Store(const std::string& folder, const Limits& limits) {
    auto opened = open_local(folder, limits, [this] { return now; });
    EXPECT_TRUE(opened) << opened.error().message;
    states = *std::move(opened);
  }
  std::string get(std::string_view id) const {
    auto found = states->get(id);
    return found ? *found : std::string(code_name(found.error().code));
  }
};

class Both : public testing::TestWithParam<bool> {
 protected:
  std::string folder() const { return GetParam() ? (directory_.path() / "a" / "b").string() : ""; }

 private:
  test::TemporaryDirectory directory_;
};

TEST_P(Both, a_state_is_found_until_its_end) {
  Store store(folder(), {.lifetime = seconds(10)});
  ASSERT_TRUE(store.states->put("f-1", "one"));
  store.now += seconds(6);
  ASSERT_TRUE(store.states->put("f-2", "two"));
  EXPECT_EQ(store.get("f-1"), "one");
  store.now += seconds(4);
  EXPECT_EQ(store.get("f-1"), "not_found");
  EXPECT_EQ(store.get("f-2"), "two");
}

TEST_P(Both, the_oldest_make_room) {
  Store store(folder(), {.bytes = 3000, .count = 3});
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(store.states->put(id, id));
  EXPECT_EQ(store.get("a"), "not_found");
  EXPECT_EQ(store.get("b"), "b");
  ASSERT_TRUE(store.states->put("e", std::string(2300, 'e')));
  EXPECT_EQ(store.get("c"), "not_found");
  EXPECT_EQ(store.get("d"), "d");
}

TEST_P(Both, a_state_that_is_too_long_is_refused) {
  Store store(folder(), {.state_bytes = 3});
  EXPECT_TRUE(store.states->put("a", "abc"));
  const auto refused = store.states->put("b", "abcd");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kTooLarge);
}

TEST_P(Both, the_id_of_a_client_may_be_anything) {
  Store store(folder(), {});
  for (const char* id : {"", "../a", "/etc/passwd", "a/b", "\n"})
    EXPECT_EQ(store.get(id), "not_found") << id;
}

INSTANTIATE_TEST_SUITE_P(Local, Both, testing::Bool());

TEST(FlowMemory, is_that_of_the_texts) {
  Store store("", {});
  const auto taken = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const size_t before = taken();
  constexpr size_t kReserved = size_t{1} << 20;
  for (const char* id : {"a", "b", "c", "d"}) {
    std::string text(100, 'x');
    text.reserve(kReserved);
    ASSERT_TRUE(store.states->put(id, std::move(text)));
  }
  EXPECT_LT(taken(), before + kReserved);
}

TEST(FlowRedis, does_not_get_an_id_that_is_none) {
  config::Looper::FlowState config;
  config.store_backend = "redis";
  config.redis.address = "127.0.0.1:1";  // no server
  const auto states = open(config);
  ASSERT_TRUE(states) << states.error().message;
  for (const std::string& id : {std::string("a b"), std::string(101, 'a'), std::string()}) {
    const auto found = (*states)->get(id);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kNotFound) << id;
  }
  const auto asked = (*states)->get("a-1");
  ASSERT_FALSE(asked);
  EXPECT_NE(asked.error().code, Code::kNotFound);
}

TEST(FlowFolder, outlives_the_process) {
  const test::TemporaryDirectory directory;
  const std::string folder = directory.path().string();
  {
    Store store(folder, {});
    ASSERT_TRUE(store.states->put("f-1", "one"));
  }
  Store again(folder, {});
  EXPECT_EQ(again.get("f-1"), "one");
  again.now += seconds(1900);
  EXPECT_EQ(again.get("f-1"), "not_found");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(FlowFolder, keeps_its_permissions_if_it_was_there_before) {
  using std::filesystem::perms;
  const test::TemporaryDirectory directory;
  const auto permissions = [](const std::filesystem::path& path) {
    return std::filesystem::status(path).permissions();
  };
  std::filesystem::permissions(directory.path(), perms{0755});
  const Store old(directory.path().string(), {});
  EXPECT_EQ(permissions(directory.path()), perms{0755});
  ASSERT_TRUE(old.states->put("f-1", "one"));
  EXPECT_EQ(permissions(directory.path() / "f-1.flow"), perms{0600});
  const Store made((directory.path() / "new").string(), {});
  EXPECT_EQ(permissions(directory.path() / "new"), perms::owner_all);
}

TEST(FlowFolder, that_cannot_be_made_is_an_error) {
  const auto opened = open_local("/proc/none/flow", {});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("/proc/none/flow"), std::string::npos);
}

}  // namespace
}  // namespace signalbox::flow_states
