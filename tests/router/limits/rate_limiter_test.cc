// Tests rate limits with scenarios: who sends a request when, and who is admitted.

#include "router/limits/rate_limiter.h"

#include <gtest/gtest.h>

namespace signalbox::limits {
namespace {

using config::RateLimit;
using std::chrono::minutes;
using std::chrono::seconds;

RateLimit limit_of(std::vector<RateLimit::Rule> rules) {
  RateLimit out;
  out.providers.push_back({.type = "local-limiter", .address = {}, .domain = {}, .rules = {}});
  out.providers.back().rules = std::move(rules);
  return out;
}

RateLimit::Rule rule_of(uint64_t requests, uint64_t tokens = 0, seconds unit = minutes(1)) {
  RateLimit::Rule out;
  out.name = "each";
  out.requests_per_unit = requests;
  out.tokens_per_unit = tokens;
  out.unit = unit;
  return out;
}

class RateLimiterTest : public testing::Test {
 protected:
  /// Admits a request as the gateway does: before it has a model, then with the one it gets.
  bool admits(const RateLimit& limit, const Requester& requester) {
    refusal_ = limiter_.admit(limit, {requester.user, requester.groups}, now_);
    return !refusal_ && (requester.model.empty() || admits_to_model(limit, requester));
  }
  bool admits_to_model(const RateLimit& limit, const Requester& requester) {
    refusal_ = limiter_.admit(limit, requester, now_);
    return !refusal_;
  }

  RateLimiter limiter_{4};
  TimePoint now_{std::chrono::hours(1)};
  std::optional<RateRefusal> refusal_;
  const Requester ann_{"ann", "dev, ops", "large"}, bob_{"bob", "", "small"};
};

TEST_F(RateLimiterTest, admits_the_limit_of_a_unit_and_then_as_many_as_refill) {
  const RateLimit limit = limit_of({rule_of(2)});
  EXPECT_TRUE(admits(limit, ann_));
  EXPECT_TRUE(admits(limit, ann_));
  EXPECT_FALSE(admits(limit, ann_));
  EXPECT_EQ(refusal_->retry, seconds(30));
  EXPECT_EQ(refusal_->message,
            "the limit of 2 requests a minute is reached (each); try again in 30 s");
  now_ += seconds(29);
  EXPECT_FALSE(admits(limit, ann_));
  EXPECT_EQ(refusal_->retry, seconds(1));
  now_ += seconds(1);
  EXPECT_TRUE(admits(limit, ann_));
  EXPECT_FALSE(admits(limit, ann_));
  now_ += minutes(10);
  EXPECT_TRUE(admits(limit, ann_));
  EXPECT_TRUE(admits(limit, ann_));
  EXPECT_FALSE(admits(limit, ann_));
}

TEST_F(RateLimiterTest, counts_each_user_alone) {
  const RateLimit limit = limit_of({rule_of(1)});
  EXPECT_TRUE(admits(limit, ann_));
  EXPECT_TRUE(admits(limit, bob_));
  EXPECT_TRUE(admits(limit, {}));
  EXPECT_FALSE(admits(limit, ann_));
  EXPECT_FALSE(admits(limit, {}));
}

TEST_F(RateLimiterTest, counts_a_request_only_by_rules_that_match_it) {
  RateLimit::Rule of_ops = rule_of(1);
  of_ops.match.group = "ops";
  RateLimit::Rule of_large = rule_of(3);
  of_large.match.model = "large";
  RateLimit::Rule of_bob = rule_of(2);
  of_bob.match.user = "bob";
  const RateLimit limit = limit_of({of_ops, of_large, of_bob});
  EXPECT_TRUE(admits(limit, ann_));
  EXPECT_FALSE(admits(limit, ann_));  // the limit of ops
  const Requester no_group{"ann", "opsx", "large"};
  EXPECT_TRUE(admits(limit, no_group));
  EXPECT_TRUE(admits(limit, no_group));  // other rules do not count a refused request
  EXPECT_FALSE(admits(limit, no_group));
  EXPECT_TRUE(admits(limit, bob_));
  EXPECT_TRUE(admits(limit, bob_));
  EXPECT_FALSE(admits(limit, bob_));
  EXPECT_TRUE(admits(limit, {"cem", "", "small"}));
}

TEST_F(RateLimiterTest, refuses_a_user_who_owes_tokens) {
  const RateLimit limit = limit_of({rule_of(0, 600)});
  EXPECT_TRUE(admits(limit, ann_));
  limiter_.charge(limit, ann_, 900, now_);
  EXPECT_FALSE(admits(limit, ann_));
  EXPECT_EQ(refusal_->retry, seconds(31));  // 300 tokens over the limit, at 10 per second
  EXPECT_EQ(refusal_->message,
            "the limit of 600 tokens a minute is reached (each); try again in 31 s");
  EXPECT_TRUE(admits(limit, bob_));
  now_ += seconds(31);
  EXPECT_TRUE(admits(limit, ann_));
}

TEST_F(RateLimiterTest, counts_another_model_after_the_first_by_its_own_rules_alone) {
  RateLimit::Rule of_large = rule_of(1);
  of_large.match.model = "large";
  const RateLimit limit = limit_of({rule_of(2), of_large});
  const Requester after{"ann", "", "large"};
  EXPECT_TRUE(admits(limit, {"ann", "", "small"}));
  EXPECT_TRUE(admits_to_model(limit, after));
  EXPECT_FALSE(admits_to_model(limit, after));
  EXPECT_TRUE(admits(limit, {"ann", "", "small"}));
  EXPECT_FALSE(admits(limit, {"ann", "", "small"}));
}

TEST_F(RateLimiterTest, ignores_rules_of_an_external_service) {
  RateLimit limit = limit_of({rule_of(1)});
  limit.providers.back().type = "envoy-ratelimit";
  EXPECT_TRUE(admits(limit, ann_));
  EXPECT_TRUE(admits(limit, ann_));
}

TEST_F(RateLimiterTest, keeps_long_names_apart) {
  const RateLimit limit = limit_of({rule_of(1)});
  const std::string name(15'000, 'x');
  EXPECT_TRUE(admits(limit, {name + "a", "", "m"}));
  EXPECT_TRUE(admits(limit, {name + "b", "", "m"}));
  EXPECT_FALSE(admits(limit, {name + "a", "", "m"}));
}

TEST_F(RateLimiterTest, keeps_the_counts_of_an_unchanged_rule) {
  EXPECT_TRUE(admits(limit_of({rule_of(1)}), ann_));
  EXPECT_FALSE(admits(limit_of({rule_of(1), rule_of(5, 0, seconds(1))}), ann_));
  EXPECT_TRUE(admits(limit_of({rule_of(2)}), ann_));
}

TEST_F(RateLimiterTest, reports_that_there_are_too_many_users_to_count) {
  RateLimit limit = limit_of({rule_of(60)});
  for (const std::string user : {"1", "2", "3", "4"}) EXPECT_TRUE(admits(limit, {user, "", "m"}));
  EXPECT_FALSE(admits(limit, {"5", "", "m"}));
  EXPECT_EQ(refusal_->message, "the rate limiter has too many users to count");
  EXPECT_EQ(refusal_->retry, seconds(1));
  EXPECT_TRUE(admits(limit, {"4", "", "m"}));
  limit.fail_open = true;
  EXPECT_TRUE(admits(limit, {"5", "", "m"}));
  limit.fail_open = false;
  now_ += seconds(5);  // the earlier buckets are full again, and forgotten
  EXPECT_TRUE(admits(limit, {"5", "", "m"}));
}

TEST_F(RateLimiterTest, survives_a_clock_that_goes_back) {
  const RateLimit limit = limit_of({rule_of(1)});
  EXPECT_TRUE(admits(limit, ann_));
  now_ -= minutes(5);
  EXPECT_FALSE(admits(limit, ann_));
}

// --- buckets that several routers share ---

class SharedRateLimiterTest : public RateLimiterTest {
 protected:
  void SetUp() override { limiter_.share(); }
  std::vector<BucketUse> take() { return limiter_.take_uses(100, now_); }
  /// Returns the level of a bucket after `requests` requests.
  BucketLevel level(double requests) {
    std::vector<BucketUse> uses = take();
    EXPECT_EQ(uses.size(), 1U);
    limiter_.confirm_uses();
    BucketLevel out = uses.empty() ? BucketLevel{} : uses.front().level;
    out.requests = requests;
    return out;
  }
  const RateLimit limit_ = limit_of({rule_of(60)});
};

TEST_F(SharedRateLimiterTest, reports_each_use_until_it_is_confirmed) {
  EXPECT_TRUE(admits(limit_, ann_));
  EXPECT_TRUE(admits(limit_, ann_));
  for (int i = 0; i < 2; ++i) {
    const auto uses = take();
    ASSERT_EQ(uses.size(), 1U);
    EXPECT_EQ(uses[0].requests, 2);
    EXPECT_EQ(uses[0].level.requests, 2);
    EXPECT_EQ(uses[0].level.requests_per_unit, 60U);
    EXPECT_TRUE(admits(limit_, ann_));  // a use of the next report
  }
  EXPECT_EQ(limiter_.unconfirmed(), 2U);
  limiter_.confirm_uses();
  const auto uses = take();
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].requests, 2);
  EXPECT_EQ(uses[0].level.requests, 4);
  limiter_.confirm_uses();
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(limiter_.unconfirmed(), 0U);
}

TEST_F(SharedRateLimiterTest, does_not_report_uses_that_were_refilled) {
  EXPECT_TRUE(admits(limit_, ann_));
  EXPECT_TRUE(admits(limit_, ann_));
  now_ += seconds(1);
  ASSERT_EQ(take().size(), 1U);
  EXPECT_EQ(take()[0].requests, 1);
  now_ += minutes(1);
  EXPECT_EQ(take()[0].requests, 0);
}

TEST_F(SharedRateLimiterTest, counts_its_unreported_uses_on_top_of_the_common_level) {
  EXPECT_TRUE(admits(limit_, ann_));
  const BucketLevel common = level(58);
  EXPECT_TRUE(admits(limit_, ann_));
  limiter_.set_levels(std::vector{common}, now_, now_);
  EXPECT_TRUE(admits(limit_, ann_));
  EXPECT_FALSE(admits(limit_, ann_));
  EXPECT_EQ(refusal_->retry, seconds(1));
}

TEST_F(SharedRateLimiterTest, refuses_a_user_that_it_has_never_seen_if_other_routers_have) {
  EXPECT_TRUE(admits(limit_, ann_));
  const BucketLevel common = level(60);
  RateLimiter other(4);
  other.share();
  other.set_levels(std::vector{common}, now_, now_);
  EXPECT_TRUE(other.admit(limit_, {"ann", "", ""}, now_));
  EXPECT_FALSE(other.admit(limit_, {"bob", "", ""}, now_));
  EXPECT_FALSE(other.admit(limit_, {"ann", "", ""}, now_ + seconds(1)));
}

TEST_F(SharedRateLimiterTest, lets_a_bucket_in_debt_wait_for_all_of_it) {
  EXPECT_TRUE(admits(limit_, ann_));
  const BucketLevel common = level(65);
  limiter_.set_levels(std::vector{common}, now_, now_);
  EXPECT_FALSE(admits(limit_, ann_));
  EXPECT_EQ(refusal_->retry, seconds(6));
}

TEST_F(SharedRateLimiterTest, refills_from_the_time_of_the_level) {
  EXPECT_TRUE(admits(limit_, ann_));
  const BucketLevel common = level(60);
  limiter_.set_levels(std::vector{common}, now_ - seconds(1), now_);
  EXPECT_TRUE(admits(limit_, ann_));
  EXPECT_FALSE(admits(limit_, ann_));
}

TEST_F(SharedRateLimiterTest, reports_all_levels_that_were_lost) {
  EXPECT_TRUE(admits(limit_, ann_));
  EXPECT_TRUE(admits(limit_, bob_));
  take();
  limiter_.confirm_uses();
  limiter_.report_all(now_);
  const auto uses = take();
  ASSERT_EQ(uses.size(), 2U);
  for (const BucketUse& use : uses) {
    EXPECT_EQ(use.requests, 0);
    EXPECT_EQ(use.level.requests, 1);
  }
}

TEST_F(SharedRateLimiterTest,
       keeps_its_level_until_it_has_reported_it_to_a_server_that_may_have_lost_it) {
  EXPECT_TRUE(admits(limit_, ann_));
  BucketLevel old = level(1);
  BucketLevel common = old;
  common.requests = 60;
  limiter_.set_levels(std::vector{common}, now_, now_);
  EXPECT_TRUE(take().empty());
  limiter_.report_all(now_);
  limiter_.set_levels(std::vector{old}, now_, now_);
  EXPECT_FALSE(admits(limit_, ann_));
  const auto uses = take();
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_TRUE(uses[0].may_be_lost);
  EXPECT_EQ(uses[0].level.requests, 60);
  limiter_.confirm_uses();
  limiter_.set_levels(std::vector{old}, now_, now_);
  EXPECT_TRUE(admits(limit_, ann_));
  EXPECT_FALSE(take()[0].may_be_lost);
}

TEST_F(SharedRateLimiterTest, keeps_no_names_of_buckets_that_it_has_dropped) {
  for (const char* user : {"a", "b", "c", "d"}) EXPECT_TRUE(admits(limit_, {user, "", ""}));
  now_ += minutes(2);  // they are full again
  for (const char* user : {"e", "a", "a"}) EXPECT_TRUE(admits(limit_, {user, "", ""}));
  EXPECT_EQ(limiter_.unconfirmed(), 2U);
  const auto uses = take();
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].requests, 1);
  EXPECT_EQ(uses[1].requests, 2);
}

TEST_F(SharedRateLimiterTest, learns_the_levels_of_its_users_while_there_are_too_many) {
  EXPECT_TRUE(admits(limit_, ann_));
  const BucketLevel common = level(60);
  for (const char* user : {"a", "b", "c"}) EXPECT_TRUE(admits(limit_, {user, "", ""}));
  BucketLevel unknown = common;
  unknown.name += "x";
  limiter_.set_levels(std::vector{unknown, common}, now_, now_);
  EXPECT_FALSE(admits(limit_, ann_));
}

TEST_F(SharedRateLimiterTest, keeps_no_more_levels_than_users) {
  EXPECT_TRUE(admits(limit_, ann_));
  BucketLevel common = level(60);
  for (int i = 0; i < 10; ++i) {
    common.name += "x";
    limiter_.set_levels(std::vector{common}, now_, now_);
  }
  limiter_.report_all(now_);
  EXPECT_EQ(take().size(), 4U);
}

}  // namespace
}  // namespace signalbox::limits
