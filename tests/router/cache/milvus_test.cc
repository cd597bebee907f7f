// Tests answers that are shared through a double of Milvus (milvus_double.h). No real Milvus was
// tested.

#include "router/cache/milvus_remote.h"
#include "router/cache/milvus_rows.h"
#include "router/cache/response_cache.h"
#include "router/cache/store_factory.h"
#include "tests/router/cache/milvus_double.h"
#include "tests/router/cache/sharing.h"
#include "tests/router/certificates.h"
#include "tests/router/net/http_site.h"

namespace signalbox::cache {
namespace {

using Mood = test::MilvusDouble::Mood;

MilvusOptions options(const test::MilvusDouble& milvus) {
  MilvusOptions out;
  out.server.host = "127.0.0.1";
  out.server.port = milvus.port();
  out.makes_collection = true;
  out.look_up_limit = kPatient;
  out.write_limit = kPatient;
  return out;
}

std::unique_ptr<Remote> patient(const test::MilvusDouble& milvus) {
  return *make_milvus_remote(options(milvus));
}

std::unique_ptr<Remote> brisk(const test::MilvusDouble& milvus) {
  MilvusOptions of = options(milvus);
  of.look_up_limit = milliseconds(100);
  of.write_limit = milliseconds(500);
  return *make_milvus_remote(of);
}

std::string first_error(MilvusOptions of) {
  const auto made = make_milvus_remote(std::move(of));
  std::string cursor;
  const auto followed = (*made)->follow(cursor, milliseconds(0));
  return followed ? "" : followed.error().message;
}

TEST(Milvus, shares_answers_among_routers) {
  test::MilvusDouble milvus;
  expect_sharing([&] { return patient(milvus); });
  EXPECT_EQ(milvus.fields().at("vector"), "FloatVector");
}

TEST(Milvus, shares_answers_although_rows_appear_late_with_numbers_as_text) {
  test::MilvusDouble milvus;
  milvus.late_ms = 300;
  milvus.numbers_as_text = true;
  milvus.token = "root:se:cret";
  milvus.database = "answers";
  expect_sharing([&] {
    MilvusOptions of = options(milvus);
    of.server.username = "root";
    of.server.password = "se:cret";
    of.database = "answers";
    of.consistency = "Bounded";
    return *make_milvus_remote(of);
  });
}

TEST(Milvus, is_used_over_tls_only_with_a_trusted_certificate) {
  if (const std::string missing = test::Certificates::missing(); !missing.empty())
    GTEST_SKIP() << missing;
  test::MilvusDouble milvus;
  config::Listener listener;
  listener.tls_cert_path = test::Certificates::path("localhost.pem");
  listener.tls_key_path = test::Certificates::path("localhost.key");
  const auto handler = [&milvus](http::Exchange exchange) -> http::Task<> {
    const std::string body = milvus.answer(exchange.request.target, exchange.request.body);
    http::Headers fields;
    fields.add("Content-Type", "application/json");
    co_await exchange.reply.send(200, fields, body);
  };
  const test::HttpSite site(handler, test::HttpSite::small(), listener);
  MilvusOptions of = options(milvus);
  of.server.host = "localhost";
  of.server.port = site.port;
  of.server.tls = true;
  EXPECT_NE(first_error(of).find("certificate"), std::string::npos) << first_error(of);
  of.server.ca_path = test::Certificates::path("ca.pem");
  EXPECT_EQ(first_error(of), "");
  EXPECT_FALSE(milvus.fields().empty());
  of.server.ca_path = "/nowhere.pem";
  EXPECT_EQ(make_milvus_remote(of).error().code, Code::kInvalid);
}

TEST(Milvus, keeps_an_answer_that_takes_many_rows_and_deletes_all_of_them) {
  test::MilvusDouble milvus;
  const auto server = patient(milvus);
  std::string bytes;
  for (size_t i = 0; i < 500'000; ++i) bytes.push_back(static_cast<char>(i * i >> 5));
  ASSERT_TRUE(server->put("a1", bytes, "head", seconds(60)));
  EXPECT_EQ(milvus.rows(), 11U);
  const auto found = server->get("a1");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found, bytes);
  const std::string id = "a1";
  ASSERT_TRUE(server->remove({&id, 1}));
  EXPECT_EQ(milvus.rows(), 1U) << "what tells that it is gone";
  EXPECT_FALSE(*server->get("a1"));
  // An answer with a part that is not visible yet is a miss.
  ASSERT_TRUE(server->put("a2", bytes, "head", seconds(60)));
  milvus.erase("a2.");
  const auto torn = server->get("a2");
  EXPECT_TRUE(torn && !*torn);
  milvus.erase("a2");
  // Refuses answers above the size limit, and ids that a filter could misread.
  ASSERT_TRUE(server->put("b", std::string(4 << 20, 'x'), "head", seconds(60)));
  ASSERT_TRUE(server->put("\" or 1 < 2", "x", "head", seconds(60)));
  EXPECT_EQ(milvus.rows(), 1U);
}

TEST(Milvus, follow_leaves_out_an_entry_whose_head_is_too_long) {
  test::MilvusDouble milvus;
  const auto server = patient(milvus);
  ASSERT_TRUE(server->put("a", "bytes", std::string(60'000, 'h'), seconds(60)));
  ASSERT_TRUE(server->put("b", "bytes", "head", seconds(60)));
  std::string cursor;
  const auto changes = server->follow(cursor, seconds(1));
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 1U);
  EXPECT_EQ(changes->front().id, "b");
  EXPECT_TRUE(*server->get("a"));
}

TEST(Milvus, returns_each_change_once) {
  test::MilvusDouble milvus;
  const auto server = patient(milvus);
  std::string cursor;
  ASSERT_TRUE(server->put("a", "1", "one", seconds(60)));
  EXPECT_EQ(server->follow(cursor, seconds(1))->size(), 1U);
  EXPECT_EQ(server->follow(cursor, milliseconds(0))->size(), 0U);
  ASSERT_TRUE(server->put("a", "2", "two", seconds(60)));
  const auto again = server->follow(cursor, seconds(1));
  ASSERT_EQ(again->size(), 1U);
  EXPECT_EQ(again->front().head, "two");
}

TEST(Milvus, follows_a_log_that_is_longer_than_a_query) {
  test::MilvusDouble milvus;
  RemoteStore first(patient(milvus), {});
  ASSERT_TRUE(first.put(entry("a", {1, 0}), now()));
  ASSERT_TRUE(comes_true([&] { return milvus.rows() == 1; }));
  const auto row_of = [](int64_t i, int64_t time) {
    const std::string id = fmt::format("{:032x}", static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15);
    const Clocks clocks = clocks_now();
    Entry head = entry(id, {0, 1});
    head.reply.clear();
    MilvusRow row{.id = id, .written = time, .logged = time, .expires = INT64_MAX};
    row.head = to_bytes(head, clocks);
    const auto rows = json::Document::parse(*milvus_rows(row, "x"));
    test::MilvusDouble::Row out;
    for (const json::Value given : rows->root().items()) {
      for (const json::Member member : given.members())
        out[std::string(member.key)] = member.value.raw();
    }
    return std::pair(id, out);
  };
  const int64_t hour_ago =
      std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::system_clock::now().time_since_epoch() - std::chrono::hours(1))
          .count();
  constexpr int64_t kMany = 4'500;
  for (int64_t i = 0; i < kMany; ++i) {
    auto [id, row] = row_of(i, hour_ago + i * 200'000);
    milvus.put(id, std::move(row));
  }
  RemoteStore second(patient(milvus), {.entries = 10'000});
  EXPECT_TRUE(comes_true([&] { return second.figures().entries == kMany + 1; }))
      << second.figures().entries;
}

TEST(Milvus, a_broken_server_causes_misses_within_the_limit_and_is_used_again) {
  test::MilvusDouble milvus;
  for (const Mood mood :
       {Mood::kHangsUp, Mood::kIsSlow, Mood::kTalksRubbish, Mood::kFloods, Mood::kRefuses}) {
    milvus.mood = Mood::kWell;
    RemoteStore store(brisk(milvus), {}), other(brisk(milvus), {});
    const auto server = patient(milvus);
    std::string cursor;
    ASSERT_TRUE(server->follow(cursor, milliseconds(0)));
    ASSERT_TRUE(other.put(entry("a", {1, 0}), now()));
    ASSERT_TRUE(comes_true([&] { return is_kept(*server, "a") && has(store, "a"); }));
    milvus.mood = mood;
    const TimePoint began = now();
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(store.find("a", now())) << static_cast<int>(mood);
    EXPECT_LT(now() - began, seconds(20)) << "35 s if each waited for the slow server";
    ASSERT_TRUE(other.put(entry("b", {0, 1}), now()));
    milvus.mood = Mood::kWell;
    EXPECT_TRUE(comes_true([&] {
      return is_kept(*server, "b") && has(store, "a") && has(store, "b");
    })) << static_cast<int>(mood);
    milvus.drop();
  }
}

TEST(Milvus, a_missing_collection_is_created_again) {
  test::MilvusDouble milvus;
  RemoteStore store(patient(milvus), {});
  ASSERT_TRUE(store.put(entry("a", {1, 0}), now()));
  ASSERT_TRUE(comes_true([&] { return milvus.rows() == 1; }));
  milvus.drop();
  EXPECT_TRUE(comes_true([&] { return !milvus.fields().empty(); }));
  ASSERT_TRUE(store.put(entry("b", {1, 0}), now()));
  EXPECT_TRUE(comes_true([&] { return milvus.rows() == 1; }));
}

TEST(Milvus, errors_name_the_fields_that_do_not_fit) {
  test::MilvusDouble milvus;
  const std::string name = fmt::format("milvus 127.0.0.1:{}", milvus.port());
  MilvusOptions of = options(milvus);
  of.makes_collection = false;
  of.collection = "semantic_cache";
  EXPECT_EQ(first_error(of), name +
                                 ": there is no collection \"semantic_cache\", and "
                                 "development.auto_create_collection does not allow creating it");
  milvus.set_fields({{"id", "VarChar"}, {"query", "VarChar"}, {"embedding", "FloatVector"}});
  EXPECT_EQ(first_error(of), name +
                                 ": the collection \"semantic_cache\" was not made by this "
                                 "program; choose another name: it has no field \"written\"");
  milvus.token = "root:secret";
  of.server.username = "root";
  of.server.password = "wrong";
  EXPECT_EQ(first_error(of), name + ": the login failed or lacks the permission (status 401)");
  EXPECT_EQ(make_milvus_remote({.collection = "x y"}).error().code, Code::kInvalid);
}

TEST(Milvus, logs_a_refused_login_once) {
  test::MilvusDouble milvus;
  milvus.token = "root:secret";
  testing::internal::CaptureStderr();
  {
    RemoteStore store(brisk(milvus), {});
    ASSERT_TRUE(comes_true([&] { return milvus.asked > 4; }));
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const size_t at = said.find("the login failed or lacks the permission");
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find("the login failed or lacks the permission", at + 1), std::string::npos)
      << said;
}

TEST(Milvus, a_configuration_needs_a_host_and_identifies_the_server) {
  config::ResponseCacheStore store;
  store.backend_type = "milvus";
  EXPECT_EQ(make_remote_store(store).error().message, "milvus.connection: it needs a host");
  store.milvus.connection.host = "127.0.0.1";
  store.milvus.connection.port = test::closed_port();
  EXPECT_TRUE(make_remote_store(store));
  config::ResponseCacheStore other = store;
  other.milvus.connection.timeout = 1;
  EXPECT_TRUE(is_same_store(store, store));
  EXPECT_FALSE(is_same_store(store, other));
  store.milvus.connection.tls.cert_file = "x";
  EXPECT_TRUE(make_remote_store(store));
  store.milvus.connection.tls.enabled = true;
  EXPECT_EQ(make_remote_store(store).error().code, Code::kUnsupported);
}

TEST(MilvusReply, good_replies_are_read_and_others_are_errors) {
  using stores::read_milvus_reply;
  EXPECT_TRUE(read_milvus_reply(200, R"({"code":0,"data":{}})"));
  EXPECT_TRUE(read_milvus_reply(200, R"({"code":200,"data":[]})")) << "before 2.4";
  EXPECT_EQ(read_milvus_reply(200, R"({"code":100,"message":"can't find"})").error().code,
            Code::kNotFound);
  EXPECT_EQ(read_milvus_reply(200, R"({"code":1100,"message":"no"})").error().message,
            "it reports \"no\" (1100)");
  EXPECT_EQ(read_milvus_reply(200, R"({"code":1800})").error().code, Code::kInvalid);
  EXPECT_EQ(read_milvus_reply(502, "<html>").error().message, "it returned status 502");
  EXPECT_EQ(read_milvus_reply(200, "[]").error().code, Code::kIo);
  EXPECT_EQ(read_milvus_reply(200, "{}").error().message,
            "its reply is not from Milvus: no \"code\"");
  for (const char* data : {"{}", R"([{"written":1}])", R"([{"id":"x","told":"1x"}])",
                           R"([{"id":"x","bytes":"?"}])", R"([{"id":7}])"}) {
    const auto reply = read_milvus_reply(200, fmt::format(R"({{"code":0,"data":{}}})", data));
    ASSERT_TRUE(reply);
    EXPECT_EQ(read_milvus_rows(reply->root()).error().code, Code::kIo) << data;
  }
}

}  // namespace
}  // namespace signalbox::cache
