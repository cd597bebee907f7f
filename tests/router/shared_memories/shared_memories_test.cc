// Tests memories that two stores share over a real Redis, with and without TLS: what one deletes
// while the other is writing it, and permissions that are missing.

#include <gtest/gtest.h>

#include <thread>

#include "router/shared_memories/redis_memories.h"
#include "tests/router/redis_process.h"
#include "tests/router/shared_memories/sharing.h"

namespace signalbox::shared_memories {
namespace {

using memories::TimePoint;
using std::chrono::seconds;

std::unique_ptr<SharedMemories> store_of(stores::RedisServer server) {
  server.connect_limit = seconds(5);  // a busy machine
  return make_redis_memories(
      {.server = server, .read_limit = seconds(5), .write_limit = seconds(5)});
}

class SharedMemoriesTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const std::string why = test::RedisProcess::missing(GetParam());
    if (!why.empty()) GTEST_SKIP() << why;
    redis_.start();
  }
  test::RedisProcess redis_{GetParam()};
};

TEST_P(SharedMemoriesTest, memories_are_found_by_other_routers_and_by_no_other_user) {
  const auto one = store_of(redis_.address()), other = store_of(redis_.address());
  const std::string id = add(*one, "ann", "a text", one->moment());
  written(*one);
  EXPECT_EQ(found(*other, "ann"), 1U);
  EXPECT_EQ(found(*other, "bob"), 0U);
  EXPECT_FALSE(other->forget("bob", id).value());
  EXPECT_TRUE(other->forget("ann", id).value());
  EXPECT_FALSE(other->forget("ann", id).value());
  for (SharedMemories* each : {one.get(), other.get()}) EXPECT_EQ(found(*each, "ann"), 0U);
}

TEST_P(SharedMemoriesTest, other_routers_find_memories_by_words_until_they_are_deleted) {
  const auto one = store_of(redis_.address()), other = store_of(redis_.address());
  one->set_limits({.keeps_words = true});
  other->set_limits({.keeps_words = false});  // it makes the words at its first search
  const std::string id = add(*one, "ann", "The seal is X-4711.", one->moment());
  add(*one, "bob", "The seal is X-4711, too.", one->moment());
  written(*one);
  const memories::WordQuery words{"Which seal is 4711?"};
  const memories::Vector far{"m", {-1, 0}};
  for (SharedMemories* each : {one.get(), other.get()}) {
    const auto now = TimePoint::clock::now();
    EXPECT_TRUE(each->search("ann", far, 10, 0.5, nullptr, now)->empty());
    const auto hits = each->search("ann", far, 10, 0.5, &words, now);
    ASSERT_EQ(hits->size(), 1U);
    EXPECT_EQ(hits->front().memory.id, id);
  }
  EXPECT_TRUE(other->forget("ann", id).value());
  for (SharedMemories* each : {one.get(), other.get()})
    EXPECT_TRUE(each->search("ann", far, 10, 0.5, &words, TimePoint::clock::now())->empty());
}

TEST_P(SharedMemoriesTest, memories_deleted_while_they_are_added_do_not_come_back) {
  const auto one = store_of(redis_.address()), other = store_of(redis_.address());
  for (int i = 0; i < 50; ++i) {
    const std::string user = "user " + std::to_string(i);
    const uint64_t moment = one->moment();
    std::thread deletes([&] { EXPECT_TRUE(other->forget_all(user).has_value()); });
    for (int j = 0; j < 4; ++j) add(*one, user, "text " + std::to_string(j), moment);
    deletes.join();
    written(*one);
    EXPECT_EQ(count(*one, user), 0U);
    EXPECT_EQ(found(*other, user), 0U);
    // A turn that begins when the deletion is known is kept.
    until([&] { return one->moment() > moment; });
    add(*one, user, "text", one->moment());
    written(*one);
    EXPECT_EQ(found(*other, user), 1U);
  }
}

TEST_P(SharedMemoriesTest, equal_memories_replace_each_other_and_the_weakest_is_removed_first) {
  const auto one = store_of(redis_.address()), other = store_of(redis_.address());
  for (SharedMemories* each : {one.get(), other.get()}) each->set_limits({.of_user = 3});
  for (int i = 0; i < 3; ++i) {
    add(*one, "ann", "the same", one->moment());
    add(*other, "ann", "the same", other->moment());
  }
  written(*one);
  written(*other);
  EXPECT_EQ(count(*one, "ann"), 1U);
  const auto page = one->list("ann", 1, TimePoint::clock::now());
  const std::vector<std::string> ids{page->memories.at(0).id};
  one->use("ann", ids, TimePoint::clock::now() + std::chrono::hours(1));
  written(*one);
  for (int i = 0; i < 8; ++i) {
    add(i % 2 == 0 ? *one : *other, "ann", "text " + std::to_string(i), one->moment());
    written(*one);
    written(*other);
  }
  EXPECT_EQ(count(*one, "ann"), 3U);
  EXPECT_TRUE(other->find("ann", ids[0], TimePoint::clock::now()).value()) << "it was used";
}

TEST_P(SharedMemoriesTest, expired_memories_are_not_found) {
  const auto one = store_of(redis_.address());
  const std::string id = add(*one, "ann", "a text", one->moment());
  written(*one);
  const auto later = TimePoint::clock::now() + std::chrono::hours(24 * 70);
  EXPECT_EQ(one->list("ann", 10, later)->total, 0U);
  EXPECT_FALSE(one->find("ann", id, later).value());
  EXPECT_TRUE(one->search("ann", kVector, 10, 0.5, nullptr, later)->empty());
  EXPECT_EQ(count(*one, "ann"), 1U);
}

TEST_P(SharedMemoriesTest, a_memory_needs_a_vector_with_a_direction) {
  const auto one = store_of(redis_.address());
  for (const std::vector<float>& values : {std::vector<float>{}, {0, 0}}) {
    const memories::Vector vector{"m", values};
    EXPECT_FALSE(one->search("ann", vector, 10, 0.5, nullptr, TimePoint::clock::now()));
    EXPECT_FALSE(one->add("ann", {.text = "t", .answer = ""}, vector, 0, TimePoint::clock::now()));
  }
}

TEST_P(SharedMemoriesTest, missing_permissions_are_errors) {
  stores::Redis operator_of(redis_.address());
  ASSERT_TRUE(operator_of.run(
      {"ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+@connection"}, seconds(5)));
  stores::RedisServer address = redis_.address();
  address.username = "reader";
  address.password = "secret";
  const auto one = store_of(redis_.address()), reader = store_of(address);
  const std::string id = add(*one, "ann", "a text", one->moment());
  written(*one);
  EXPECT_EQ(found(*reader, "ann"), 1U);
  EXPECT_EQ(reader->forget("ann", id).error().code, Code::kUpstream);
  EXPECT_EQ(reader->forget_all("ann").error().code, Code::kUpstream);
  EXPECT_EQ(found(*one, "ann"), 1U);
  add(*reader, "ann", "another text", reader->moment());
  until([&] { return !reader->shared()->works; });
  EXPECT_EQ(reader->shared()->waiting, 1U);
}

INSTANTIATE_TEST_SUITE_P(, SharedMemoriesTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "tls" : "plain"; });

}  // namespace
}  // namespace signalbox::shared_memories
