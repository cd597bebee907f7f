// Tests stored responses that routers share over a real Redis, which stops, is full, or loses its
// data.

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "router/shared_responses/record.h"
#include "router/shared_responses/redis_responses.h"
#include "tests/router/redis_process.h"

namespace signalbox::shared_responses {
namespace {

using dialects::ResponseStore;
using dialects::StoredResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kNow = 1'000'000;

StoredResponse response_of(std::string text, std::string owner = "ann") {
  return {std::move(owner), std::move(text), "input", "messages"};
}

TEST(ResponseRecord, is_read_as_it_was_written) {
  for (const StoredResponse& each :
       {response_of("{}"), response_of("", ""), response_of(std::string(70'000, '\0'))}) {
    const auto read = read_record(write_record(each));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->owner, each.owner);
    EXPECT_EQ(read->response, each.response);
    EXPECT_EQ(read->input, each.input);
    EXPECT_EQ(read->messages, each.messages);
  }
}

TEST(ResponseRecord, refuses_other_bytes) {
  const std::string whole = write_record(response_of("{}"));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_record(whole.substr(0, size))) << size;
  EXPECT_FALSE(read_record(whole + "x"));
  EXPECT_FALSE(read_record("X" + whole.substr(1)));
}

/// One router, as far as its responses go.
struct Site {
  explicit Site(const test::RedisProcess& redis)
      : below(make_redis_responses({.server = redis.address()})) {
    store.share(below.get());
  }
  void add(const std::string& id, StoredResponse response) {
    const std::string owner = response.owner;
    store.put(id, std::move(response), kNow);
    store.publish(id, owner, kNow);
  }
  /// The text of a response, "none" or "error".
  std::string text(std::string_view id, std::string_view owner = "ann") {
    const auto found = store.find(id, owner, kNow);
    if (!found) return "error";
    return *found ? (*found)->response : "none";
  }

  std::unique_ptr<dialects::SharedResponses> below;
  ResponseStore store{{}};
};

class SharedResponsesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = test::RedisProcess::missing(); !missing.empty())
      GTEST_SKIP() << missing;
    redis_.start();
    client_ = std::make_unique<stores::Redis>(redis_.address());
    a_ = std::make_unique<Site>(redis_);
    b_ = std::make_unique<Site>(redis_);
  }
  static void wait_for(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + seconds(30);
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "it did not happen";
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  test::RedisProcess redis_{false};
  std::unique_ptr<stores::Redis> client_;
  std::unique_ptr<Site> a_, b_;
};

TEST_F(SharedResponsesTest, a_response_is_at_every_router_and_of_its_owner_only) {
  a_->add("resp_1", response_of("one"));
  EXPECT_EQ(b_->text("resp_1"), "one");
  EXPECT_EQ(b_->text("resp_1", "bob"), "none");
  EXPECT_EQ(b_->text("resp_2"), "none");
  EXPECT_EQ(b_->text(std::string(1'000'000, 'x')), "none");
  a_.reset();  // the router that made it
  EXPECT_EQ(b_->text("resp_1"), "one");
}

TEST_F(SharedResponsesTest, what_one_router_removes_is_gone_at_all) {
  a_->add("resp_1", response_of("one"));
  EXPECT_FALSE(b_->store.withdraw("resp_1", "bob", kNow).value());
  EXPECT_TRUE(b_->store.withdraw("resp_1", "ann", kNow).value());
  EXPECT_EQ(a_->text("resp_1"), "none");
  EXPECT_EQ(b_->text("resp_1"), "none");
  EXPECT_FALSE(a_->store.withdraw("resp_1", "ann", kNow).value());
}

TEST_F(SharedResponsesTest, what_is_stored_while_the_server_is_down_arrives_later) {
  redis_.server().end();
  a_->add("resp_1", response_of("one"));
  EXPECT_EQ(a_->text("resp_1"), "one");
  EXPECT_EQ(b_->text("resp_1"), "error");
  EXPECT_FALSE(a_->store.withdraw("resp_1", "ann", kNow));
  EXPECT_EQ(a_->text("resp_1"), "one");
  redis_.start();
  wait_for([&] { return b_->text("resp_1") == "one"; });
}

TEST_F(SharedResponsesTest, what_is_stored_while_the_server_is_stopped_arrives_later) {
  redis_.server().signal(SIGSTOP);
  a_->add("resp_1", response_of("one"));
  EXPECT_EQ(a_->text("resp_1"), "one");
  EXPECT_EQ(b_->text("resp_1"), "error");
  redis_.server().signal(SIGCONT);
  wait_for([&] { return b_->text("resp_1") == "one"; });
}

TEST_F(SharedResponsesTest, what_is_stored_while_the_server_is_full_arrives_later) {
  ASSERT_TRUE(client_->run({"CONFIG", "SET", "maxmemory", "1"}, milliseconds(500)));
  a_->add("resp_1", response_of("one"));
  EXPECT_EQ(a_->text("resp_1"), "one");
  EXPECT_EQ(b_->text("resp_1"), "none");
  ASSERT_TRUE(client_->run({"CONFIG", "SET", "maxmemory", "0"}, milliseconds(500)));
  wait_for([&] { return b_->text("resp_1") == "one"; });
}

TEST_F(SharedResponsesTest, a_server_that_lost_its_data_gets_a_response_again_when_it_is_used) {
  a_->add("resp_1", response_of("one"));
  ASSERT_TRUE(client_->run({"FLUSHALL"}, milliseconds(500)));
  EXPECT_EQ(b_->text("resp_1"), "none");
  EXPECT_EQ(a_->text("resp_1"), "one");
  EXPECT_EQ(b_->text("resp_1"), "one");
}

TEST_F(SharedResponsesTest, bytes_of_another_program_are_no_response) {
  ASSERT_TRUE(client_->run({"SET", "signalbox:responses:r:resp_1", "odd"}, milliseconds(500)));
  EXPECT_EQ(a_->text("resp_1"), "none");
}

}  // namespace
}  // namespace signalbox::shared_responses
