// Tests the records of stored responses, and Redis, which is full or returns with an older state.

#include <gtest/gtest.h>

#include <cstdlib>

#include "router/shared_responses/record.h"
#include "router/stores/deletions.h"
#include "tests/router/shared_responses/response_sites.h"

namespace signalbox::shared_responses {
namespace {

using dialects::StoredResponse;
using test::wait_for;

TEST(ResponseRecord, is_read_as_it_was_written) {
  StoredResponse sparse = response_of("{}");
  sparse.messages = "0123456789";
  sparse.input = {.kept = "ab", .gaps = {{.at = 1, .from = 3, .bytes = 4}}};
  for (const StoredResponse& each :
       {response_of("{}"), response_of("", ""), response_of(std::string(70'000, '\0')), sparse}) {
    const auto read = read_record(write_record(each));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->owner, each.owner);
    EXPECT_EQ(read->response, each.response);
    std::string input;
    each.input.append_to(input, each.messages);
    EXPECT_EQ(read->input.kept, input);
    EXPECT_EQ(read->messages, each.messages);
    EXPECT_EQ(read->since, each.since);
  }
}

TEST(ResponseRecord, refuses_other_bytes) {
  const std::string whole = write_record(response_of("{}"));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_record(whole.substr(0, size))) << size;
  EXPECT_FALSE(read_record(whole + "x"));
  EXPECT_FALSE(read_record("X" + whole.substr(1)));
}

TEST(Deletions, keep_the_latest_deletions_and_those_that_are_renewed) {
  stores::Deletions deletions;
  EXPECT_TRUE(deletions.add("first", 2, 0));
  EXPECT_FALSE(deletions.add("first", 9, 0));
  for (size_t i = 1; i < stores::Deletions::kMax; ++i) deletions.add(std::to_string(i), 1, 0);
  EXPECT_TRUE(deletions.contains("first"));
  EXPECT_EQ(deletions.all(1), (std::vector<std::pair<std::string, int64_t>>{{"first", 2}}));
  EXPECT_TRUE(deletions.add("last", 1, 0));
  EXPECT_FALSE(deletions.contains("first"));
  EXPECT_TRUE(deletions.contains("1"));
}

TEST(Deletions, are_forgotten_when_they_have_expired) {
  stores::Deletions deletions;
  for (int64_t now = 0; now < 1000; ++now) {
    deletions.add(std::to_string(now), now + 10, now);
    EXPECT_LE(deletions.all(0).size(), 10U);
  }
  EXPECT_TRUE(deletions.contains("990"));
  EXPECT_FALSE(deletions.contains("989"));
}

class RedisResponsesTest : public ResponseSites<test::RedisPlace> {
 protected:
  int64_t number(const stores::Redis::Command& command) {
    const auto value = place_.client().run(command, kWithin);
    return value ? value->number : -100;
  }
  void set(std::string_view key, std::string_view value) {
    ASSERT_TRUE(place_.client().run({"CONFIG", "SET", key, value}, kWithin));
  }
};

TEST_F(RedisResponsesTest, a_server_with_an_older_state_learns_of_deletions_again) {
  a_->add("resp_1", response_of("one"));
  EXPECT_TRUE(b_->store.withdraw("resp_1", "ann", kNow).value());
  place_.restart_without_data();
  wait_for([&] { return number({"EXISTS", "signalbox:responses:d:resp_1"}) == 1; });
  const std::string record = write_record(response_of("one"));
  ASSERT_TRUE(place_.client().run({"SET", "signalbox:responses:r:resp_1", record}, kWithin));
  Site c(place_);
  EXPECT_EQ(c.text("resp_1"), "none");
}

TEST_F(RedisResponsesTest, nothing_is_read_until_others_had_time_to_repeat_deletions) {
  a_->add("resp_1", response_of("one"));
  ASSERT_TRUE(place_.client().run({"SAVE"}, kWithin));
  a_.reset();
  b_.reset();
  place_.end();
  // The time is longer than this test is ever held up.
  Site c(place_, kWithin, {.grace = std::chrono::seconds(5)});
  wait_for([&] { return !c.works(); });
  place_.start_again();
  // It follows: it has connected, has read the stream to its end, and waits for more.
  wait_for([&] {
    const auto commands = place_.client().run({"INFO", "commandstats"}, kWithin);
    const size_t at = commands ? commands->text.find("cmdstat_xread:calls=") : std::string::npos;
    return at != std::string::npos && std::atoi(commands->text.c_str() + at + 20) >= 3;
  });
  EXPECT_EQ(c.text("resp_1"), "error");
  EXPECT_FALSE(c.works());
  // Another router repeats its deletion.
  ASSERT_TRUE(place_.client().run({"SET", "signalbox:responses:d:resp_1", "1"}, kWithin));
  wait_for([&] { return c.works(); });
  EXPECT_EQ(c.text("resp_1"), "none");
}

TEST_F(RedisResponsesTest, responses_stored_with_a_full_server_arrive_later) {
  set("maxmemory", "1");
  a_->add("resp_1", response_of("one"));
  EXPECT_FALSE(a_->works());
  EXPECT_EQ(a_->text("resp_1"), "one");
  EXPECT_EQ(b_->text("resp_1"), "none");
  const auto removed = a_->store.withdraw("resp_1", "ann", kNow);
  ASSERT_FALSE(removed);
  EXPECT_EQ(
      removed.error().message,
      "the response is not deleted, because the store that routers share takes no changes now");
  EXPECT_EQ(a_->text("resp_1"), "one");
  set("maxmemory", "0");
  wait_for([&] { return b_->text("resp_1") == "one"; });
  wait_for([&] { return a_->works(); });
}

TEST_F(RedisResponsesTest, the_trouble_is_over_when_a_deletion_is_taken_again) {
  a_->add("resp_1", response_of("one"));
  set("maxmemory", "1");
  EXPECT_FALSE(a_->store.withdraw("resp_1", "ann", kNow));
  EXPECT_FALSE(a_->works());
  set("maxmemory", "0");
  EXPECT_TRUE(a_->store.withdraw("resp_1", "ann", kNow).value());
  wait_for([&] { return a_->works(); });
}

TEST_F(RedisResponsesTest, a_large_response_gets_more_time) {
  Site c(place_, milliseconds(300));
  ASSERT_TRUE(place_.client().run({"CLIENT", "PAUSE", "1500", "WRITE"}, kWithin));
  c.add("resp_1", response_of(std::string(15'000'000, 'x')));
  wait_for([&] { return b_->text("resp_1").size() == 15'000'000; });
  EXPECT_EQ(c.below->stats().refused, 0U);
}

TEST_F(RedisResponsesTest, a_response_that_the_server_does_not_take_does_not_hold_up_others) {
  set("proto-max-bulk-len", "1mb");
  a_->add("resp_large", response_of(std::string(2'000'000, 'x')));
  for (int i = 0; i < 100; ++i) {
    const std::string id = fmt::format("resp_{}", i);
    a_->add(id, response_of("one"));
    ASSERT_EQ(b_->text(id), "one");
    ASSERT_TRUE(a_->works());
  }
  wait_for([&] { return a_->below->stats().refused > 0 && a_->below->stats().waiting == 0; });
}

TEST_F(RedisResponsesTest, bytes_of_another_program_are_not_a_response) {
  ASSERT_TRUE(place_.client().run({"SET", "signalbox:responses:r:resp_1", "odd"}, kWithin));
  ASSERT_TRUE(
      place_.client().run({"XADD", "signalbox:responses:deleted", "*", "odd", "entry"}, kWithin));
  EXPECT_EQ(a_->text("resp_1"), "none");
  a_->add("resp_2", response_of("two"));
  EXPECT_EQ(b_->text("resp_2"), "two");
}

}  // namespace
}  // namespace signalbox::shared_responses
