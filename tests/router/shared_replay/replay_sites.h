#pragma once
// Routers, as far as their records go, over each server that they may share.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "router/shared_replay/postgres_replay.h"
#include "router/shared_replay/record.h"
#include "router/shared_replay/redis_replay.h"
#include "router/shared_replay/shared_replay.h"
#include "tests/router/store_places.h"

namespace signalbox::shared_replay {

using observe::Account;
using observe::Replay;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kWithin;
using test::wait_for;

inline std::string id_of(int number) {
  return fmt::format("replay-{:016x}", number);
}

inline Account account_of(int number, const std::string& user = "ada",
                          const std::string& key = "k1") {
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

inline std::unique_ptr<ReplayServer> connect(const test::RedisPlace& place,
                                             const std::string& prefix = {}) {
  RedisOptions options{.server = place.address(), .read_limit = kWithin, .write_limit = kWithin};
  if (!prefix.empty()) options.prefix = prefix;
  return make_redis_replay(options);
}
inline std::unique_ptr<ReplayServer> connect(const test::PostgresPlace& place) {
  auto out = make_postgres_replay(
      {.server = place.address(), .read_limit = kWithin, .write_limit = kWithin});
  EXPECT_TRUE(out);
  return *std::move(out);
}

/// The bytes that the records count as. In Redis, these are the sum of the parts.
inline int64_t bytes_of(test::RedisPlace& place) {
  const auto sum = place.client().run({"GET", "signalbox:replay:bytes"}, kWithin);
  const auto parts = place.client().run({"HVALS", "signalbox:replay:sizes"}, kWithin);
  if (!sum || !parts) return -1;
  int64_t out = 0;
  for (const auto& part : parts->items) out += std::stoll(part.text);
  EXPECT_EQ(sum->text, std::to_string(out));
  return out;
}
inline int64_t bytes_of(test::PostgresPlace& place) {
  return std::stoll(
      place.text("SELECT coalesce(sum(bytes), 0)::text FROM signalbox_replay_records"));
}

/// A router.
struct Site {
  explicit Site(std::unique_ptr<ReplayServer> server, const SharingOptions& options = {})
      : replay(share_replay(std::move(server), options)) {}

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

/// Two routers over one server.
template <class Place>
class ReplaySites : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = Place::missing(); !missing.empty()) GTEST_SKIP() << missing;
    place_.start();
    a_ = std::make_unique<Site>(connect(place_));
    b_ = std::make_unique<Site>(connect(place_));
  }
  Place place_;
  std::unique_ptr<Site> a_, b_;
};

}  // namespace signalbox::shared_replay
