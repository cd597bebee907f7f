// Tests what several routers learn together over a real Redis, which stops or loses its data.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>

#include "router/shared_learning/changes.h"
#include "router/shared_learning/redis_learning.h"
#include "tests/router/two_sites.h"

namespace signalbox::shared_learning {
namespace {

using learning::Conversation;
using learning::TimePoint;
using learning::Verdict;
using std::chrono::milliseconds;
using std::chrono::seconds;

using test::kWithin;
using test::wait_for;

std::string key_of(char letter) {
  return std::string(64, letter);
}

/// A router, as far as it learns.
struct Site {
  explicit Site(const test::RedisProcess& redis) {
    Options options{.server = redis.address()};
    options.server.connect_limit = options.limit = kWithin;
    shared = make_redis_learning(options, memory);
  }
  static TimePoint now() { return std::chrono::steady_clock::now(); }

  void answer(char letter, const std::string& model, milliseconds ago = {}) {
    memory.conversations.put(key_of(letter), {{model, "", "d"}, 1, 0, now() - ago});
  }
  /// The model of a conversation, or "none".
  std::string model(char letter) {
    const auto found = memory.conversations.find(key_of(letter), now());
    return found ? found->last.model : "none";
  }
  std::string counts(const std::string& model) const {
    return counts_of(memory.outcomes.of("d", model).tally);
  }
  std::string sums(const std::string& model) const {
    const auto regression = memory.outcomes.of("d", model).regression;
    return regression ? sums_of(*regression) : "none";
  }
  void written() const { ASSERT_EQ(shared->drain(std::chrono::steady_clock::now() + kWithin), 0u); }

  learning::Memory memory;
  std::unique_ptr<SharedLearning> shared;
};

class SharedLearningTest : public test::TwoSites<Site> {
 protected:
  /// "" if there are none.
  std::string sums_in_redis() {
    return client_->run({"HGET", "signalbox:learning:sums", "d\nsmall"}, kWithin).value().text;
  }
  // A router adds a verdict again that was not acknowledged, even to one that another has restored.
  void lose_server() {
    a_->written();
    b_->written();
    redis_.server().end();
    wait_for([&] { return !a_->shared->stats().works && !b_->shared->stats().works; });
  }
  /// Returns when both routers have written what they had to.
  void return_server(const std::vector<std::string>& options = {}) {
    redis_.start(options);
    wait_for([&] { return a_->shared->stats().works && b_->shared->stats().works; });
    a_->written();
    b_->written();
  }
};

TEST_F(SharedLearningTest, a_conversation_has_its_model_at_every_router) {
  a_->answer('a', "small");
  wait_for([&] { return b_->model('a') == "small"; });
  b_->answer('a', "large");
  wait_for([&] { return a_->model('a') == "large"; });
  a_->memory.conversations.forget(key_of('a'));
  wait_for([&] { return b_->model('a') == "none"; });
}

TEST_F(SharedLearningTest, the_model_that_was_used_last_stays) {
  a_->answer('a', "new");
  a_->written();
  b_->answer('a', "old", seconds(60));
  b_->answer('b', "marker");
  wait_for([&] { return a_->model('b') == "marker"; });
  wait_for([&] { return b_->model('a') == "new"; });
  EXPECT_EQ(a_->model('a'), "new");
  Site c(redis_);
  wait_for([&] { return c.model('b') == "marker"; });
  EXPECT_EQ(c.model('a'), "new");
}

TEST_F(SharedLearningTest, a_router_that_starts_reads_the_learning_of_others) {
  a_->answer('a', "small", seconds(60));
  for (int i = 0; i < 3; ++i) a_->memory.outcomes.add("d", "small", Verdict::kGoodFit);
  a_->written();
  a_.reset();
  b_.reset();
  // A stream that was trimmed lacks some of the earlier changes.
  ask({"XTRIM", "signalbox:learning:changes", "MAXLEN", "1"});
  ask({"XADD", "signalbox:learning:changes", "*", "odd", "entry"});
  Site c(redis_);
  wait_for([&] { return c.counts("small") == "3 0 0 0"; });
  a_ = std::make_unique<Site>(redis_);
  a_->answer('b', "large", seconds(60));
  wait_for([&] { return c.model('b') == "large"; });
  const auto found = c.memory.conversations.find(key_of('b'), Site::now());
  EXPECT_GE(Site::now() - found->used, seconds(59));
  EXPECT_LE(Site::now() - found->used, seconds(59) + kWithin);
}

TEST_F(SharedLearningTest, verdicts_of_all_routers_add_up_as_in_one_router) {
  learning::Outcomes alone;
  for (int i = 0; i < 100; ++i) {
    const auto verdict = static_cast<Verdict>(i % 3);
    alone.add("d", "small", verdict);
    Site& at = i % 2 == 0 ? *a_ : *b_;
    at.memory.outcomes.add("d", "small", verdict);
    at.written();
  }
  const std::string expected = counts_of(alone.of("d", "small").tally);
  wait_for([&] { return a_->counts("small") == expected && b_->counts("small") == expected; });
  EXPECT_EQ(b_->memory.outcomes.reset(), 1u);
  wait_for([&] { return a_->counts("small") == "0 0 0 0"; });
  a_->memory.outcomes.add("d", "small", Verdict::kFailed);
  wait_for([&] { return b_->counts("small") == "0 0 0 1"; });
}

TEST_F(SharedLearningTest, a_verdict_that_is_repeated_at_another_router_counts_once) {
  learning::Features features;
  const auto report = [&](Site& at) {
    at.memory.outcomes.add("d", "small", Verdict::kFailed, &features, "ticket-1");
    at.written();
  };
  report(*a_);
  wait_for([&] { return b_->counts("small") == "0 0 0 1"; });
  const std::string once = a_->sums("small");
  report(*b_);
  wait_for([&] { return b_->counts("small") == "0 0 0 1" && b_->sums("small") == once; });
  EXPECT_EQ(a_->counts("small"), "0 0 0 1");
  EXPECT_EQ(sums_in_redis(), once);
  a_->memory.outcomes.reset();
  wait_for([&] { return b_->counts("small") == "0 0 0 0"; });
  report(*b_);
  wait_for([&] { return a_->counts("small") == "0 0 0 1"; });
}

TEST_F(SharedLearningTest, features_of_all_routers_add_up_as_in_one_router) {
  learning::Outcomes alone;
  std::mt19937 random(1);
  // More than the count at which sums are halved.
  for (int i = 0; i < 600; ++i) {
    const auto verdict = static_cast<Verdict>(random() % 4);
    learning::Features features;
    for (size_t f = 1; f < learning::Features::kSize; ++f)
      features.steps[f] = static_cast<uint8_t>(random() % (learning::Features::kSteps + 1));
    alone.add("d", "small", verdict, &features);
    Site& at = i % 2 == 0 ? *a_ : *b_;
    at.memory.outcomes.add("d", "small", verdict, &features);
    at.written();
  }
  const std::string expected = sums_of(*alone.of("d", "small").regression);
  wait_for([&] { return a_->sums("small") == expected && b_->sums("small") == expected; });
  a_.reset();
  b_.reset();
  ask({"XTRIM", "signalbox:learning:changes", "MAXLEN", "0"});
  Site c(redis_);
  wait_for([&] { return c.sums("small") == expected; });
  EXPECT_EQ(sums_in_redis(), expected);
  c.memory.outcomes.reset();
  c.written();
  EXPECT_EQ(sums_in_redis(), "");
}

TEST_F(SharedLearningTest, sums_of_another_form_stay_in_redis_and_nothing_is_learnt_from_them) {
  const learning::Features features;
  a_->memory.outcomes.add("d", "small", Verdict::kGoodFit, &features);
  a_->written();
  a_.reset();
  b_.reset();
  learning::Regression huge;
  huge.add(features, Verdict::kGoodFit);
  huge.rewards[3] = INT64_MAX;
  learning::Regression negative;
  negative.add(features, Verdict::kGoodFit);
  negative.products[1] = -1;
  int verdicts = 1;
  for (const std::string& odd :
       {std::string("2 1 0"), std::string("not sums"), std::string("1 9999999999999999999999"),
        sums_of(huge), sums_of(negative)}) {
    ask({"HSET", "signalbox:learning:sums", "d\nsmall", odd});
    ask({"DEL", "signalbox:learning:changes"});
    Site c(redis_);
    wait_for([&] { return c.counts("small") != "0 0 0 0"; });
    EXPECT_EQ(c.sums("small"), "none");
    c.memory.outcomes.add("d", "small", Verdict::kGoodFit, &features);
    c.written();
    EXPECT_EQ(sums_in_redis(), odd);
    const auto counts = client_->run({"HGET", "signalbox:learning:verdicts", "d\nsmall"}, kWithin);
    EXPECT_EQ(counts.value().text, std::to_string(++verdicts) + " 0 0 0")
        << "they are shared still";
  }
}

TEST_F(SharedLearningTest, a_server_that_lost_its_data_gets_sums_again) {
  const learning::Features features;
  // More than one exchange has.
  std::vector<std::string> models{"small"};
  for (int i = 0; i < 300; ++i) models.push_back(std::to_string(i));
  for (const std::string& model : models)
    a_->memory.outcomes.add("d", model, Verdict::kGoodFit, &features);
  a_->written();
  const std::string expected = a_->sums("small");
  const auto has_all = [&](const Site& site) {
    return std::all_of(models.begin(), models.end(),
                       [&](const std::string& model) { return site.sums(model) == expected; });
  };
  wait_for([&] { return has_all(*b_); });
  lose_server();
  return_server();
  Site c(redis_);
  wait_for([&] { return has_all(c); });
  EXPECT_TRUE(has_all(*a_)) << "nothing was added once more";
}

TEST_F(SharedLearningTest, each_router_learns_alone_during_an_outage_and_shares_it_afterwards) {
  redis_.server().end();
  wait_for([&] { return !a_->shared->stats().works && !b_->shared->stats().works; });
  a_->answer('a', "small");
  a_->memory.outcomes.add("d", "small", Verdict::kGoodFit);
  b_->memory.outcomes.add("d", "small", Verdict::kFailed);
  EXPECT_EQ(a_->model('a'), "small");
  EXPECT_EQ(a_->counts("small"), "1 0 0 0");
  redis_.start();
  wait_for([&] { return b_->model('a') == "small"; });
  wait_for([&] { return a_->counts("small") == "1 0 0 1" && b_->counts("small") == "1 0 0 1"; });
}

TEST_F(SharedLearningTest, a_server_that_lost_its_data_gets_it_again) {
  for (char letter = 'a'; letter <= 'f'; ++letter) a_->answer(letter, "small", seconds(9));
  a_->memory.outcomes.add("d", "small", Verdict::kGoodFit);
  a_->written();
  wait_for([&] { return b_->counts("small") == "1 0 0 0" && b_->model('f') == "small"; });
  redis_.server().end();
  wait_for([&] { return !a_->shared->stats().works && !b_->shared->stats().works; });
  redis_.start();
  Site c(redis_);
  wait_for([&] { return c.counts("small") == "1 0 0 0"; });
  for (char letter = 'a'; letter <= 'f'; ++letter)
    wait_for([&] { return c.model(letter) == "small"; });
}

TEST_F(SharedLearningTest, a_verdict_that_waits_for_a_server_without_data_is_added_to_the_others) {
  for (int i = 0; i < 2; ++i) a_->memory.outcomes.add("d", "small", Verdict::kGoodFit);
  wait_for([&] { return b_->counts("small") == "2 0 0 0"; });
  // A router restores what it has read from the server. It reads in order, so the other router has
  // read its own verdicts once it has this one.
  b_->memory.outcomes.add("d", "large", Verdict::kGoodFit);
  wait_for([&] { return a_->counts("large") == "1 0 0 0"; });
  lose_server();
  a_->memory.outcomes.add("d", "small", Verdict::kFailed);
  b_->memory.outcomes.add("d", "small", Verdict::kUnderpowered);
  return_server();
  Site c(redis_);
  wait_for([&] { return c.counts("small") == "2 1 0 1" && c.counts("large") == "1 0 0 0"; });
  wait_for([&] { return a_->counts("small") == "2 1 0 1" && b_->counts("small") == "2 1 0 1"; });
  for (Site* site : {a_.get(), b_.get(), &c}) {
    EXPECT_EQ(site->counts("small"), "2 1 0 1");
    EXPECT_EQ(site->counts("large"), "1 0 0 0");
  }
}

TEST_F(SharedLearningTest, learning_forgotten_during_an_outage_does_not_come_back) {
  ask({"CONFIG", "SET", "appendfsync", "always"});
  ask({"CONFIG", "SET", "appendonly", "yes"});
  a_->answer('a', "small");
  a_->memory.outcomes.add("d", "small", Verdict::kGoodFit);
  wait_for([&] { return b_->model('a') == "small" && b_->counts("small") == "1 0 0 0"; });
  lose_server();
  b_->memory.conversations.forget(key_of('a'));
  b_->memory.outcomes.reset();
  return_server({"--appendonly", "yes"});
  EXPECT_EQ(client_->run({"EXISTS", "signalbox:learning:verdicts"}, kWithin)->number, 0);
  EXPECT_EQ(a_->counts("small"), "0 0 0 0");
  EXPECT_EQ(a_->model('a'), "none");
}

TEST_F(SharedLearningTest, forgotten_learning_does_not_come_back_to_a_server_without_data) {
  a_->answer('a', "small");
  a_->memory.outcomes.add("d", "small", Verdict::kGoodFit);
  wait_for([&] { return b_->model('a') == "small" && b_->counts("small") == "1 0 0 0"; });
  lose_server();
  b_->memory.conversations.forget(key_of('a'));
  b_->memory.outcomes.reset();
  return_server();
  wait_for([&] { return a_->counts("small") == "0 0 0 0" && b_->counts("small") == "0 0 0 0"; });
  EXPECT_EQ(client_->run({"EXISTS", "signalbox:learning:verdicts"}, kWithin)->number, 0);
  EXPECT_EQ(a_->model('a') + b_->model('a'), "nonenone");
}

TEST_F(SharedLearningTest, a_conversation_that_was_used_since_is_not_forgotten) {
  a_->answer('a', "small", seconds(-60));
  a_->written();
  wait_for([&] { return b_->model('a') == "small"; });
  b_->memory.conversations.forget(key_of('a'));
  b_->answer('b', "marker");
  b_->written();
  Site c(redis_);
  wait_for([&] { return c.model('b') == "marker"; });
  EXPECT_EQ(c.model('a'), "small");
}

TEST_F(SharedLearningTest, a_damaged_value_does_not_hold_up_other_changes) {
  ask({"SET", "signalbox:learning:c:" + key_of('a'), "text"});
  a_->answer('a', "small");
  wait_for([&] { return a_->shared->stats().refused == 1; });
  EXPECT_TRUE(a_->shared->stats().works);
  a_->answer('b', "large");
  wait_for([&] { return b_->model('b') == "large"; });
}

TEST_F(SharedLearningTest, changes_of_a_time_with_a_full_server_arrive_later) {
  ask({"CONFIG", "SET", "maxmemory", "1"});
  a_->answer('a', "small");
  a_->memory.outcomes.add("d", "small", Verdict::kGoodFit);
  wait_for([&] { return !a_->shared->stats().works; });
  // A router that has just started writes what it knows a second time, so there may be more.
  EXPECT_GE(a_->shared->stats().waiting, 2u);
  ask({"CONFIG", "SET", "maxmemory", "0"});
  wait_for([&] { return b_->model('a') == "small" && b_->counts("small") == "1 0 0 0"; });
  wait_for([&] { return a_->shared->stats().works && a_->shared->stats().waiting == 0; });
  EXPECT_EQ(a_->counts("small"), "1 0 0 0");
}

TEST_F(SharedLearningTest, records_expire_and_bytes_of_another_program_are_ignored) {
  a_->memory.conversations.set_lifetime(seconds(100));
  a_->answer('a', "small");
  a_->written();
  const std::string key = "signalbox:learning:c:" + key_of('a');
  const auto left = client_->run({"PTTL", key}, kWithin);
  EXPECT_GT(left->number, 60'000);
  EXPECT_LE(left->number, 100'000);
  ask({"XADD", "signalbox:learning:changes", "*", "key", "odd"});
  ask({"HSET", "signalbox:learning:verdicts", "odd", "1 2"});
  ask({"XADD", "signalbox:learning:changes", "*", "verdicts", "d\nm", "counts",
       "1 2 3 4000000000"});
  a_->answer('b', "large");
  wait_for([&] { return b_->model('b') == "large"; });
  EXPECT_EQ(b_->counts("m"), "0 0 0 0");
  EXPECT_EQ(b_->memory.conversations.size(), 2u);
}

}  // namespace
}  // namespace signalbox::shared_learning
