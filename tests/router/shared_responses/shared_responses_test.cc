// Tests stored responses that routers share over a real Redis, which stops, is full, or loses its
// data.

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <future>
#include <thread>

#include "router/shared_responses/record.h"
#include "router/shared_responses/redis_responses.h"
#include "router/stores/deletions.h"
#include "tests/router/two_sites.h"

namespace signalbox::shared_responses {
namespace {

using dialects::ResponseStore;
using dialects::StoredResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;

// All times are real ones, because routers give them to Redis.
const int64_t kNow = std::time(nullptr);
using test::kWithin;
using test::wait_for;

StoredResponse response_of(std::string text, std::string owner = "ann") {
  return {std::move(owner), std::move(text), "input", "messages", kNow};
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

/// One router, as far as its responses go.
struct Site {
  explicit Site(const test::RedisProcess& redis, milliseconds limit = kWithin) {
    stores::RedisServer server = redis.address();
    server.connect_limit = limit;
    below =
        make_redis_responses({.server = server, .read_limit = limit, .write_limit = limit}, store);
    store.share(below.get());
  }
  ~Site() { store.share(nullptr); }

  /// Returns once a reply would go on.
  void add(const std::string& id, StoredResponse response) {
    publish(id, store.put(id, std::move(response), kNow));
  }
  void publish(const std::string& id, dialects::ResponsePointer response) {
    const auto done = std::make_shared<std::promise<void>>();
    store.publish(id, std::move(response), kNow, [done] { done->set_value(); });
    ASSERT_EQ(done->get_future().wait_for(kWithin), std::future_status::ready);
  }
  /// The text of a response, "none" or "error".
  std::string text(std::string_view id, std::string_view owner = "ann") {
    const auto found = store.find(id, owner, kNow);
    if (!found) return "error";
    return *found ? (*found)->response : "none";
  }
  bool works() const { return below->stats().works; }

  ResponseStore store{{}};
  std::unique_ptr<Sharing> below;
};

class SharedResponsesTest : public test::TwoSites<Site> {
 protected:
  int64_t number(const stores::Redis::Command& command) {
    const auto value = client_->run(command, kWithin);
    return value ? value->number : -100;
  }
  void set(std::string_view key, std::string_view value) {
    ASSERT_TRUE(client_->run({"CONFIG", "SET", key, value}, kWithin));
  }
  void restart_without_data() {
    redis_.server().end();
    redis_.start();
  }
};

TEST_F(SharedResponsesTest, every_router_has_a_response_for_its_owner_only) {
  a_->add("resp_1", response_of("one"));
  EXPECT_EQ(b_->text("resp_1"), "one");
  EXPECT_EQ(b_->text("resp_1", "bob"), "none");
  EXPECT_EQ(b_->text("resp_2"), "none");
  EXPECT_EQ(b_->text(std::string(1'000'000, 'x')), "none");
  a_.reset();  // the router that made it
  EXPECT_EQ(b_->text("resp_1"), "one");
}

TEST_F(SharedResponsesTest, a_response_that_its_router_has_no_room_for_is_shared) {
  a_->store.set_limits({.responses = 1});
  const auto first = a_->store.put("resp_1", response_of("one"), kNow);
  a_->add("resp_2", response_of("two"));
  a_->publish("resp_1", first);
  EXPECT_EQ(b_->text("resp_1"), "one");
}

TEST_F(SharedResponsesTest, a_router_applies_its_own_lifetime) {
  a_->publish("resp_1", a_->store.put("resp_1", response_of("one"), kNow - 100));
  EXPECT_EQ(b_->text("resp_1"), "one");
  b_->store.set_limits({.ttl_s = 50});
  EXPECT_EQ(b_->text("resp_1"), "none");
}

TEST_F(SharedResponsesTest, a_response_that_one_router_removes_is_gone_at_all) {
  a_->add("resp_1", response_of("one"));
  EXPECT_FALSE(b_->store.withdraw("resp_1", "bob", kNow).value());
  EXPECT_TRUE(b_->store.withdraw("resp_1", "ann", kNow).value());
  EXPECT_EQ(a_->text("resp_1"), "none");
  EXPECT_EQ(b_->text("resp_1"), "none");
  EXPECT_FALSE(a_->store.withdraw("resp_1", "ann", kNow).value());
}

TEST_F(SharedResponsesTest, a_deletion_lasts_as_long_as_the_response_would) {
  a_->add("resp_1", response_of("one"));
  b_->store.set_limits({.ttl_s = 60});
  EXPECT_TRUE(b_->store.withdraw("resp_1", "ann", kNow).value());
  EXPECT_GT(number({"PTTL", "signalbox:responses:d:resp_1"}), 23 * 3600 * 1000);
}

TEST_F(SharedResponsesTest, a_deleted_response_does_not_come_back_when_the_data_is_lost) {
  a_->add("resp_1", response_of("one"));
  EXPECT_TRUE(b_->store.withdraw("resp_1", "ann", kNow).value());
  wait_for([&] { return a_->store.size() == 0; });
  restart_without_data();
  a_->add("resp_2", response_of("two"));
  wait_for([&] { return b_->text("resp_2") == "two"; });
  EXPECT_EQ(a_->text("resp_1"), "none");
  EXPECT_EQ(b_->text("resp_1"), "none");
  EXPECT_EQ(number({"EXISTS", "signalbox:responses:r:resp_1"}), 0);
}

TEST_F(SharedResponsesTest, a_server_with_an_older_state_learns_of_deletions_again) {
  a_->add("resp_1", response_of("one"));
  EXPECT_TRUE(b_->store.withdraw("resp_1", "ann", kNow).value());
  restart_without_data();
  wait_for([&] { return number({"EXISTS", "signalbox:responses:d:resp_1"}) == 1; });
  const std::string record = write_record(response_of("one"));
  ASSERT_TRUE(client_->run({"SET", "signalbox:responses:r:resp_1", record}, kWithin));
  Site c(redis_);
  EXPECT_EQ(c.text("resp_1"), "none");
}

TEST_F(SharedResponsesTest, nothing_is_read_until_others_had_time_to_repeat_deletions) {
  a_->add("resp_1", response_of("one"));
  ASSERT_TRUE(client_->run({"SAVE"}, kWithin));
  a_.reset();
  b_.reset();
  redis_.server().end();
  Site c(redis_);
  wait_for([&] { return !c.works(); });
  redis_.start();
  // It follows: it has connected, has read the stream to its end, and waits for more.
  wait_for([&] {
    const auto commands = client_->run({"INFO", "commandstats"}, kWithin);
    const size_t at = commands ? commands->text.find("cmdstat_xread:calls=") : std::string::npos;
    return at != std::string::npos && std::atoi(commands->text.c_str() + at + 20) >= 3;
  });
  EXPECT_EQ(c.text("resp_1"), "error");
  EXPECT_FALSE(c.works());
  // Another router repeats its deletion.
  ASSERT_TRUE(client_->run({"SET", "signalbox:responses:d:resp_1", "1"}, kWithin));
  wait_for([&] { return c.works(); });
  EXPECT_EQ(c.text("resp_1"), "none");
}

TEST_F(SharedResponsesTest, a_server_that_lost_its_data_gets_all_responses_again) {
  for (int i = 0; i < 200; ++i) a_->add(fmt::format("resp_{}", i), response_of("one"));
  restart_without_data();
  for (int i = 0; i < 200; ++i)
    wait_for([&] { return b_->text(fmt::format("resp_{}", i)) == "one"; });
}

TEST_F(SharedResponsesTest, responses_stored_without_the_server_arrive_later) {
  redis_.server().end();
  a_->add("resp_1", response_of("one"));
  EXPECT_EQ(a_->text("resp_1"), "one");
  EXPECT_EQ(b_->text("resp_1"), "error");
  EXPECT_FALSE(a_->store.withdraw("resp_1", "ann", kNow));
  EXPECT_EQ(a_->text("resp_1"), "one");
  redis_.start();
  wait_for([&] { return b_->text("resp_1") == "one"; });
}

TEST_F(SharedResponsesTest, no_call_waits_for_a_server_that_is_known_to_be_down) {
  redis_.server().end();
  wait_for([&] { return !a_->works(); });
  bool done = false;
  a_->store.publish("resp_1", a_->store.put("resp_1", response_of("one"), kNow), kNow,
                    [&done] { done = true; });
  EXPECT_TRUE(done) << "when publish() returns";
}

TEST_F(SharedResponsesTest, responses_stored_with_a_stopped_server_arrive_later) {
  Site c(redis_, milliseconds(100));
  redis_.server().signal(SIGSTOP);
  c.add("resp_1", response_of("one"));
  EXPECT_EQ(c.text("resp_1"), "one");
  Site d(redis_, milliseconds(100));
  EXPECT_EQ(d.text("resp_1"), "error");
  redis_.server().signal(SIGCONT);
  wait_for([&] { return b_->text("resp_1") == "one"; });
}

TEST_F(SharedResponsesTest, responses_stored_with_a_full_server_arrive_later) {
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

TEST_F(SharedResponsesTest, the_trouble_is_over_when_a_deletion_is_taken_again) {
  a_->add("resp_1", response_of("one"));
  set("maxmemory", "1");
  EXPECT_FALSE(a_->store.withdraw("resp_1", "ann", kNow));
  EXPECT_FALSE(a_->works());
  set("maxmemory", "0");
  EXPECT_TRUE(a_->store.withdraw("resp_1", "ann", kNow).value());
  wait_for([&] { return a_->works(); });
}

TEST_F(SharedResponsesTest, a_response_that_is_too_large_stays_in_its_router) {
  a_->add("resp_1", response_of(std::string(kRecordBytesMax, 'x')));
  a_->add("resp_2", response_of("two"));
  EXPECT_EQ(a_->below->stats().refused, 1U);
  EXPECT_TRUE(a_->works());
  EXPECT_EQ(a_->text("resp_1").size(), kRecordBytesMax);
  EXPECT_EQ(b_->text("resp_1"), "none");
  EXPECT_EQ(b_->text("resp_2"), "two");
}

TEST_F(SharedResponsesTest, a_response_that_could_never_wait_does_not_stop_restoration) {
  a_->add("resp_1", response_of(std::string(40'000'000, 'x')));
  a_->add("resp_2", response_of("two"));
  restart_without_data();
  wait_for([&] { return b_->text("resp_2") == "two"; });
  EXPECT_EQ(b_->text("resp_1"), "none");
}

TEST_F(SharedResponsesTest, a_large_response_gets_more_time) {
  Site c(redis_, milliseconds(300));
  ASSERT_TRUE(client_->run({"CLIENT", "PAUSE", "1500", "WRITE"}, kWithin));
  c.add("resp_1", response_of(std::string(15'000'000, 'x')));
  wait_for([&] { return b_->text("resp_1").size() == 15'000'000; });
  EXPECT_EQ(c.below->stats().refused, 0U);
}

TEST_F(SharedResponsesTest, a_response_that_the_server_does_not_take_does_not_hold_up_others) {
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

TEST_F(SharedResponsesTest, the_end_waits_for_unwritten_responses) {
  redis_.server().end();
  a_->add("resp_1", response_of("one"));
  EXPECT_EQ(a_->below->drain(std::chrono::steady_clock::now()), 1U);
  redis_.start();
  EXPECT_EQ(a_->below->drain(std::chrono::steady_clock::now() + kWithin), 0U);
  EXPECT_EQ(number({"EXISTS", "signalbox:responses:r:resp_1"}), 1);
}

TEST_F(SharedResponsesTest, the_end_waits_for_restored_responses) {
  for (int i = 0; i < 200; ++i) a_->add(fmt::format("resp_{}", i), response_of("one"));
  redis_.server().end();
  wait_for([&] { return !a_->works(); });
  redis_.start();
  wait_for([&] { return a_->works(); });
  EXPECT_EQ(a_->below->drain(std::chrono::steady_clock::now() + kWithin), 0U);
  EXPECT_EQ(number({"DBSIZE"}), 200);
}

TEST_F(SharedResponsesTest, bytes_of_another_program_are_no_response) {
  ASSERT_TRUE(client_->run({"SET", "signalbox:responses:r:resp_1", "odd"}, kWithin));
  ASSERT_TRUE(client_->run({"XADD", "signalbox:responses:deleted", "*", "odd", "entry"}, kWithin));
  EXPECT_EQ(a_->text("resp_1"), "none");
  a_->add("resp_2", response_of("two"));
  EXPECT_EQ(b_->text("resp_2"), "two");
}

}  // namespace
}  // namespace signalbox::shared_responses
