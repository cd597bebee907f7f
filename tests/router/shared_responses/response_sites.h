#pragma once
// Routers, as far as their stored responses go, over each server that they may share.

#include <gtest/gtest.h>

#include <ctime>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "router/shared_responses/postgres_responses.h"
#include "router/shared_responses/redis_responses.h"
#include "router/shared_responses/shared_responses.h"
#include "tests/router/store_places.h"

namespace signalbox::shared_responses {

using std::chrono::milliseconds;
using test::kWithin;

// All times are real ones, because routers give them to the server.
inline const int64_t kNow = std::time(nullptr);

inline dialects::StoredResponse response_of(std::string text, std::string owner = "ann") {
  return {std::move(owner), std::move(text), {"input"}, "messages", kNow};
}

inline std::unique_ptr<ResponseServer> connect(const test::RedisPlace& place, milliseconds limit) {
  return make_redis_responses(
      {.server = place.address(limit), .read_limit = limit, .write_limit = limit});
}
inline std::unique_ptr<ResponseServer> connect(const test::PostgresPlace& place,
                                               milliseconds limit) {
  auto out = make_postgres_responses(
      {.server = place.address(limit), .read_limit = limit, .write_limit = limit});
  EXPECT_TRUE(out);
  return *std::move(out);
}

/// One router.
struct Site {
  template <class Place>
  explicit Site(const Place& place, milliseconds limit = kWithin,
                const SharingOptions& options = {}) {
    below = share_responses(connect(place, limit), store, options);
    store.share(below.get());
  }
  ~Site() { store.share(nullptr); }

  /// Returns once a reply would go on.
  void add(const std::string& id, dialects::StoredResponse response) {
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

  dialects::ResponseStore store{{}};
  std::unique_ptr<Sharing> below;
};

/// Two routers over one server.
template <class Place>
class ResponseSites : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = Place::missing(); !missing.empty()) GTEST_SKIP() << missing;
    place_.start();
    a_ = std::make_unique<Site>(place_);
    b_ = std::make_unique<Site>(place_);
  }
  Place place_;
  std::unique_ptr<Site> a_, b_;
};

}  // namespace signalbox::shared_responses
