// Tests stored responses that routers share over each real server, which stops or loses its data.

#include <gtest/gtest.h>

#include "router/shared_responses/record.h"
#include "tests/router/shared_responses/response_sites.h"

namespace signalbox::shared_responses {
namespace {

using std::chrono::seconds;
using test::wait_for;

milliseconds lasts(test::RedisPlace& place, const std::string& id) {
  return milliseconds(
      place.client().run({"PTTL", "signalbox:responses:d:" + id}, kWithin).value().number);
}
milliseconds lasts(test::PostgresPlace& place, const std::string& id) {
  return seconds(
      std::stol(place.text("SELECT extract(epoch FROM ends - now())::bigint::text FROM "
                           "signalbox_responses_responses WHERE record IS NULL AND id = '" +
                           id + "'")));
}

template <class Place>
class ResponseContract : public ResponseSites<Place> {
 protected:
  milliseconds deletion_lasts(const std::string& id) { return lasts(this->place_, id); }
};
using Places = testing::Types<test::RedisPlace, test::PostgresPlace>;
TYPED_TEST_SUITE(ResponseContract, Places);

TYPED_TEST(ResponseContract, every_router_has_a_response_for_its_owner_only) {
  this->a_->add("resp_1", response_of("one"));
  EXPECT_EQ(this->b_->text("resp_1"), "one");
  EXPECT_EQ(this->b_->text("resp_1", "bob"), "none");
  EXPECT_EQ(this->b_->text("resp_2"), "none");
  EXPECT_EQ(this->b_->text(std::string(1'000'000, 'x')), "none");
  this->a_.reset();  // the router that made it
  EXPECT_EQ(this->b_->text("resp_1"), "one");
}

TYPED_TEST(ResponseContract, a_response_that_its_router_has_no_room_for_is_shared) {
  this->a_->store.set_limits({.responses = 1});
  const auto first = this->a_->store.put("resp_1", response_of("one"), kNow);
  this->a_->add("resp_2", response_of("two"));
  this->a_->publish("resp_1", first);
  EXPECT_EQ(this->b_->text("resp_1"), "one");
}

TYPED_TEST(ResponseContract, a_router_applies_its_own_lifetime) {
  this->a_->publish("resp_1", this->a_->store.put("resp_1", response_of("one"), kNow - 100));
  EXPECT_EQ(this->b_->text("resp_1"), "one");
  this->b_->store.set_limits({.ttl_s = 50});
  EXPECT_EQ(this->b_->text("resp_1"), "none");
}

TYPED_TEST(ResponseContract, a_response_that_one_router_removes_is_gone_at_all) {
  this->a_->add("resp_1", response_of("one"));
  EXPECT_FALSE(this->b_->store.withdraw("resp_1", "bob", kNow).value());
  EXPECT_TRUE(this->b_->store.withdraw("resp_1", "ann", kNow).value());
  EXPECT_EQ(this->a_->text("resp_1"), "none");
  EXPECT_EQ(this->b_->text("resp_1"), "none");
  EXPECT_FALSE(this->a_->store.withdraw("resp_1", "ann", kNow).value());
}

TYPED_TEST(ResponseContract, a_deletion_lasts_as_long_as_the_response_would) {
  this->a_->add("resp_1", response_of("one"));
  this->b_->store.set_limits({.ttl_s = 60});
  EXPECT_TRUE(this->b_->store.withdraw("resp_1", "ann", kNow).value());
  EXPECT_GT(this->deletion_lasts("resp_1"), std::chrono::hours(23));
}

TYPED_TEST(ResponseContract, a_deleted_response_does_not_come_back_when_the_data_is_lost) {
  this->a_->add("resp_1", response_of("one"));
  EXPECT_TRUE(this->b_->store.withdraw("resp_1", "ann", kNow).value());
  wait_for([&] { return this->a_->store.size() == 0; });
  this->place_.restart_without_data();
  this->a_->add("resp_2", response_of("two"));
  wait_for([&] { return this->b_->text("resp_2") == "two"; });
  EXPECT_EQ(this->a_->text("resp_1"), "none");
  EXPECT_EQ(this->b_->text("resp_1"), "none");
}

TYPED_TEST(ResponseContract, a_server_that_lost_its_data_gets_all_responses_again) {
  for (int i = 0; i < 200; ++i) this->a_->add(fmt::format("resp_{}", i), response_of("one"));
  this->place_.restart_without_data();
  for (int i = 0; i < 200; ++i)
    wait_for([&] { return this->b_->text(fmt::format("resp_{}", i)) == "one"; });
}

TYPED_TEST(ResponseContract, responses_stored_without_the_server_arrive_later) {
  this->place_.end();
  this->a_->add("resp_1", response_of("one"));
  EXPECT_EQ(this->a_->text("resp_1"), "one");
  EXPECT_EQ(this->b_->text("resp_1"), "error");
  EXPECT_FALSE(this->a_->store.withdraw("resp_1", "ann", kNow));
  EXPECT_EQ(this->a_->text("resp_1"), "one");
  this->place_.start_again();
  wait_for([&] { return this->b_->text("resp_1") == "one"; });
}

TYPED_TEST(ResponseContract, no_call_waits_for_a_server_that_is_known_to_be_down) {
  this->place_.end();
  wait_for([&] { return !this->a_->works(); });
  bool done = false;
  this->a_->store.publish("resp_1", this->a_->store.put("resp_1", response_of("one"), kNow), kNow,
                          [&done] { done = true; });
  EXPECT_TRUE(done) << "when publish() returns";
}

TYPED_TEST(ResponseContract, responses_stored_with_a_stopped_server_arrive_later) {
  Site c(this->place_, milliseconds(100));
  this->place_.signal(SIGSTOP);
  c.add("resp_1", response_of("one"));
  EXPECT_EQ(c.text("resp_1"), "one");
  Site d(this->place_, milliseconds(100));
  EXPECT_EQ(d.text("resp_1"), "error");
  this->place_.signal(SIGCONT);
  wait_for([&] { return this->b_->text("resp_1") == "one"; });
}

TYPED_TEST(ResponseContract, a_response_that_is_too_large_stays_in_its_router) {
  this->a_->add("resp_1", response_of(std::string(kRecordBytesMax, 'x')));
  this->a_->add("resp_2", response_of("two"));
  EXPECT_EQ(this->a_->below->stats().refused, 1U);
  EXPECT_TRUE(this->a_->works());
  EXPECT_EQ(this->a_->text("resp_1").size(), kRecordBytesMax);
  EXPECT_EQ(this->b_->text("resp_1"), "none");
  EXPECT_EQ(this->b_->text("resp_2"), "two");
}

TYPED_TEST(ResponseContract, a_response_that_could_never_wait_does_not_stop_restoration) {
  this->a_->add("resp_1", response_of(std::string(40'000'000, 'x')));
  this->a_->add("resp_2", response_of("two"));
  this->place_.restart_without_data();
  wait_for([&] { return this->b_->text("resp_2") == "two"; });
  EXPECT_EQ(this->b_->text("resp_1"), "none");
}

TYPED_TEST(ResponseContract, the_end_waits_for_unwritten_responses) {
  this->place_.end();
  this->a_->add("resp_1", response_of("one"));
  EXPECT_EQ(this->a_->below->drain(std::chrono::steady_clock::now()), 1U);
  this->place_.start_again();
  EXPECT_EQ(this->a_->below->drain(std::chrono::steady_clock::now() + kWithin), 0U);
  wait_for([&] { return this->b_->works(); });
  EXPECT_EQ(this->b_->text("resp_1"), "one");
}

TYPED_TEST(ResponseContract, the_end_waits_for_restored_responses) {
  for (int i = 0; i < 200; ++i) this->a_->add(fmt::format("resp_{}", i), response_of("one"));
  this->place_.end();
  wait_for([&] { return !this->a_->works(); });
  this->place_.start_again();
  wait_for([&] { return this->a_->works(); });
  EXPECT_EQ(this->a_->below->drain(std::chrono::steady_clock::now() + kWithin), 0U);
  wait_for([&] { return this->b_->works(); });  // it may have connected later
  for (int i = 0; i < 200; ++i) EXPECT_EQ(this->b_->text(fmt::format("resp_{}", i)), "one");
}

}  // namespace
}  // namespace signalbox::shared_responses
