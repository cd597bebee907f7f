// Tests what holds for records in PostgreSQL: their bounds, their deletion, and older data.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "router/shared_replay/statements.h"
#include "tests/router/shared_replay/replay_sites.h"

namespace signalbox::shared_replay {
namespace {

class PostgresReplayTest : public ReplaySites<test::PostgresPlace> {
 protected:
  std::string count(const std::string& table) {
    return place_.text("SELECT count(*)::text FROM signalbox_replay_" + table);
  }
  int64_t bytes() { return bytes_of(place_); }
};

TEST_F(PostgresReplayTest, new_records_replace_the_oldest_ones_completely) {
  for (const auto* site : {a_.get(), b_.get()}) site->replay->set_limits({.records = 2});
  Account first = account_of(1, "eve", "k9");
  first.request_body = "text";
  a_->add(std::move(first));
  EXPECT_EQ(count("parts"), "1");
  for (int number = 2; number <= 5; ++number) (number % 2 == 0 ? a_ : b_)->add(account_of(number));
  wait_for([&] { return a_->list() == "5 4 of 2"; });
  EXPECT_EQ(a_->list({.user = "eve"}), "of 0");
  EXPECT_EQ(a_->detail(1), "none");
  EXPECT_EQ(count("parts"), "0");
}

TEST_F(PostgresReplayTest, the_oldest_records_make_room_below_a_bound_in_bytes) {
  for (const auto* site : {a_.get(), b_.get()})
    site->replay->set_limits({.records = 100, .bytes = 40'000});
  for (int number = 1; number <= 5; ++number) {
    Account account = account_of(number);
    account.response_body = std::string(10'000, 'x');
    (number % 2 == 0 ? a_ : b_)->add(std::move(account));
  }
  wait_for([&] { return a_->list() == "5 4 3 of 3"; });
  observe::Shadow shadow;
  shadow.replay_id = id_of(5);
  shadow.response = std::string(8'000, 'y');
  a_->replay->add_shadow(shadow);
  wait_for([&] { return a_->list() == "5 4 of 2"; });
  EXPECT_EQ(a_->replay->remove("", "").value(), 2u);
  EXPECT_EQ(bytes(), 0);
}

TEST_F(PostgresReplayTest, texts_and_records_that_have_expired_are_removed) {
  for (const auto* site : {a_.get(), b_.get()})
    site->replay->set_limits({.records = 100, .age = seconds(3600)});
  Account brief = account_of(1);
  brief.response_body = std::string(10'000, 'x');
  brief.body_age_max = seconds(1);
  a_->add(std::move(brief));
  EXPECT_GT(bytes(), 10'000);
  wait_for([&] { return a_->detail(1).find("\"bodies_expired\":true") != std::string::npos; });
  wait_for([&] { return count("parts") == "0"; });
  EXPECT_LT(bytes(), 10'000);
  a_->replay->set_limits({.records = 100, .age = seconds(1)});
  a_->add(account_of(2));
  wait_for([&] { return count("records") == "1"; });
  EXPECT_EQ(b_->list(), "1 of 1");
}

TEST_F(PostgresReplayTest, a_record_that_was_on_its_way_at_its_deletion_is_not_stored) {
  const auto server = connect(place_);
  NewRecord record{.id = id_of(1), .json = R"({"id":"1"})", .names = {"u1", "k1"}};
  record.scopes = {"*", "u1", "k1", "u1+k1"};
  const auto stored = [&](milliseconds age) {
    EXPECT_TRUE(server->add(record, age));
    const bool out = server->find(record.id).value().has_value();
    EXPECT_TRUE(server->remove({}, false));
    place_.ask("DELETE FROM signalbox_replay_forgotten");
    return out;
  };
  ASSERT_TRUE(stored(seconds(10)));
  for (const Deletion& each : {Deletion{}, Deletion{.user = "u1"}, Deletion{.key = "k1"},
                               Deletion{.user = "u1", .key = "k1"}}) {
    ASSERT_TRUE(server->remove(each, false));
    EXPECT_FALSE(stored(seconds(10))) << each.scope();
    ASSERT_TRUE(server->remove(each, false));
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_TRUE(stored(milliseconds(0))) << each.scope();
  }
  ASSERT_TRUE(server->remove({.user = "u2"}, false));
  EXPECT_TRUE(stored(seconds(10)));
}

// Every record ended before the deletion began, and must be gone whichever comes first.
TEST_F(PostgresReplayTest, no_record_slips_past_a_deletion_that_runs_beside_it) {
  const auto server = connect(place_);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> writers;
    for (int writer = 0; writer < 4; ++writer) {
      writers.emplace_back([&, writer] {
        for (int i = 0; i < 5; ++i) {
          NewRecord record{.id = id_of(1000 * round + 10 * writer + i), .json = R"({"id":"1"})"};
          record.names = record.scopes = {"u1"};
          EXPECT_TRUE(server->add(record, seconds(5)));
        }
      });
    }
    EXPECT_TRUE(server->remove({.user = "u1"}, true));
    for (std::thread& each : writers) each.join();
    ASSERT_EQ(count("records"), "0");
  }
}

TEST_F(PostgresReplayTest, an_outcome_that_is_sent_again_counts_once_also_after_another) {
  a_->add(account_of(1));
  const auto client = *stores::make_postgres(place_.address(), {"absent", {}});
  const Statements statements("signalbox_replay");
  for (const std::string_view token : {"t1", "t1", "t2", "t1"}) {
    const auto added = client->run(statements.add_outcome,
                                   {id_of(1), R"({"verdict":"failed"})", token}, test::kWithin);
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_EQ(added->at(0).at(0), "true");
  }
  EXPECT_EQ(count("parts"), "2");
}

TEST_F(PostgresReplayTest, a_shadow_that_is_written_again_without_an_answer_counts_once) {
  a_->add(account_of(1));
  const Site hasty(*make_postgres_replay(
      {.server = place_.address(), .read_limit = kWithin, .write_limit = milliseconds(300)}));
  wait_for([&] { return hasty.works(); });
  std::atomic<bool> is_held = false;
  std::thread holder([&] {
    is_held = true;
    place_.ask(
        "DO $$ BEGIN PERFORM FROM signalbox_replay_records FOR UPDATE; PERFORM "
        "pg_sleep(1); END $$");
  });
  wait_for([&] { return is_held.load(); });
  std::this_thread::sleep_for(milliseconds(200));
  observe::Shadow shadow;
  shadow.replay_id = id_of(1);
  hasty.replay->add_shadow(shadow);
  holder.join();
  EXPECT_EQ(hasty.replay->drain(std::chrono::steady_clock::now() + kWithin), 0u);
  wait_for([&] { return count("parts WHERE kind = 'shadow'") != "0"; });
  std::this_thread::sleep_for(milliseconds(200));  // until the others would be there
  EXPECT_EQ(count("parts WHERE kind = 'shadow'"), "1");
}

TEST_F(PostgresReplayTest, outcomes_of_two_routers_at_once_are_all_kept) {
  a_->add(account_of(1));
  std::vector<std::thread> reporters;
  for (const auto* site : {a_.get(), b_.get()}) {
    reporters.emplace_back([site] {
      for (size_t i = 0; i < Replay::kOutcomesMax / 2; ++i)
        EXPECT_TRUE(site->replay->add_outcome(id_of(1), R"({"verdict":"failed"})").value());
    });
  }
  for (std::thread& each : reporters) each.join();
  EXPECT_EQ(count("parts"), std::to_string(Replay::kOutcomesMax));
  EXPECT_FALSE(a_->replay->add_outcome(id_of(1), R"({"verdict":"failed"})").value());
}

TEST_F(PostgresReplayTest, records_outlive_the_server) {
  for (int number = 1; number <= 3; ++number) a_->add(account_of(number));
  place_.end();
  wait_for([&] { return !a_->works(); });
  place_.start_again();
  wait_for([&] { return a_->works() && b_->works(); });
  EXPECT_EQ(b_->list(), "3 2 1 of 3");
}

TEST_F(PostgresReplayTest, a_deleted_record_does_not_stay_when_the_server_returns_with_older_data) {
  a_->add(account_of(1, "ada"));
  a_->add(account_of(2, "bob"));
  place_.ask("CREATE TABLE saved AS SELECT * FROM signalbox_replay_records");
  EXPECT_EQ(a_->replay->remove("ada", "").value(), 1u);
  place_.ask("INSERT INTO signalbox_replay_records SELECT * FROM saved ON CONFLICT DO NOTHING");
  place_.ask("DELETE FROM signalbox_replay_deletions");
  place_.ask("DELETE FROM signalbox_replay_forgotten");
  place_.end();
  wait_for([&] { return !a_->works() && !b_->works(); });
  place_.start_again();
  wait_for([&] { return a_->works() && b_->works(); });
  EXPECT_EQ(a_->list(), "2 of 1");
  EXPECT_EQ(b_->list(), "2 of 1");
  EXPECT_EQ(b_->detail(1), "none");
}

TEST_F(PostgresReplayTest, bytes_of_another_program_are_not_a_record) {
  a_->add(account_of(1));
  const auto put = [&](const std::string& record) {
    place_.ask(fmt::format(
        "INSERT INTO signalbox_replay_records (id, at, ends, texts_end, had_texts, names, record, "
        "bytes, text_bytes) VALUES ('{}', 1, 9007199254740992, 9007199254740992, false, ARRAY['odd "
        "names'], {}, 1, 0) ON CONFLICT (id) DO UPDATE SET record = EXCLUDED.record",
        id_of(2), record));
  };
  put("'{\"id\":'");
  place_.ask("INSERT INTO signalbox_replay_deletions VALUES (1000, '7 everything', 1)");
  EXPECT_EQ(a_->list(), "1 of 2");
  EXPECT_EQ(a_->detail(2), "none");
  EXPECT_EQ(a_->replay->answered(id_of(2)).value().has_value(), false);
  put("convert_to(repeat('x', 600000), 'UTF8')");
  EXPECT_EQ(a_->list(), "1 of 2");
  EXPECT_EQ(a_->detail(2), "none");
  EXPECT_EQ(a_->replay->remove("", "").value(), 2u);
}

}  // namespace
}  // namespace signalbox::shared_replay
