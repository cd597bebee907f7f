// Tests records of requests that routers share over each real server, which stops meanwhile.

#include <gtest/gtest.h>

#include "tests/router/shared_replay/replay_sites.h"

namespace signalbox::shared_replay {
namespace {

template <class Place>
class ReplayContract : public ReplaySites<Place> {};
using Places = testing::Types<test::RedisPlace, test::PostgresPlace>;
TYPED_TEST_SUITE(ReplayContract, Places);

TYPED_TEST(ReplayContract, routers_see_the_records_of_all_and_a_new_one_finds_them) {
  this->a_->add(account_of(1));
  this->b_->add(account_of(2));
  this->a_->add(account_of(3));
  EXPECT_EQ(this->a_->list(), "3 2 1 of 3");
  EXPECT_EQ(this->b_->list(), "3 2 1 of 3");
  EXPECT_EQ(this->b_->list({.limit = 1, .offset = 1}), "2 of 3");
  EXPECT_EQ(this->b_->replay->size(), 3u);
  this->a_.reset();
  this->b_.reset();
  EXPECT_EQ(Site(connect(this->place_)).list(), "3 2 1 of 3");
}

TYPED_TEST(ReplayContract, lists_by_every_property_and_by_several) {
  this->a_->add(account_of(1, "ada", "k1"));
  this->a_->add(account_of(2, "ada", "k2"));
  this->a_->add(account_of(3, "bob", "k1"));
  this->a_->add(account_of(4, "", ""));
  EXPECT_EQ(this->b_->list({.user = "ada"}), "2 1 of 2");
  EXPECT_EQ(this->b_->list({.key = "k1"}), "3 1 of 2");
  EXPECT_EQ(this->b_->list({.decision = "even"}), "4 2 of 2");
  EXPECT_EQ(this->b_->list({.model = "small"}), "4 3 2 1 of 4");
  EXPECT_EQ(this->b_->list({.decision = "odd", .model = "small", .user = "ada", .key = "k1"}),
            "1 of 1");
  EXPECT_EQ(this->b_->list({.limit = 1, .offset = 1, .decision = "odd", .key = "k1"}), "1 of 2");
  EXPECT_EQ(this->b_->list({.user = "carol"}), "of 0");
}

TYPED_TEST(ReplayContract, shadows_that_are_not_kept_take_no_bytes) {
  this->a_->add(account_of(1));
  observe::Shadow shadow;
  shadow.replay_id = id_of(1);
  shadow.response = "text";
  const auto bytes_with = [&](size_t more) {
    for (size_t i = 0; i < more; ++i) this->a_->replay->add_shadow(shadow);
    EXPECT_EQ(this->a_->replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
    return bytes_of(this->place_);
  };
  const int64_t all = bytes_with(kShadowsMax);
  EXPECT_EQ(bytes_with(3), all);
}

TYPED_TEST(ReplayContract, a_record_has_its_bodies_outcomes_and_shadows) {
  Account account = account_of(1);
  account.request_body = "{\"q\"}\xff";
  account.response_body = "answer";
  account.response_cut = true;
  this->a_->add(std::move(account));
  const auto answered = this->b_->replay->answered(id_of(1)).value();
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->decision, "odd");
  EXPECT_EQ(answered->model, "small");
  EXPECT_TRUE(this->b_->replay->add_outcome(id_of(1), "{\"verdict\":\"failed\"}").value());
  EXPECT_FALSE(this->b_->replay->add_outcome(id_of(2), "{\"verdict\":\"failed\"}").value());
  observe::Shadow shadow;
  shadow.arm = "arm";
  shadow.replay_id = id_of(1);
  shadow.response = "shadowed";
  this->b_->replay->add_shadow(shadow);
  EXPECT_EQ(this->b_->replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
  const std::string found = this->a_->detail(1);
  for (const char* each :
       {"\"id\":\"replay-0000000000000001\"", "\"request_body\":\"{\\\"q\\\"}", "answer",
        "\"response_body_truncated\":true", "\"request_body_truncated\":false",
        "\"outcomes\":[{\"verdict\":\"failed\"}]", "\"shadows\":[{\"name\":\"arm\"",
        "\"response\":\"shadowed\""})
    EXPECT_NE(found.find(each), std::string::npos) << each << " in " << found;
  EXPECT_EQ(found.find("bodies_expired"), std::string::npos);
  EXPECT_EQ(this->a_->list().find("answer"), std::string::npos);
  EXPECT_EQ(this->a_->detail(2), "none");
  EXPECT_EQ(this->a_->replay->find_json("../x").value(), std::nullopt);
}

TYPED_TEST(ReplayContract, takes_a_bounded_number_of_outcomes) {
  this->a_->add(account_of(1));
  for (size_t i = 0; i < Replay::kOutcomesMax; ++i)
    EXPECT_TRUE(this->a_->replay->add_outcome(id_of(1), "{\"verdict\":\"failed\"}").value());
  EXPECT_FALSE(this->a_->replay->add_outcome(id_of(1), "{\"verdict\":\"failed\"}").value());
}

TYPED_TEST(ReplayContract, records_expire_and_their_texts_sooner) {
  Account brief = account_of(1);
  brief.request_body = "secret";
  brief.body_age_max = seconds(1);
  Account other = account_of(2);
  other.request_body = "kept";
  this->a_->replay->set_limits({.records = 100, .age = seconds(3600)});
  this->a_->add(std::move(brief));
  this->a_->add(std::move(other));
  EXPECT_NE(this->a_->detail(1).find("secret"), std::string::npos);
  wait_for(
      [&] { return this->a_->detail(1).find("\"bodies_expired\":true") != std::string::npos; });
  EXPECT_EQ(this->a_->detail(1).find("secret"), std::string::npos);
  EXPECT_NE(this->a_->detail(2).find("kept"), std::string::npos);
  this->a_->replay->set_limits({.records = 100, .age = seconds(1)});
  this->a_->add(account_of(3, "bob", "k3"));
  EXPECT_EQ(this->a_->list({.user = "bob"}), "3 of 1");
  wait_for([&] { return this->a_->list({.user = "bob"}) == "of 0"; });
  EXPECT_EQ(this->a_->list(), "of 0");
  wait_for([&] { return this->a_->detail(3) == "none"; });
}

TYPED_TEST(ReplayContract, a_record_that_one_router_deletes_is_gone_at_all) {
  const auto fill = [&] {
    this->a_->add(account_of(1, "ada", "k1"));
    this->a_->add(account_of(2, "ada", "k2"));
    this->a_->add(account_of(3, "bob", "k1"));
  };
  fill();
  EXPECT_EQ(this->b_->replay->remove("ada", "k1").value(), 1u);
  EXPECT_EQ(this->a_->list(), "3 2 of 2");
  EXPECT_EQ(this->b_->replay->remove("carol", "").value(), 0u);
  EXPECT_EQ(this->b_->replay->remove("bob", "").value(), 1u);
  EXPECT_EQ(this->a_->list({.key = "k1"}), "of 0");
  EXPECT_EQ(this->b_->replay->remove("", "").value(), 1u);
  EXPECT_EQ(this->a_->list(), "of 0");
  fill();
  EXPECT_EQ(this->a_->list(), "3 2 1 of 3");
  EXPECT_EQ(this->b_->replay->remove("", "k1").value(), 2u);
}

TYPED_TEST(ReplayContract, deletes_more_than_one_step_takes) {
  for (const auto* site : {this->a_.get(), this->b_.get()})
    site->replay->set_limits({.records = 10'000});
  for (int i = 0; i < 1200; ++i) {
    Account each = account_of(i);
    this->a_->replay->add(each);
  }
  EXPECT_EQ(this->a_->replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
  EXPECT_EQ(this->b_->replay->size(), 1200u);
  EXPECT_EQ(this->b_->replay->remove("ada", "k1").value(), 1200u);
  EXPECT_EQ(this->b_->list(), "of 0");
}

TYPED_TEST(ReplayContract, without_the_server_records_wait_and_readers_get_an_error) {
  this->a_->add(account_of(1));
  this->place_.end();
  wait_for([&] { return !this->a_->works(); });
  Account waiting = account_of(2);
  this->a_->replay->add(waiting);
  EXPECT_EQ(this->a_->replay->shared()->waiting, 1u);
  EXPECT_EQ(this->a_->replay->drain(std::chrono::steady_clock::now()), 1u);
  EXPECT_EQ(this->a_->list(), "error");
  EXPECT_EQ(this->a_->detail(1), "error");
  EXPECT_EQ(this->a_->replay->answered(id_of(1)).error().code, Code::kUpstream);
  EXPECT_EQ(this->a_->replay->remove("", "").error().code, Code::kUpstream);
  EXPECT_EQ(this->a_->replay->add_outcome(id_of(1), "{\"a\":1}").error().code, Code::kUpstream);
  EXPECT_EQ(this->a_->replay->size(), 0u);
  this->place_.start_again();
  wait_for([&] { return this->a_->works(); });
  this->a_->add(account_of(4));
  EXPECT_EQ(this->a_->replay->shared()->dropped, 0u);
  EXPECT_EQ(this->a_->list({.decision = "even"}), "4 2 of 2");
}

}  // namespace
}  // namespace signalbox::shared_replay
