// Tests what holds for stored responses in PostgreSQL: its tables, their version, and a full disk.

#include <gtest/gtest.h>

#include <thread>

#include "router/shared_responses/record.h"
#include "router/stores/postgres_feed.h"
#include "tests/router/shared_responses/response_sites.h"

namespace signalbox::shared_responses {
namespace {

using test::wait_for;

class PostgresResponsesTest : public ResponseSites<test::PostgresPlace> {
 protected:
  std::string count(const std::string& condition) {
    return place_.text("SELECT count(*)::text FROM signalbox_responses_responses WHERE " +
                       condition);
  }
};

TEST_F(PostgresResponsesTest, written_responses_outlive_the_server_and_their_router) {
  for (int i = 0; i < 20; ++i) {
    a_->add(fmt::format("resp_{}", i), response_of("one"));
    if (i % 10 != 9) continue;
    wait_for([&] { return a_->below->stats().waiting == 0; });
    place_.end();
    place_.start_again();
    wait_for([&] { return a_->works(); });
  }
  a_.reset();
  for (int i = 0; i < 20; ++i)
    wait_for([&] { return b_->text(fmt::format("resp_{}", i)) == "one"; });
}

TEST_F(PostgresResponsesTest, a_late_write_does_not_bring_a_deleted_response_back) {
  const auto server = connect(place_, kWithin);
  const int64_t until_ms = (kNow + 3600) * 1000;
  const stores::NamedDeletion deletion{"resp_1", until_ms};
  ASSERT_TRUE(server->remove({&deletion, 1}));
  ASSERT_TRUE(server->write("resp_1", write_record(response_of("one")), milliseconds(60'000)));
  EXPECT_EQ(server->read("resp_1", false, SIZE_MAX).value(), std::nullopt);
  EXPECT_GT(server->left("resp_1").value(), milliseconds(3'500'000));
  EXPECT_EQ(b_->text("resp_1"), "none");
}

TEST_F(PostgresResponsesTest, a_server_with_an_older_state_learns_of_deletions_again) {
  a_->add("resp_1", response_of("one"));
  place_.ask("CREATE TABLE saved AS SELECT * FROM signalbox_responses_responses");
  EXPECT_TRUE(b_->store.withdraw("resp_1", "ann", kNow).value());
  // At once, because a router that has just connected repeats a deletion that the table lacks.
  place_.ask(
      "WITH gone AS (DELETE FROM signalbox_responses_deletions) UPDATE "
      "signalbox_responses_responses "
      "t SET record = saved.record FROM saved WHERE t.id = saved.id");
  place_.end();
  place_.start_again();
  wait_for([&] { return count("record IS NULL") == "1"; });
  EXPECT_EQ(Site(place_).text("resp_1"), "none");
}

TEST_F(PostgresResponsesTest, routers_learn_of_deletions_in_their_own_memory) {
  for (int i = 0; i < 600; ++i) {
    const std::string id = fmt::format("resp_{}", i);
    a_->publish(id, a_->store.put(id, response_of("one"), kNow));
  }
  const auto server = connect(place_, kWithin);
  std::vector<stores::NamedDeletion> deletions;
  for (int i = 0; i < 600; ++i)
    deletions.emplace_back(fmt::format("resp_{}", i), (kNow + 3600) * 1000);
  ASSERT_TRUE(server->remove(deletions));
  wait_for([&] { return a_->store.size() == 0; });
}

TEST_F(PostgresResponsesTest, a_deletion_is_learnt_although_expired_records_cannot_be_removed) {
  a_->add("resp_1", response_of("one"));
  ASSERT_TRUE(connect(place_, kWithin)
                  ->remove(std::vector<stores::NamedDeletion>{{"resp_1", (kNow + 3600) * 1000}}));
  const auto client = *stores::make_postgres(place_.address(), {"absent", {}});
  const auto feed = stores::make_postgres_feed(
      *client, {.name = "signalbox_responses",
                .records = "signalbox_responses_responses",
                .clean = []() -> Result<void> { return fail(Code::kDeadline, "no answer"); },
                .area = "responses"});
  std::string cursor;
  ASSERT_TRUE(feed->follow(cursor, milliseconds(1), kWithin));  // a new life
  const auto entries = feed->follow(cursor, milliseconds(1), kWithin);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->at(0).at(1), "resp_1");
}

TEST_F(PostgresResponsesTest, tables_that_are_made_again_or_restored_are_noticed) {
  // The router may find the server away while its tables are made again.
  const auto withdraw = [&](Site& site, const std::string& id) {
    wait_for([&] { return site.store.withdraw(id, "ann", kNow).has_value(); });
  };
  for (const char* id : {"resp_1", "resp_2", "resp_3", "resp_4"}) a_->add(id, response_of("one"));
  withdraw(*b_, "resp_1");
  withdraw(*b_, "resp_2");
  wait_for([&] { return a_->store.size() == 2; });
  place_.ask("DROP TABLE signalbox_responses_state, signalbox_responses_deletions");
  withdraw(*b_, "resp_3");
  wait_for([&] { return a_->store.size() == 1; });
  wait_for([&] { return a_->works() && b_->works(); });
  place_.ask("DELETE FROM signalbox_responses_deletions");
  place_.ask("UPDATE signalbox_responses_state SET deletions = 0");
  std::this_thread::sleep_for(milliseconds(1000));  // until the routers have read it
  withdraw(*b_, "resp_4");
  wait_for([&] { return a_->store.size() == 0; });
}

TEST_F(PostgresResponsesTest, expired_records_are_removed) {
  const auto server = connect(place_, kWithin);
  ASSERT_TRUE(server->write("resp_1", write_record(response_of("one")), milliseconds(1)));
  ASSERT_TRUE(server->write("resp_2", write_record(response_of("two")), milliseconds(60'000)));
  wait_for([&] { return server->read("resp_1", false, SIZE_MAX).value() == ""; });
  wait_for([&] { return count("true") == "1"; });
}

TEST_F(PostgresResponsesTest, tables_of_another_version_are_neither_read_nor_written) {
  a_->add("resp_1", response_of("one"));
  place_.ask("UPDATE signalbox_responses_state SET version = 7");
  const auto server = connect(place_, kWithin);
  const auto read = server->read("resp_1", false, SIZE_MAX);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find(
                "table signalbox_responses_state: expected version 1 of its form, found 7"),
            std::string::npos)
      << read.error().message;
  Site c(place_);
  wait_for([&] { return !c.works(); });
  c.add("resp_2", response_of("two"));
  EXPECT_EQ(c.text("resp_2"), "two");
  EXPECT_EQ(count("id = 'resp_2'"), "0");
}

TEST_F(PostgresResponsesTest, a_table_that_is_lost_alone_is_made_again) {
  for (const char* table : {"responses", "deletions"}) {
    a_->add("resp_1", response_of("one"));
    place_.ask(fmt::format("DROP TABLE signalbox_responses_{}", table));
    const auto server = connect(place_, kWithin);
    const stores::NamedDeletion deletion{"resp_2", (kNow + 3600) * 1000};
    const auto removed = server->remove({&deletion, 1});
    EXPECT_TRUE(removed) << table << ": " << removed.error().message;
    const auto written =
        server->write("resp_3", write_record(response_of("three")), milliseconds(60'000));
    EXPECT_TRUE(written) << table << ": " << written.error().message;
  }
  wait_for([&] { return a_->works() && b_->works(); });
  wait_for([&] { return a_->text("resp_3") == "three"; });
}

TEST_F(PostgresResponsesTest, a_lost_table_of_another_version_is_not_made) {
  a_->add("resp_1", response_of("one"));
  // Otherwise the other router may be making the tables when their version changes.
  wait_for([&] { return b_->text("resp_1") == "one"; });
  place_.ask("UPDATE signalbox_responses_state SET version = 7");
  place_.ask("DROP TABLE signalbox_responses_responses");
  wait_for([&] { return !a_->works(); });
  EXPECT_EQ(place_.text("SELECT coalesce(to_regclass('signalbox_responses_responses')::text, '')"),
            "");
}

TEST_F(PostgresResponsesTest, bytes_of_another_program_are_not_a_response) {
  a_->add("resp_2", response_of("two"));
  place_.ask(
      "INSERT INTO signalbox_responses_responses VALUES ('resp_1', now() + interval '1 "
      "hour', 'odd')");
  place_.ask(
      "INSERT INTO signalbox_responses_deletions VALUES (1000, repeat('x', 100000), 1), "
      "(1001, 'odd \"{\\', 99999999999999)");
  EXPECT_EQ(a_->text("resp_1"), "none");
  EXPECT_EQ(b_->text("resp_2"), "two");
  EXPECT_EQ(b_->text("'; DROP TABLE signalbox_responses_responses; --"), "none");
  EXPECT_EQ(b_->text(std::string("\0\xff", 2)), "none");
  place_.end();
  place_.start_again();
  wait_for([&] { return b_->text("resp_2") == "two" && b_->works(); });
}

TEST_F(PostgresResponsesTest, all_stores_of_a_router_share_its_idle_connections) {
  a_->add("resp_1", response_of("one"));
  std::vector<std::unique_ptr<Site>> more;
  for (int i = 0; i < 10; ++i) more.push_back(std::make_unique<Site>(place_));
  for (const auto& each : more) wait_for([&] { return each->text("resp_1") == "one"; });
  more.clear();
  EXPECT_LE(std::stoi(place_.text("SELECT count(*)::text FROM pg_stat_activity WHERE "
                                  "application_name = 'signalbox' AND state = 'idle'")),
            8);
}

/// The tables are on a disk of a few megabytes.
class FullPostgresTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = test::PostgresProcess::missing(); !missing.empty())
      GTEST_SKIP() << missing;
    if (const std::string missing = postgres_.add_small_disk(); !missing.empty())
      GTEST_SKIP() << missing;
    postgres_.start();
  }
  std::unique_ptr<Sharing> share(dialects::ResponseStore& store) {
    return share_responses(*make_postgres_responses({.server = postgres_.address()}), store);
  }
  test::PostgresProcess postgres_;
};

TEST_F(FullPostgresTest, responses_wait_until_there_is_room) {
  dialects::ResponseStore here({}), there({});
  const auto below = share(here), other = share(there);
  const auto put = [&](const std::string& id, size_t bytes) {
    std::string text;
    for (size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i * 2'654'435'761);
    below->put(id, here.put(id, response_of(text), kNow), 3600, {});
  };
  put("resp_1", 10);
  wait_for([&] { return below->stats().written == 1; });
  ASSERT_TRUE(postgres_.disk().fill());
  put("resp_2", 1'000'000);
  wait_for([&] { return !below->stats().works; });
  EXPECT_NE(here.get("resp_2", "ann", kNow), nullptr);
  EXPECT_TRUE(other->get("resp_1", false, SIZE_MAX)->response);
  postgres_.disk().make_room();
  wait_for([&] { return below->stats().written == 2 && below->stats().works; });
  EXPECT_TRUE(other->get("resp_2", false, SIZE_MAX)->response);
}

}  // namespace
}  // namespace signalbox::shared_responses
