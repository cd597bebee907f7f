#pragma once
// A fixture with two routers that share one real Redis, and a client of that Redis.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "tests/router/redis_process.h"

namespace signalbox::test {

inline constexpr std::chrono::seconds kWithin{30};  // for events, which come much earlier

/// Waits for something that happens by itself.
inline void wait_for(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + kWithin;
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "it did not happen";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// `Site` is made of a RedisProcess, and stands for one router.
template <typename Site>
class TwoSites : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = RedisProcess::missing(); !missing.empty())
      GTEST_SKIP() << missing;
    redis_.start();
    stores::RedisServer server = redis_.address();
    server.connect_limit = kWithin;
    client_ = std::make_unique<stores::Redis>(server);
    a_ = std::make_unique<Site>(redis_);
    b_ = std::make_unique<Site>(redis_);
  }
  void ask(const stores::Redis::Command& command) {
    const auto done = client_->run(command, kWithin);
    ASSERT_TRUE(done) << done.error().message;
  }

  RedisProcess redis_{false};
  std::unique_ptr<stores::Redis> client_;
  std::unique_ptr<Site> a_, b_;
};

}  // namespace signalbox::test
