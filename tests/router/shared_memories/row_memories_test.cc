// Tests memories that stores share through doubles of Milvus and Qdrant, which also fail and lie.
// No real Milvus and no real Qdrant was tested.

#include "router/shared_memories/row_memories.h"

#include <gtest/gtest.h>

#include "router/stores/qdrant.h"
#include "tests/router/shared_memories/row_sites.h"

namespace signalbox::shared_memories {
namespace {

using memories::TimePoint;
using std::chrono::milliseconds;

TEST_P(RowMemoriesTest, memories_are_found_by_other_routers_and_by_no_other_user) {
  const auto one = store(), other = store();
  EXPECT_EQ(count(*one, "ann"), 0U) << "there is no collection yet";
  EXPECT_EQ(one->forget_all("ann").value(), 0U);
  const std::string id = add(*one, "ann", "a text", one->moment());
  written(*one);
  EXPECT_EQ(found(*other, "ann"), 1U);
  const auto hits =
      other->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()).value();
  EXPECT_EQ(hits[0].memory.text, "a text");
  EXPECT_EQ(hits[0].memory.answer, "An answer.");
  EXPECT_EQ(hits[0].memory.id, id);
  for (const char* user : {"bob", "Ann", "ann\" or owner != \"", "\\", "", "ann' or '1'=='1"}) {
    EXPECT_EQ(found(*other, user), 0U) << user;
    EXPECT_EQ(count(*other, user), 0U) << user;
    EXPECT_FALSE(other->forget(user, id).value()) << user;
    EXPECT_EQ(other->forget_all(user).value(), 0U) << user;
  }
  EXPECT_FALSE(other->forget("ann", "mem_\" or kind > 0 or id == \"").value());
  EXPECT_TRUE(other->forget("ann", id).value());
  EXPECT_FALSE(other->forget("ann", id).value());
  for (SharedMemories* each : {one.get(), other.get()}) EXPECT_EQ(found(*each, "ann"), 0U);
}

TEST_P(RowMemoriesTest, memories_outlive_their_router) {
  const std::string strange = "ann\" or \"1\" == \"1\n\xC3\xA4";
  {
    const auto before = store();
    add(*before, strange, "It has \"quotes\",\na line and \xF0\x9F\x8C\xB3.", before->moment());
    written(*before);
  }
  const auto after = store();
  const auto page = after->list(strange, 10, TimePoint::clock::now()).value();
  ASSERT_EQ(page.memories.size(), 1U);
  EXPECT_EQ(page.memories[0].text, "It has \"quotes\",\na line and \xF0\x9F\x8C\xB3.");
  EXPECT_EQ(found(*after, strange), 1U);
  EXPECT_TRUE(
      after->find(strange, page.memories[0].id, TimePoint::clock::now()).value().has_value());
}

TEST_P(RowMemoriesTest, other_routers_find_memories_by_words_until_they_are_deleted) {
  const auto one = store(), other = store();
  one->set_limits({.keeps_words = true});
  const std::string id = add(*one, "ann", "The seal is X-4711.", one->moment());
  add(*one, "bob", "The seal is X-4711, too.", one->moment());
  written(*one);
  const memories::WordQuery words{"Which seal is 4711?"};
  const memories::Vector far{"m", {-1, 0}};
  for (SharedMemories* each : {one.get(), other.get()}) {
    const auto now = TimePoint::clock::now();
    EXPECT_TRUE(each->search("ann", far, 10, 0.5, nullptr, now)->empty());
    const auto hits = each->search("ann", far, 10, 0.5, &words, now);
    ASSERT_EQ(hits->size(), 1U);
    EXPECT_EQ(hits->front().memory.id, id);
  }
  EXPECT_TRUE(other->forget("ann", id).value());
  for (SharedMemories* each : {one.get(), other.get()})
    EXPECT_TRUE(each->search("ann", far, 10, 0.5, &words, TimePoint::clock::now())->empty());
}

TEST_P(RowMemoriesTest, memories_deleted_while_they_are_added_do_not_come_back) {
  const auto one = store(), other = store();
  make_collection(*one);
  for (int i = 0; i < 20; ++i) {
    const std::string user = "user " + std::to_string(i);
    const uint64_t moment = one->moment();
    std::thread deletes([&] { EXPECT_TRUE(other->forget_all(user).has_value()); });
    for (int j = 0; j < 4; ++j) add(*one, user, "text " + std::to_string(j), moment);
    deletes.join();
    written(*one);
    EXPECT_EQ(count(*one, user), 0U);
    EXPECT_EQ(found(*other, user), 0U);
    // A turn that begins when the deletion is known is kept.
    until([&] { return one->moment() > moment; });
    add(*one, user, "text", one->moment());
    written(*one);
    EXPECT_EQ(found(*other, user), 1U);
  }
}

TEST_P(RowMemoriesTest, equal_memories_replace_each_other_and_the_weakest_is_removed_first) {
  const auto one = store(), other = store();
  for (SharedMemories* each : {one.get(), other.get()}) each->set_limits({.of_user = 3});
  for (int i = 0; i < 3; ++i) {
    add(*one, "ann", "the same", one->moment());
    add(*other, "ann", "the same", other->moment());
  }
  written(*one);
  written(*other);
  EXPECT_EQ(count(*one, "ann"), 1U);
  const auto page = one->list("ann", 1, TimePoint::clock::now());
  const std::vector<std::string> ids{page->memories.at(0).id};
  one->use("ann", ids, TimePoint::clock::now() + std::chrono::hours(1));
  written(*one);
  EXPECT_EQ(other->find("ann", ids[0], TimePoint::clock::now()).value()->uses, 1U);
  for (int i = 0; i < 8; ++i) {
    add(i % 2 == 0 ? *one : *other, "ann", "text " + std::to_string(i), one->moment());
    written(*one);
    written(*other);
  }
  EXPECT_EQ(count(*one, "ann"), 3U);
  EXPECT_EQ(site_->size(), 3U);
  EXPECT_TRUE(other->find("ann", ids[0], TimePoint::clock::now()).value()) << "it was used";
}

TEST_P(RowMemoriesTest, a_use_after_the_deletion_brings_no_memory_back) {
  const auto one = store(), other = store();
  for (const bool deletes_all : {false, true}) {
    const std::string id = add(*one, "ann", "a text", one->moment());
    written(*one);
    EXPECT_EQ(found(*other, "ann"), 1U);
    EXPECT_TRUE(deletes_all ? one->forget_all("ann").has_value() : *one->forget("ann", id));
    other->use("ann", std::vector<std::string>{id}, TimePoint::clock::now());
    written(*other);
    EXPECT_EQ(found(*other, "ann"), 0U);
    until([&] { return one->moment() == other->moment(); });
  }
}

TEST_P(RowMemoriesTest, expired_memories_are_not_found_and_leave_the_server) {
  const auto one = store();
  const std::string id = add(*one, "ann", "a text", one->moment());
  written(*one);
  const auto later = TimePoint::clock::now() + std::chrono::hours(24 * 70);
  EXPECT_EQ(one->list("ann", 10, later)->total, 0U);
  EXPECT_FALSE(one->find("ann", id, later).value());
  EXPECT_TRUE(one->search("ann", kVector, 10, 0.5, nullptr, later)->empty());
  EXPECT_EQ(count(*one, "ann"), 1U);
  EXPECT_EQ(one->forget_all("ann").value(), 1U);
  EXPECT_EQ(site_->size(), 1U) << "of the deletion";
  const auto brief = store({.poll_every = milliseconds(10), .purge_every = milliseconds(10)});
  brief->set_limits({.strength_days = 1e-5});  // two seconds
  add(*brief, "bob", "a text", brief->moment());
  written(*brief);
  EXPECT_EQ(site_->size(), 2U);
  until([&] { return site_->size() == 1; });
}

TEST_P(RowMemoriesTest, a_memory_needs_a_vector_that_fits) {
  const auto one = store();
  for (const std::vector<float>& values : {std::vector<float>{}, {0, 0}}) {
    const memories::Vector vector{"m", values};
    EXPECT_FALSE(one->search("ann", vector, 10, 0.5, nullptr, TimePoint::clock::now()));
    EXPECT_FALSE(one->add("ann", {.text = "t", .answer = ""}, vector, 0, TimePoint::clock::now()));
  }
  EXPECT_FALSE(
      one->add("ann", {.text = "\xFF", .answer = ""}, kVector, 0, TimePoint::clock::now()));
  EXPECT_FALSE(one->add("ann", {.text = std::string(70'000, 'x'), .answer = ""}, kVector, 0,
                        TimePoint::clock::now()));
  EXPECT_EQ(found(*one, "ann"), 0U);
  const memories::Vector longer{"m", {1, 2, 3}};
  EXPECT_EQ(one->search("ann", longer, 10, 0.5, nullptr, TimePoint::clock::now()).error().code,
            Code::kUpstream);
}

TEST_P(RowMemoriesTest, a_collection_of_another_shape_is_refused) {
  site_->make_other();
  const auto described = site_->rows(kPatient, false)->dimension();
  EXPECT_EQ(described.error().code, Code::kInvalid);
  EXPECT_NE(described.error().message.find("cannot hold memories: it"), std::string::npos)
      << described.error().message;
  const auto one = make_row_memories(site_->rows(kPatient, false), {});
  until([&] { return !one->shared()->works; });
  EXPECT_EQ(one->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()).error().code,
            Code::kUpstream);
  EXPECT_EQ(one->forget_all("ann").error().code, Code::kUpstream);
}

TEST_P(RowMemoriesTest, a_collection_of_another_dimension_is_refused) {
  make_collection(*store());
  const auto one = make_row_memories(site_->rows(kPatient, false), {.dimension = 3});
  until([&] { return !one->shared()->works; });
  EXPECT_FALSE(one->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()));
}

TEST_P(RowMemoriesTest, without_a_login_nothing_is_read_or_deleted) {
  site_->need_login();
  const auto one = make_row_memories(site_->rows(kPatient, true), {});
  const auto stranger = make_row_memories(site_->rows(kPatient, false), {});
  until([&] { return !stranger->shared()->works && one->shared()->works; });
  EXPECT_EQ(found(*one, "ann"), 0U);
  EXPECT_FALSE(stranger->list("ann", 10, TimePoint::clock::now()));
  EXPECT_FALSE(stranger->forget_all("ann"));
}

TEST_P(RowMemoriesTest, in_any_trouble_nothing_is_served_or_confirmed_and_turns_wait) {
  const auto one = store({.poll_every = milliseconds(20), .grace = milliseconds(50)}, kBrisk);
  const std::string id = add(*one, "ann", "a text", one->moment());
  written(*one);
  EXPECT_EQ(found(*one, "ann"), 1U);
  size_t kept = 1;
  for (const Trouble trouble : {Trouble::kHangsUp, Trouble::kTalksRubbish, Trouble::kRefuses}) {
    site_->be(trouble);
    EXPECT_EQ(one->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()).error().code,
              Code::kUpstream);
    EXPECT_EQ(one->list("ann", 10, TimePoint::clock::now()).error().code, Code::kUpstream);
    EXPECT_EQ(one->forget("ann", id).error().code, Code::kUpstream);
    EXPECT_EQ(one->forget_all("ann").error().code, Code::kUpstream);
    until([&] { return !one->shared()->works; });
    add(*one, "ann", "another text " + std::to_string(kept), one->moment());
    EXPECT_GE(one->shared()->waiting, 1U);
    site_->be(Trouble::kNone);
    until([&] { return one->shared()->works && one->shared()->waiting == 0; });
    EXPECT_EQ(count(*one, "ann"), ++kept);
  }
}

TEST_P(RowMemoriesTest, a_slow_server_is_waited_for_no_longer_than_the_limit) {
  const auto one = store({.poll_every = milliseconds(20)},
                         {.read = milliseconds(150), .write = milliseconds(150)});
  site_->be(Trouble::kIsSlow);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(one->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()));
  EXPECT_LT(std::chrono::steady_clock::now() - before, milliseconds(1400));
}

TEST_P(RowMemoriesTest, a_deletion_that_the_server_only_confirms_is_not_confirmed) {
  const auto one = store();
  const std::string id = add(*one, "ann", "a text", one->moment());
  written(*one);
  site_->be(Trouble::kForgets);
  EXPECT_EQ(one->forget("ann", id).error().code, Code::kUpstream);
  EXPECT_EQ(one->forget_all("ann").error().code, Code::kUpstream);
  site_->be(Trouble::kNone);
  EXPECT_TRUE(one->forget("ann", id).value());
}

TEST_P(RowMemoriesTest, a_server_that_applies_no_filter_mixes_up_no_users) {
  const auto one = store(), other = store();
  add(*one, "ann", "a text of ann", one->moment());
  add(*one, "bob", "a text of bob", one->moment());
  written(*one);
  site_->be(Trouble::kMixesUp);
  for (SharedMemories* each : {one.get(), other.get()}) {
    const auto hits = each->search("bob", kVector, 10, 0.5, nullptr, TimePoint::clock::now());
    ASSERT_TRUE(hits.has_value());
    for (const memories::Found& hit : *hits) EXPECT_EQ(hit.memory.text, "a text of bob");
    EXPECT_EQ(count(*each, "ann"), 1U);
    EXPECT_EQ(found(*each, "carl"), 0U);
  }
  EXPECT_EQ(one->forget_all("bob").value(), 1U);
  site_->be(Trouble::kNone);
  EXPECT_EQ(found(*other, "ann"), 1U);
}

TEST_P(RowMemoriesTest, rows_that_no_router_writes_are_not_used) {
  const auto one = store();
  add(*one, "ann", "a text", one->moment());
  written(*one);
  site_->save();
  for (const auto& [member, value] :
       std::map<std::string, std::string>{{"text", "5"}, {"moment", "-1"}, {"answer", "null"}}) {
    site_->damage(member, value);
    EXPECT_EQ(found(*store(), "ann"), 0U) << member;
    site_->restore();
  }
  EXPECT_EQ(found(*store(), "ann"), 1U);
  // Without the moment of a deletion, its memories could not be left out.
  EXPECT_TRUE(one->forget_all("ann").has_value());
  site_->damage("moment", "\"x\"");
  EXPECT_FALSE(one->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()));
}

TEST_P(RowMemoriesTest, a_server_that_returns_with_older_data_serves_nothing_deleted) {
  const auto one = store(), other = store();
  const std::string id = add(*one, "ann", "a text", one->moment());
  add(*one, "bob", "a text", one->moment());
  written(*one);
  EXPECT_EQ(found(*other, "ann"), 1U);
  site_->save();
  EXPECT_TRUE(other->forget("ann", id).value());
  EXPECT_EQ(other->forget_all("bob").value(), 1U);
  until([&] { return one->moment() == other->moment(); });
  site_->be(Trouble::kHangsUp);
  until([&] { return !one->shared()->works && !other->shared()->works; });
  site_->restore();
  EXPECT_EQ(site_->size(), 2U);
  site_->be(Trouble::kNone);
  until([&] { return one->shared()->works && other->shared()->works; });
  for (const char* user : {"ann", "bob"}) {
    EXPECT_EQ(found(*one, user), 0U);
    EXPECT_EQ(found(*other, user), 0U);
    EXPECT_EQ(count(*store(), user), 0U) << "a router that knows no deletion";
  }
}

TEST_P(RowMemoriesTest, memories_that_a_server_has_lost_are_written_again) {
  const auto one = store();
  add(*one, "ann", "a text", one->moment());
  const std::string id = add(*one, "ann", "a deleted text", one->moment());
  written(*one);
  EXPECT_TRUE(one->forget("ann", id).value());
  site_->be(Trouble::kHangsUp);
  until([&] { return !one->shared()->works; });
  site_->drop();
  site_->be(Trouble::kNone);
  until([&] { return one->shared()->works && one->shared()->waiting == 0 && site_->size() >= 2; });
  EXPECT_EQ(count(*one, "ann"), 1U);
  EXPECT_EQ(count(*store(), "ann"), 1U);
}

INSTANTIATE_TEST_SUITE_P(, RowMemoriesTest, testing::Values("milvus", "qdrant"),
                         [](const auto& each) { return std::string(each.param); });

TEST(RowReplies, a_milvus_refuses_rows_without_its_words_and_a_weaker_level_is_refused) {
  test::MilvusDouble milvus;
  MilvusRowOptions options{.collection = "memories", .limits = kPatient};
  options.server.host = "127.0.0.1";
  options.server.port = milvus.port();
  const auto rows = *make_milvus_rows(options);
  EXPECT_EQ(*rows->dimension(), std::nullopt);
  ASSERT_TRUE(rows->create(4));
  EXPECT_EQ(*rows->dimension(), 4U);
  const Row row = deletion_row({.owner = owner_of("ann"), .moment = 5}, 4, 1, 2);
  EXPECT_TRUE(rows->upsert({&row, 1}));
  milvus.mood = test::MilvusDouble::Mood::kRefuses;
  EXPECT_NE(rows->upsert({&row, 1}).error().message.find("it reports \"...\" (9)"),
            std::string::npos)
      << "its words may repeat a memory";
  milvus.mood = test::MilvusDouble::Mood::kWell;
  milvus.set_level("Bounded");
  EXPECT_NE(rows->dimension().error().message.find("has the consistency level \"Bounded\""),
            std::string::npos);
}

TEST(RowReplies, a_page_without_points_that_names_a_next_one_is_refused) {
  const auto read = [](std::string_view text) {
    const auto reply = json::Document::parse(std::string(text));
    return read_qdrant_page(reply->root(), {.most = 8});
  };
  EXPECT_TRUE(read(R"({"result":{"points":[],"next_page_offset":null}})"));
  EXPECT_FALSE(read(R"({"result":{"points":[],"next_page_offset":"5"}})"));
}

TEST(RowReplies, a_request_at_fault_is_not_a_refusal_of_all) {
  for (const int code : {1100, 1101, 1102, 1804})
    EXPECT_EQ(stores::read_milvus_reply(200, fmt::format(R"({{"code":{}}})", code)).error().code,
              Code::kUnsupported);
  EXPECT_EQ(stores::read_milvus_reply(200, R"({"code":9})").error().code, Code::kUpstream);
  for (const int status : {400, 413, 422})
    EXPECT_EQ(stores::read_qdrant_reply(status, "{}").error().code, Code::kUnsupported);
  EXPECT_EQ(stores::read_qdrant_reply(507, "{}").error().code, Code::kUpstream);
}

TEST(RowReplies, a_user_with_too_many_rows_gets_none_and_can_delete_them) {
  test::MilvusDouble milvus;
  MilvusRowOptions options{.collection = "memories", .limits = kPatient};
  options.server.host = "127.0.0.1";
  options.server.port = milvus.port();
  const auto one = make_row_memories(*make_milvus_rows(options), {.poll_every = milliseconds(20)});
  until([&] { return one->shared()->works; });
  EXPECT_EQ(found(*one, "ann"), 0U);
  add(*one, "ann", "a text", one->moment());
  written(*one);
  auto rows = milvus.save();
  const test::MilvusDouble::Row first = rows.begin()->second;
  for (size_t i = 0; i < kRowsMax + 10; ++i) {
    const std::string id = fmt::format("mem_{:032x}", i);
    rows[id] = first;
    rows[id]["id"] = json::quote(id);
  }
  milvus.restore(std::move(rows));
  EXPECT_FALSE(one->search("ann", kVector, 10, 0.5, nullptr, TimePoint::clock::now()));
  add(*one, "ann", "another text", one->moment());
  add(*one, "bob", "a text", one->moment());
  until([&] { return one->shared()->waiting == 0; });
  EXPECT_EQ(one->shared()->refused, 1U);
  EXPECT_EQ(count(*one, "bob"), 1U) << "the turns of others are written";
  EXPECT_GE(one->forget_all("ann").value(), 1U);
  EXPECT_EQ(count(*one, "ann"), 0U);
  EXPECT_EQ(milvus.rows(), 2U) << "the deletion, and the memory of bob";
}

TEST(RowReplies, a_qdrant_that_only_acknowledges_a_write_has_not_confirmed_it) {
  test::QdrantDouble qdrant;
  config::Qdrant server;
  server.host = "127.0.0.1";
  server.port = qdrant.port();
  const auto rows = make_qdrant_rows(server, "signalbox_memories", kPatient);
  ASSERT_TRUE(rows->create(2));
  const Row row = deletion_row({.owner = owner_of("ann"), .moment = 5}, 2, 1, 2);
  EXPECT_TRUE(rows->upsert({&row, 1}));
  qdrant.mood = test::QdrantDouble::Mood::kAcknowledges;
  EXPECT_FALSE(rows->upsert({&row, 1}));
  qdrant.mood = test::QdrantDouble::Mood::kRefuses;
  EXPECT_NE(rows->upsert({&row, 1}).error().message.find("status 507 (\"...\")"),
            std::string::npos);
}

}  // namespace
}  // namespace signalbox::shared_memories
