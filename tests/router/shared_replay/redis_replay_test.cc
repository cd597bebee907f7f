// Tests what holds for records in Redis, which is full or returns with older data.

#include <gtest/gtest.h>

#include "tests/router/shared_replay/replay_sites.h"

namespace signalbox::shared_replay {
namespace {

class RedisReplayTest : public ReplaySites<test::RedisPlace> {
 protected:
  int64_t keys() {
    const auto value = place_.client().run({"DBSIZE"}, kWithin);
    return value ? value->number : -1;
  }
  int64_t bytes() { return bytes_of(place_); }
  void ask(const stores::Redis::Command& command) {
    const auto done = place_.client().run(command, kWithin);
    ASSERT_TRUE(done) << done.error().message;
  }
};

TEST_F(RedisReplayTest, new_records_replace_the_oldest_ones_completely) {
  a_->replay->set_limits({.records = 2});
  b_->replay->set_limits({.records = 2});
  Account first = account_of(1, "eve", "k9");
  first.request_body = "text";
  a_->add(std::move(first));
  a_->replay->add_outcome(id_of(1), "{\"verdict\":\"failed\"}").value();
  a_->add(account_of(2));
  b_->add(account_of(3));
  EXPECT_EQ(a_->list(), "3 2 of 2");
  EXPECT_EQ(a_->list({.user = "eve"}), "of 0");
  EXPECT_EQ(a_->list({.decision = "odd"}), "3 of 1");
  EXPECT_EQ(a_->detail(1), "none");
  // Two records, the list of all, those of two decisions, a model, a user and a key, and sizes.
  EXPECT_EQ(keys(), 10);
}

TEST_F(RedisReplayTest, the_oldest_records_make_room_below_a_bound_in_bytes) {
  for (const auto* site : {a_.get(), b_.get()})
    site->replay->set_limits({.records = 100, .bytes = 40'000});
  const auto add = [&](int number, Site& site) {
    Account account = account_of(number);
    account.response_body = std::string(10'000, 'x');
    site.add(std::move(account));
  };
  for (int number = 1; number <= 5; ++number) add(number, number % 2 == 0 ? *a_ : *b_);
  EXPECT_EQ(a_->list(), "5 4 3 of 3");
  observe::Shadow shadow;
  shadow.replay_id = id_of(5);
  shadow.response = std::string(8'000, 'y');
  a_->replay->add_shadow(shadow);
  EXPECT_EQ(a_->replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
  add(6, *b_);
  EXPECT_EQ(a_->list(), "6 5 of 2") << "the answer of a shadow counts";
  EXPECT_LE(bytes(), 40'000);
  EXPECT_EQ(a_->replay->remove("", "").value(), 2u);
  EXPECT_EQ(bytes(), 0);
}

TEST_F(RedisReplayTest, texts_and_records_that_have_expired_take_no_bytes) {
  a_->replay->set_limits({.records = 100, .age = seconds(3600)});
  Account brief = account_of(1);
  brief.response_body = std::string(10'000, 'x');
  brief.body_age_max = seconds(1);
  a_->add(std::move(brief));
  EXPECT_GT(bytes(), 10'000);
  wait_for([&] { return a_->detail(1).find("\"bodies_expired\":true") != std::string::npos; });
  a_->add(account_of(2));
  const int64_t two = bytes();
  EXPECT_LT(two, 10'000);
  a_->replay->set_limits({.records = 100, .age = seconds(1)});
  wait_for([&] {
    a_->add(account_of(3));
    return bytes() < two;
  });
}

TEST_F(RedisReplayTest, a_record_that_was_on_its_way_at_its_deletion_is_not_stored) {
  const std::string ada = index_name(Property::kUser, "ada"), k1 = index_name(Property::kKey, "k1");
  ask({"SET", "signalbox:replay:f:" + ada + "+" + k1, "9007199254740000"});
  a_->add(account_of(1));
  a_->add(account_of(2, "ada", "k2"));
  EXPECT_EQ(a_->list(), "2 of 1");
  ask({"SET", "signalbox:replay:f:" + ada, "9007199254740000"});
  a_->add(account_of(3, "ada", "k2"));
  a_->add(account_of(4, "bob", "k1"));
  EXPECT_EQ(a_->list(), "4 2 of 2");
  ask({"SET", "signalbox:replay:f:*", "9007199254740000"});
  a_->add(account_of(5, "", ""));
  EXPECT_EQ(a_->list(), "4 2 of 2");
}

TEST_F(RedisReplayTest, a_full_server_drops_records_and_still_lists_and_deletes) {
  Site c(connect(place_), {.waits_max = milliseconds(50)});
  c.add(account_of(1));
  c.add(account_of(2, "bob"));
  ask({"CONFIG", "SET", "maxmemory", "1"});
  Account dropped = account_of(3);
  c.replay->add(dropped);
  wait_for([&] { return c.replay->shared()->dropped == 1; });
  EXPECT_EQ(c.list(), "2 1 of 2");
  EXPECT_EQ(c.list({.decision = "odd", .user = "ada"}), "1 of 1");
  EXPECT_EQ(c.replay->remove("ada", "").value(), 1u);
  ask({"CONFIG", "SET", "maxmemory", "0"});
  c.add(account_of(4));
  EXPECT_TRUE(c.works());
  EXPECT_EQ(c.list(), "4 2 of 2");
}

TEST_F(RedisReplayTest, a_deleted_record_does_not_stay_when_the_server_returns_with_older_data) {
  a_->add(account_of(1, "ada"));
  a_->add(account_of(2, "bob"));
  ask({"SAVE"});
  EXPECT_EQ(a_->replay->remove("ada", "").value(), 1u);
  wait_for([&] { return a_->works() && b_->works(); });
  place_.end();
  wait_for([&] { return !a_->works() && !b_->works(); });
  place_.start_again();
  wait_for([&] { return a_->works() && b_->works(); });
  EXPECT_EQ(a_->list(), "2 of 1");
  EXPECT_EQ(b_->list(), "2 of 1");
  EXPECT_EQ(b_->detail(1), "none");
}

TEST_F(RedisReplayTest, a_deleted_record_is_not_shown_while_a_returned_server_takes_no_deletions) {
  // Knows no deletion, and reads again later than the others may.
  Site control(connect(place_, "control:"), {.grace = 3 * SharingOptions().grace});
  a_->add(account_of(1, "ada"));
  a_->add(account_of(2, "bob"));
  ask({"SAVE"});
  EXPECT_EQ(a_->replay->remove("ada", "").value(), 1u);
  place_.end();
  wait_for([&] { return !a_->works() && !control.works(); });
  b_.reset();
  place_.start_again({"--min-replicas-to-write", "1"});
  EXPECT_NE(Site(connect(place_)).detail(1).find(id_of(1)), std::string::npos);
  wait_for([&] {
    EXPECT_EQ(a_->detail(1), "error");
    return control.detail(1) == "none";
  });
  ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
  wait_for([&] { return a_->detail(1) == "none"; });
  EXPECT_EQ(a_->list(), "2 of 1");
}

TEST_F(RedisReplayTest, bytes_of_another_program_are_not_a_record) {
  a_->add(account_of(1));
  const std::string at = "signalbox:replay:r:" + id_of(2);
  ask({"ZADD", "signalbox:replay:all", "1", id_of(2)});
  ask({"HSET", at, "j", "{\"id\":", "i", "odd names"});
  ask({"XADD", "signalbox:replay:deleted", "*", "odd", "entry"});
  ask({"XADD", "signalbox:replay:deleted", "*", "name", "7 everything"});
  EXPECT_EQ(a_->list(), "1 of 2");
  EXPECT_EQ(a_->detail(2), "none");
  EXPECT_EQ(a_->replay->answered(id_of(2)).value().has_value(), false);
  ask({"HSET", at, "j", std::string(2 * kTextBytesMax, 'x')});
  EXPECT_EQ(a_->list(), "1 of 2");
  EXPECT_EQ(a_->detail(2), "none");
  ask({"DEL", at});
  ask({"SET", at, "text"});
  EXPECT_EQ(a_->detail(2), "error");
  ask({"DEL", at});
  EXPECT_EQ(a_->replay->remove("", "").value(), 2u);
}

}  // namespace
}  // namespace signalbox::shared_replay
