// Tests records of requests that routers share over a real Redis, which stops, is full, or loses
// its data.

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "base/json.h"
#include "router/shared_replay/record.h"
#include "router/shared_replay/redis_replay.h"
#include "router/shared_replay/scripts.h"
#include "tests/router/two_sites.h"

namespace signalbox::shared_replay {
namespace {

using observe::Account;
using observe::Replay;
using std::chrono::milliseconds;
using std::chrono::seconds;

using test::kWithin;
using test::wait_for;

std::string id_of(int number) {
  return fmt::format("replay-{:016x}", number);
}

Account account_of(int number, const std::string& user = "ada", const std::string& key = "k1") {
  Account out;
  out.id = fmt::format("request-{}", number);
  out.replay_id = id_of(number);
  out.decision = number % 2 == 0 ? "even" : "odd";
  out.model = "small";
  out.user = user;
  out.key = key;
  out.status = 200;
  return out;
}

/// A router, as far as its records go.
struct Site {
  explicit Site(const test::RedisProcess& redis, Options options = {}) {
    options.server = redis.address();
    options.server.connect_limit = kWithin;
    options.read_limit = options.write_limit = kWithin;
    replay = make_redis_replay(options);
  }
  /// Returns once it is written.
  void add(Account account) const {
    replay->add(account);
    ASSERT_EQ(replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
  }
  /// The numbers of the records in a list, or "error".
  std::string list(const Replay::Query& query = {}) const {
    const auto text = replay->list_json(query);
    if (!text) return "error";
    const auto document = json::Document::parse(*text);
    if (!document) return document.error().message + ": " + *text;
    std::string out;
    for (const json::Value& each : document->root().find("data")->items())
      out +=
          std::to_string(std::strtol(each.find("id")->text().substr(7).data(), nullptr, 16)) + " ";
    return out + "of " + std::to_string(document->root().find("total")->integer().value());
  }
  std::string detail(int number) const {
    const auto found = replay->find_json(id_of(number));
    if (!found) return "error";
    if (!*found) return "none";
    EXPECT_TRUE(json::Document::parse(**found)) << **found;
    return **found;
  }
  bool works() const { return replay->shared()->works; }

  std::unique_ptr<SharedReplay> replay;
};

class SharedReplayTest : public test::TwoSites<Site> {
 protected:
  int64_t keys() {
    const auto value = client_->run({"DBSIZE"}, kWithin);
    return value ? value->number : -1;
  }
  /// The bytes that the records count as, which are the sum of the parts.
  int64_t bytes() {
    const auto sum = client_->run({"GET", "signalbox:replay:bytes"}, kWithin);
    const auto parts = client_->run({"HVALS", "signalbox:replay:sizes"}, kWithin);
    if (!sum || !parts) return -1;
    int64_t out = 0;
    for (const auto& part : parts->items) out += std::stoll(part.text);
    EXPECT_EQ(sum->text, std::to_string(out));
    return out;
  }
};

TEST_F(SharedReplayTest, routers_see_the_records_of_all_and_a_new_one_finds_them) {
  a_->add(account_of(1));
  b_->add(account_of(2));
  a_->add(account_of(3));
  EXPECT_EQ(a_->list(), "3 2 1 of 3");
  EXPECT_EQ(b_->list(), "3 2 1 of 3");
  EXPECT_EQ(b_->list({.limit = 1, .offset = 1}), "2 of 3");
  EXPECT_EQ(b_->replay->size(), 3u);
  a_.reset();
  b_.reset();
  EXPECT_EQ(Site(redis_).list(), "3 2 1 of 3");
}

TEST_F(SharedReplayTest, lists_by_every_property_and_by_several) {
  a_->add(account_of(1, "ada", "k1"));
  a_->add(account_of(2, "ada", "k2"));
  a_->add(account_of(3, "bob", "k1"));
  a_->add(account_of(4, "", ""));
  EXPECT_EQ(b_->list({.user = "ada"}), "2 1 of 2");
  EXPECT_EQ(b_->list({.key = "k1"}), "3 1 of 2");
  EXPECT_EQ(b_->list({.decision = "even"}), "4 2 of 2");
  EXPECT_EQ(b_->list({.model = "small"}), "4 3 2 1 of 4");
  EXPECT_EQ(b_->list({.decision = "odd", .model = "small", .user = "ada", .key = "k1"}), "1 of 1");
  EXPECT_EQ(b_->list({.limit = 1, .offset = 1, .decision = "odd", .key = "k1"}), "1 of 2");
  EXPECT_EQ(b_->list({.user = "carol"}), "of 0");
}

TEST_F(SharedReplayTest, a_record_has_its_bodies_outcomes_and_shadows) {
  Account account = account_of(1);
  account.request_body = "{\"q\"}\xff";
  account.response_body = "answer";
  account.response_cut = true;
  a_->add(std::move(account));
  const auto answered = b_->replay->answered(id_of(1)).value();
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->decision, "odd");
  EXPECT_EQ(answered->model, "small");
  EXPECT_TRUE(b_->replay->add_outcome(id_of(1), "{\"verdict\":\"failed\"}").value());
  EXPECT_FALSE(b_->replay->add_outcome(id_of(2), "{\"verdict\":\"failed\"}").value());
  observe::Shadow shadow;
  shadow.arm = "arm";
  shadow.replay_id = id_of(1);
  shadow.response = "shadowed";
  b_->replay->add_shadow(shadow);
  EXPECT_EQ(b_->replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
  const std::string found = a_->detail(1);
  for (const char* each :
       {"\"id\":\"replay-0000000000000001\"", "\"request_body\":\"{\\\"q\\\"}", "answer",
        "\"response_body_truncated\":true", "\"request_body_truncated\":false",
        "\"outcomes\":[{\"verdict\":\"failed\"}]", "\"shadows\":[{\"name\":\"arm\"",
        "\"response\":\"shadowed\""})
    EXPECT_NE(found.find(each), std::string::npos) << each << " in " << found;
  EXPECT_EQ(found.find("bodies_expired"), std::string::npos);
  EXPECT_EQ(a_->list().find("answer"), std::string::npos);
  EXPECT_EQ(a_->detail(2), "none");
  EXPECT_EQ(a_->replay->find_json("../x").value(), std::nullopt);
}

TEST_F(SharedReplayTest, takes_a_bounded_number_of_outcomes) {
  a_->add(account_of(1));
  for (size_t i = 0; i < Replay::kOutcomesMax; ++i)
    EXPECT_TRUE(a_->replay->add_outcome(id_of(1), "{\"verdict\":\"failed\"}").value());
  EXPECT_FALSE(a_->replay->add_outcome(id_of(1), "{\"verdict\":\"failed\"}").value());
}

TEST_F(SharedReplayTest, new_records_replace_the_oldest_ones_completely) {
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

TEST_F(SharedReplayTest, the_oldest_records_make_room_below_a_bound_in_bytes) {
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

TEST_F(SharedReplayTest, shadows_that_are_not_kept_take_no_bytes) {
  a_->add(account_of(1));
  observe::Shadow shadow;
  shadow.replay_id = id_of(1);
  shadow.response = "text";
  const auto bytes_with = [&](size_t more) {
    for (size_t i = 0; i < more; ++i) a_->replay->add_shadow(shadow);
    EXPECT_EQ(a_->replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
    return bytes();
  };
  const int64_t all = bytes_with(kShadowsMax);
  EXPECT_EQ(bytes_with(3), all);
}

TEST_F(SharedReplayTest, texts_and_records_that_have_expired_take_no_bytes) {
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

TEST_F(SharedReplayTest, records_expire_and_their_texts_sooner) {
  Account brief = account_of(1);
  brief.request_body = "secret";
  brief.body_age_max = seconds(1);
  Account other = account_of(2);
  other.request_body = "kept";
  a_->replay->set_limits({.records = 100, .age = seconds(3600)});
  a_->add(std::move(brief));
  a_->add(std::move(other));
  EXPECT_NE(a_->detail(1).find("secret"), std::string::npos);
  wait_for([&] { return a_->detail(1).find("\"bodies_expired\":true") != std::string::npos; });
  EXPECT_EQ(a_->detail(1).find("secret"), std::string::npos);
  EXPECT_NE(a_->detail(2).find("kept"), std::string::npos);
  a_->replay->set_limits({.records = 100, .age = seconds(1)});
  a_->add(account_of(3, "bob", "k3"));
  EXPECT_EQ(a_->list({.user = "bob"}), "3 of 1");
  wait_for([&] { return a_->list({.user = "bob"}) == "of 0"; });
  EXPECT_EQ(a_->list(), "of 0");
  wait_for([&] { return a_->detail(3) == "none"; });
}

TEST_F(SharedReplayTest, a_record_that_one_router_deletes_is_gone_at_all) {
  const auto fill = [&] {
    a_->add(account_of(1, "ada", "k1"));
    a_->add(account_of(2, "ada", "k2"));
    a_->add(account_of(3, "bob", "k1"));
  };
  fill();
  EXPECT_EQ(b_->replay->remove("ada", "k1").value(), 1u);
  EXPECT_EQ(a_->list(), "3 2 of 2");
  EXPECT_EQ(b_->replay->remove("carol", "").value(), 0u);
  EXPECT_EQ(b_->replay->remove("bob", "").value(), 1u);
  EXPECT_EQ(a_->list({.key = "k1"}), "of 0");
  EXPECT_EQ(b_->replay->remove("", "").value(), 1u);
  EXPECT_EQ(a_->list(), "of 0");
  fill();
  EXPECT_EQ(a_->list(), "3 2 1 of 3");
  EXPECT_EQ(b_->replay->remove("", "k1").value(), 2u);
}

TEST_F(SharedReplayTest, deletes_more_than_one_step_takes) {
  a_->replay->set_limits({.records = 10'000});
  for (int i = 0; i < 1200; ++i) {
    Account each = account_of(i);
    a_->replay->add(each);
  }
  EXPECT_EQ(a_->replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
  EXPECT_EQ(b_->replay->size(), 1200u);
  EXPECT_EQ(b_->replay->remove("ada", "k1").value(), 1200u);
  EXPECT_EQ(b_->list(), "of 0");
}

TEST_F(SharedReplayTest, a_record_that_was_on_its_way_at_its_deletion_is_not_stored) {
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

TEST_F(SharedReplayTest, without_the_server_records_are_dropped_and_readers_get_an_error) {
  a_->add(account_of(1));
  redis_.server().end();
  wait_for([&] { return !a_->works(); });
  Account dropped = account_of(2);
  a_->replay->add(dropped);
  EXPECT_EQ(a_->replay->shared()->dropped, 1u);
  EXPECT_EQ(a_->replay->drain(std::chrono::steady_clock::now()), 0u);
  EXPECT_EQ(a_->list(), "error");
  EXPECT_EQ(a_->detail(1), "error");
  EXPECT_EQ(a_->replay->answered(id_of(1)).error().code, Code::kUpstream);
  EXPECT_EQ(a_->replay->remove("", "").error().code, Code::kUpstream);
  EXPECT_EQ(a_->replay->add_outcome(id_of(1), "{\"a\":1}").error().code, Code::kUpstream);
  EXPECT_EQ(a_->replay->size(), 0u);
  redis_.start();
  wait_for([&] { return a_->works(); });
  a_->add(account_of(3));
  EXPECT_EQ(a_->list(), "3 of 1");
}

TEST_F(SharedReplayTest, a_full_server_drops_records_and_still_lists_and_deletes) {
  Site c(redis_, {.waits_max = milliseconds(50)});
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

TEST_F(SharedReplayTest, a_deleted_record_does_not_stay_when_the_server_returns_with_older_data) {
  a_->add(account_of(1, "ada"));
  a_->add(account_of(2, "bob"));
  ask({"SAVE"});
  EXPECT_EQ(a_->replay->remove("ada", "").value(), 1u);
  wait_for([&] { return a_->works() && b_->works(); });
  redis_.server().end();
  wait_for([&] { return !a_->works() && !b_->works(); });
  redis_.start();
  wait_for([&] { return a_->works() && b_->works(); });
  EXPECT_EQ(a_->list(), "2 of 1");
  EXPECT_EQ(b_->list(), "2 of 1");
  EXPECT_EQ(b_->detail(1), "none");
}

TEST_F(SharedReplayTest, a_deleted_record_is_not_shown_while_a_returned_server_takes_no_deletions) {
  // Knows no deletion, and reads again later than the others may.
  Site control(redis_, {.prefix = "control:", .grace = 3 * Options().grace});
  a_->add(account_of(1, "ada"));
  a_->add(account_of(2, "bob"));
  ask({"SAVE"});
  EXPECT_EQ(a_->replay->remove("ada", "").value(), 1u);
  redis_.server().end();
  wait_for([&] { return !a_->works() && !control.works(); });
  b_.reset();
  redis_.start({"--min-replicas-to-write", "1"});
  EXPECT_NE(Site(redis_).detail(1).find(id_of(1)), std::string::npos);
  wait_for([&] {
    EXPECT_EQ(a_->detail(1), "error");
    return control.detail(1) == "none";
  });
  ask({"CONFIG", "SET", "min-replicas-to-write", "0"});
  wait_for([&] { return a_->detail(1) == "none"; });
  EXPECT_EQ(a_->list(), "2 of 1");
}

TEST_F(SharedReplayTest, bytes_of_another_program_are_no_record) {
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
